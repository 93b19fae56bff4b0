"""The trainer's side: what became of samples, for who wants to scrape it there.

    from prometheus_client import start_http_server
    from verifier.telemetry.scorer import ScorerMetrics

    start_http_server(9101, registry=ScorerMetrics(scorer.stats.snapshot).registry)

The scorer counts anyway (`SandboxScorer.stats`); this reads its counts when it is scraped, in a
registry of its own. Nobody who does not make one of these loads `prometheus_client`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

__all__ = ["SCORER_METRICS", "Counts", "ScorerMetrics"]

SCORER_METRICS = {
    "verifier_scorer_samples_total": (
        "counter",
        ("scored_by",),
        "Samples, by who scored them: gateway, fallback, raised, masked.",
    ),
    "verifier_scorer_mixed_groups_total": (
        "counter",
        (),
        "Groups whose samples were scored by different scorers.",
    ),
    "verifier_fallbacks_total": (
        "counter",
        ("reason",),
        "Samples that the gateway did not score, by the class of the reason.",
    ),
}


class Counts(Protocol):
    """`verifier.scoring.FallbackCounts`."""

    @property
    def served(self) -> int: ...  # noqa: D102
    @property
    def fallback(self) -> int: ...  # noqa: D102
    @property
    def raised(self) -> int: ...  # noqa: D102
    @property
    def masked(self) -> int: ...  # noqa: D102
    @property
    def mixed_groups(self) -> int: ...  # noqa: D102
    @property
    def reasons(self) -> Mapping[str, int]: ...  # noqa: D102


class ScorerMetrics(Collector):
    """See the module.

    Args:
        counts: The counts as they are now.
        registry: In the place of one of its own.
    """

    def __init__(
        self, counts: Callable[[], Counts], registry: CollectorRegistry | None = None
    ) -> None:
        """Registered at once."""
        self._counts = counts
        self.registry = CollectorRegistry() if registry is None else registry
        self.registry.register(self)

    def describe(self) -> Iterator[Metric]:
        """Every family without its samples."""
        for name in SCORER_METRICS:
            yield _family(name)

    def collect(self) -> Iterator[Metric]:
        """For the registry."""
        now = self._counts()
        samples = _family("verifier_scorer_samples_total")
        for who, n in (
            ("gateway", now.served),
            ("fallback", now.fallback),
            ("raised", now.raised),
            ("masked", now.masked),
        ):
            samples.add_metric((who,), n)
        yield samples
        mixed = _family("verifier_scorer_mixed_groups_total")
        mixed.add_metric((), now.mixed_groups)
        yield mixed
        fallbacks = _family("verifier_fallbacks_total")
        for reason, n in now.reasons.items():
            fallbacks.add_metric((reason,), n)
        yield fallbacks


def _family(name: str) -> CounterMetricFamily:
    _, labels, text = SCORER_METRICS[name]
    return CounterMetricFamily(name, text, labels=labels)
