"""Public data sets, scored by the command that users score theirs with: `python -m benchmarks.datasets`."""
