"""The sandbox under attack: a catalogue of hostile programs, a runner that compares and sweeps.

`verifier selfcheck` runs all of it on the user's own host, `verifier stress` repeats it under load.
"""
