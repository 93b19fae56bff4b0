"""Two results files of the same rows: which verdicts differ, which way, and whether it means much.

Rows are matched by id. Whether one file is better is asked in two ways: of rows that pass in one
file and not in the other, how likely is a split as uneven as theirs by chance (McNemar's exact
test: a binomial one, two-sided); and the mean of the differences of scores, with a 95 % interval
(1.96 standard errors over the pairs).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Comparison", "Flip", "chance_of", "compare"]

_Z_95 = 1.959964
# Flips that are kept to be shown, in each direction.
_MAX_FLIPS = 1000


@dataclass(frozen=True, slots=True)
class Flip:
    """One row with another verdict.

    Attributes:
        id: Of the row.
        before: Status and score in the first file; "no score" where there is none.
        after: The same in the second.
    """

    id: str
    before: str
    after: str


@dataclass(slots=True)
class Comparison:
    """What `compare` found.

    Attributes:
        pairs: Rows with a score in both files.
        better: Rows with a higher score in the second.
        worse: Rows with a lower one.
        gained: Rows that pass in the second alone.
        lost: Rows that pass in the first alone.
        changed: (verdict before, verdict after) -> rows, where they differ.
        flips: Of rows whose score differs, the first ones in each direction.
        only_first: Rows that the second file does not have.
        only_second: The other way round.
        unscored: Rows that have no score in one of the files, or in both.
        repeated: Rows whose id was there before in their file: left out.
        difference: Mean of the second's scores less the first's, over pairs.
        low: Lower end of its 95 % interval.
        high: Upper end.
    """

    pairs: int = 0
    better: int = 0
    worse: int = 0
    gained: int = 0
    lost: int = 0
    changed: Counter[tuple[str, str]] = field(default_factory=Counter)
    flips: list[Flip] = field(default_factory=list)
    only_first: int = 0
    only_second: int = 0
    unscored: int = 0
    repeated: int = 0
    difference: float = 0.0
    low: float = 0.0
    high: float = 0.0

    @property
    def chance(self) -> float:
        """How likely `gained` and `lost` are so uneven, or more, where both are equally likely."""
        return chance_of(self.gained, self.lost)


def compare(first: Iterable[Mapping[str, Any]], second: Iterable[Mapping[str, Any]]) -> Comparison:
    """Compare the rows of two results files.

    Args:
        first: Result rows; what is needed of each is held in memory.
        second: The same of the other file.
    """
    found = Comparison()
    before: dict[str, tuple[str, float | None]] = {}
    for row in first:
        if str(row["id"]) in before:
            found.repeated += 1
        else:
            before[str(row["id"])] = (_verdict(row), row["score"])
    seen: set[str] = set()
    total = squares = 0.0
    shown = Counter[bool]()
    for row in second:
        name = str(row["id"])
        if name in seen:
            found.repeated += 1
            continue
        seen.add(name)
        if name not in before:
            found.only_second += 1
            continue
        verdict, score = before[name]
        if verdict != _verdict(row):
            found.changed[verdict, _verdict(row)] += 1
        if score is None or row["score"] is None:
            found.unscored += 1
            continue
        found.pairs += 1
        difference = row["score"] - score
        total += difference
        squares += difference * difference
        found.gained += score < 1 <= row["score"]
        found.lost += row["score"] < 1 <= score
        if difference:
            up = difference > 0
            found.better += up
            found.worse += not up
            shown[up] += 1
            if shown[up] <= _MAX_FLIPS:
                found.flips.append(
                    Flip(name, _said(verdict, score), _said(_verdict(row), row["score"]))
                )
    found.only_first = len(before.keys() - seen)
    if found.pairs:
        mean = found.difference = total / found.pairs
        spread = max(squares / found.pairs - mean * mean, 0.0)
        error = _Z_95 * math.sqrt(spread / max(found.pairs - 1, 1))
        found.low, found.high = mean - error, mean + error
    return found


def chance_of(gained: int, lost: int) -> float:
    """Two-sided binomial test of the two at even odds; 1.0 where there are none."""
    n = gained + lost
    tail = sum(_share(n, k) for k in range(max(gained, lost), n + 1))
    return min(1.0, 2 * tail)


def _share(n: int, k: int) -> float:
    """C(n, k) / 2**n, by logarithms: the numbers themselves are huge."""
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(choose - n * math.log(2))


def _verdict(row: Mapping[str, Any]) -> str:
    return str(row["status"] or row["outcome"])


def _said(verdict: str, score: float) -> str:
    return f"{verdict} {score:.3g}"
