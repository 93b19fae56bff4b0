"""Histograms that cost what a case can afford, and the bounds of their buckets.

A case's whole path through the gateway takes about a millisecond of a core. `prometheus_client`'s
own histogram takes a lock and a chain of calls for each value; three values a case would be most
of a percent. The gateway lives in one event loop, so plain lists do, and Prometheus' form of them
is made when somebody asks (`metrics.ServerMetrics.collect`).

Why these bounds:

    CPU and wall of a run
        A forked interpreter's run is 1-3 ms, a compiled one's below 1 ms, and most programs that
        are right take 10-200 ms; limits are a few seconds by default. So the bounds are dense from
        1 ms to 100 ms, and there is one at each limit that data sets use (1, 2, 4, 10, 20, 60 s): a
        program that ran into its limit stands apart from one that came close.
    memory of a run
        A compiled program peaks below 2 MiB, an interpreter between 1 MiB (what it shares with the
        warm one is not its own) and 10; limits are powers of two, 64 MiB to 1 GiB, 4 GiB the
        ceiling.
    a request's time, and its time in line
        From a cached answer (1 ms) to the deadlines of clients (minutes), three bounds to a decade:
        enough to see where p50 and p99 are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["LATENCY_S", "MEMORY_BYTES", "PAGE_LATENCY_S", "RUN_S", "Histogram", "quantile"]

_MIB = 1024 * 1024
RUN_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 20.0, 60.0)
MEMORY_BYTES = tuple(
    float(n * _MIB) for n in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
)
LATENCY_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 120.0)
# The page's: six to a decade, so that a percentile read out of a bucket is off by a fifth at most.
PAGE_LATENCY_S = tuple(
    round(step * 10.0**decade, 9) for decade in range(-3, 2) for step in (1, 1.5, 2, 3, 5, 7)
)


class Histogram:
    """Counts by bucket; not cumulative. The last one is of what is over every bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        """Empty.

        Args:
            bounds: Upper ends, in order; a value on a bound belongs below it, as in Prometheus.
        """
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def cumulative(self) -> list[tuple[str, float]]:
        """Prometheus' form: pairs of `le` and the count up to it."""
        pairs, seen = [], 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            seen += count
            pairs.append(("+Inf" if bound == float("inf") else repr(bound), float(seen)))
        return pairs


def quantile(share: float, bounds: Sequence[float], counts: Sequence[int]) -> float | None:
    """The value below which so many of the counted are; None where nothing was counted.

    Args:
        share: 0.5 for the median.
        bounds: As of a `Histogram`.
        counts: As of a `Histogram`; linear inside of a bucket, and never above the last bound.
    """
    wanted = share * sum(counts)
    if not wanted:
        return None
    seen = 0.0
    for index, count in enumerate(counts[:-1]):
        if count and seen + count >= wanted:
            low = bounds[index - 1] if index else 0.0
            return low + (bounds[index] - low) * (wanted - seen) / count
        seen += count
    return bounds[-1]
