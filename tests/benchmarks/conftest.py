"""Sizes that show that a work runs, and measure nothing."""

from __future__ import annotations

import pytest

from benchmarks.bench.lab import Sizes


@pytest.fixture
def tiny():
    """The smallest sizes."""
    return Sizes(
        rounds=1,
        long_rounds=1,
        seconds=0.01,
        programs=2,
        repeats=1,
        endless_limit_s=0.5,
        suite_bytes=300_000,
        queued=30,
        asked=2,
        chunks=2,
        chunk_cases=80,
    )
