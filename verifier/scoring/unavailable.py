"""What is done when no gateway answers, and how often it was done.

A fault of the machinery is never a score. The operator chooses: `fallback` scores on this host with
the same engine, `raise` stops, `mask` says that there is no score. Each choice is counted with its
reason, and a group whose samples were scored by different scorers is reported: its baseline
compares unlike things.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum

from verifier.errors import ConfigError
from verifier.scoring.sample import nearest

_log = logging.getLogger("verifier.scoring")


class OnUnavailable(str, Enum):
    """What to do with a sample that the machinery could not score."""

    FALLBACK = "fallback"
    RAISE = "raise"
    MASK = "mask"

    @classmethod
    def parse(cls, given: str | OnUnavailable) -> OnUnavailable:
        """Read the setting.

        Raises:
            ConfigError: It is none of the three.
        """
        try:
            return cls(given)
        except ValueError:
            names = [member.value for member in cls]
            hint = nearest(str(given), names)
            raise ConfigError(f"on_unavailable={given!r} is not a policy; {hint}") from None


@dataclass(frozen=True, slots=True)
class FallbackCounts:
    """A snapshot of `FallbackStats`.

    Attributes:
        served: Samples that the gateway answered.
        fallback: Samples that the local fallback scored.
        raised: Samples for which an error was raised.
        masked: Samples that were left without a score.
        mixed_groups: Groups whose samples were scored by different scorers.
        reasons: Why the gateway did not score, with counts.
    """

    served: int = 0
    fallback: int = 0
    raised: int = 0
    masked: int = 0
    mixed_groups: int = 0
    reasons: dict[str, int] = field(default_factory=dict)


class FallbackStats:
    """Counts what became of samples; safe to share between threads."""

    _MAX_REASONS = 100  # a reason may hold an address or a number: the counter must stay small

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()

    def count(self, what: str, n: int = 1, *, reason: str = "") -> None:
        """Add to one of the fields of `FallbackCounts`, and to a reason."""
        with self._lock:
            self._counts[what] += n
            if reason:
                known = reason in self._reasons or len(self._reasons) < self._MAX_REASONS
                self._reasons[reason if known else "other"] += n

    def snapshot(self) -> FallbackCounts:
        """The counts so far."""
        with self._lock:
            return FallbackCounts(**self._counts, reasons=dict(self._reasons))


def reason_kind(why: str) -> str:
    """The head of a reason: the counter must not grow with addresses and numbers in messages."""
    return why.partition(":")[0][:80] or "unknown"


@dataclass(frozen=True, slots=True)
class MixedGroup:
    """A group that more than one scorer scored.

    Attributes:
        group: Its id.
        scorers: How many samples each scorer scored.
    """

    group: object
    scorers: dict[str, int]


def mixed_groups(pairs: Iterable[tuple[object, str]]) -> list[MixedGroup]:
    """The groups, among `(group id, scorer)` pairs, that have more than one scorer.

    A group id of None means "in no group".
    """
    groups: dict[Hashable, Counter[str]] = {}
    for group, scorer in pairs:
        if group is not None:
            key = group if isinstance(group, Hashable) else repr(group)
            groups.setdefault(key, Counter())[scorer] += 1
    return [MixedGroup(g, dict(c)) for g, c in groups.items() if len(c) > 1]


def report_mixed_groups(
    pairs: Iterable[tuple[object, str]], stats: FallbackStats
) -> list[MixedGroup]:
    """Count and log the mixed groups."""
    mixed = mixed_groups(pairs)
    if mixed:
        stats.count("mixed_groups", len(mixed))
        first = mixed[0]
        _log.warning(
            "%d group(s) were scored by more than one scorer (first: %r by %s); "
            "compare their rewards with care",
            len(mixed),
            first.group,
            first.scorers,
        )
    return mixed
