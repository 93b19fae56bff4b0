"""Public data sets, scored by the command that users have. `python -m benchmarks.datasets`."""
