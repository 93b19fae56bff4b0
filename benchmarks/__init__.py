"""Measurements. `scripts/bench` runs the ones that have targets (docs/performance.md)."""
