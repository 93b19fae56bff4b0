"""What makes a program in a compiled or scripted language answer a call: one driver per language.

Python's calls are the warm interpreter's own (`runner/agent/harness.py`). In every other language
the answer's program gets a `main` of ours, which reads a JSON list of arguments, converts them to
what the function takes, calls it, and writes a record. Paths are its two arguments:

1. the arguments. Standard input is empty, as it is for Python's calls;
2. the value channel. What the program prints does not matter to a call.

A record is what Python's side writes: `{"ok":true,"value":V}`, or `{"ok":false,"kind":K,"error":E}`
with a kind of "raised" (also for arguments that do not fit the function), "no_entry_point" or
"unserializable". A function that returns nothing (`void`) has the value null and one thing more,
`"in_place"`: its first argument as the call has left it. `verifier.judging.verdict` reads it where
no case of the suite expects null.

A record is a claim of the program, which could write it without us. It does not know what is
expected.
"""

from __future__ import annotations
