"""What is measured and what is said of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

MET, PARTLY, MISSED, NOT_MEASURED = "met", "met in part", "missed", "not measured"


class NotMeasuredError(Exception):
    """A contender or a row cannot be measured here; says why, and what to give."""


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of all values do not exceed (nearest rank).

    Raises:
        ValueError: There are no values, or the percent is not in [0, 100].
    """
    if not values or not 0 <= percent <= 100:
        raise ValueError(f"no percentile {percent} of {len(values)} values")
    rank = max(1, math.ceil(round(percent / 100 * len(values), 9)))
    return sorted(values)[rank - 1]


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity of one contender, a value a round.

    Attributes:
        name: Of the contender.
        unit: Of the values.
        values: One or more.
    """

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Of the rounds."""
        return statistics.median(self.values)

    def over(self, other: Series) -> Series:
        """Ratios to another series of the same rounds, round by round."""
        pairs = zip(self.values, other.values, strict=True)
        return Series(f"{self.name} / {other.name}", "x", tuple(a / b for a, b in pairs))

    def minus(self, other: Series) -> Series:
        """Differences to another series of the same rounds, round by round."""
        pairs = zip(self.values, other.values, strict=True)
        return Series(f"{self.name} - {other.name}", self.unit, tuple(a - b for a, b in pairs))

    def text(self) -> str:
        """Median and spread."""
        if len(self.values) == 1:
            return number(self.median)
        return f"{number(self.median)} ({number(min(self.values))}..{number(max(self.values))})"


@dataclass(frozen=True, slots=True)
class Check:
    """One value held against a target.

    Attributes:
        what: Which one ("docker"); "" where a row has only one.
        value: As it is shown.
        ok: Whether it is within the target; None where it is not measured.
        why: Why it is not measured.
    """

    what: str
    value: str
    ok: bool | None
    why: str = ""

    def text(self) -> str:
        """As it is shown in the table."""
        prefix = f"{self.what}: " if self.what else ""
        return prefix + (self.value if self.ok is not None else f"{NOT_MEASURED}: {self.why}")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table.

    Attributes:
        key: As `--only` names it.
        work: What is done.
        target: As the issue states it.
        checks: What was held against it.
        series: All that was measured, the floor first.
        notes: What has to be known to read the figures.
        facts: Further numbers, for the JSON.
    """

    key: str
    work: str
    target: str
    checks: tuple[Check, ...]
    series: tuple[Series, ...] = ()
    notes: tuple[str, ...] = ()
    facts: dict[str, object] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Missed where anything is missed; met in part where the rest was not measured."""
        found = {check.ok for check in self.checks}
        if found <= {None}:
            return NOT_MEASURED
        if False in found:
            return MISSED
        return PARTLY if None in found else MET

    @property
    def value(self) -> str:
        """What was measured, in a line."""
        return "; ".join(check.text() for check in self.checks)


def number(value: float) -> str:
    """Three significant digits, and no exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"
