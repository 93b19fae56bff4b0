"""The rows of the table, in its order, by what measures them: functions of the `Lab`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from benchmarks.bench.lab import Lab
from benchmarks.bench.rows.latency import bin_true, one_case
from benchmarks.bench.rows.limits import endless, time_limits
from benchmarks.bench.rows.memory import soak, suite
from benchmarks.bench.rows.queued import queue
from benchmarks.bench.rows.solutions import cpp, prime_code
from benchmarks.bench.rows.throughput import throughput
from benchmarks.bench.values import Row

# Keys that `--only` takes -> what measures them.
ROWS: dict[tuple[str, ...], Callable[[Lab], Awaitable[list[Row]]]] = {
    ("cases", "run-code"): throughput,
    ("prime-code",): prime_code,
    ("latency",): one_case,
    ("true",): bin_true,
    ("cpp",): cpp,
    ("time-limits",): time_limits,
    ("endless",): endless,
    ("suite",): suite,
    ("soak",): soak,
    ("queue",): queue,
}
