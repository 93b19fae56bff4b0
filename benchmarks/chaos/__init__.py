"""Faults under a steady load with known answers; `python -m benchmarks.chaos --help`."""
