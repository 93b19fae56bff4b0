"""The deliberate differences from verl 0.9.1's scorers of answers, as predicates on gaps.

`docs/differences.md` has the same names in the same order, with the reasons.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from answer_corpus import Row

INVALID = "broken data"


@dataclass(frozen=True)
class Gap:
    """One row on which the two differ.

    Attributes:
        row: The row.
        verl: What verl gave: a number or a dict, or the name of an exception.
        ours: The same of ours; `INVALID` where the data is refused.
    """

    row: Row
    verl: Any
    ours: Any


@dataclass(frozen=True)
class Difference:
    name: str
    explains: Callable[[Gap], bool]


def truths(row: Row) -> list[Any]:
    """The answers that a ground truth holds."""
    truth = row.truth
    if row.source.startswith("searchR1_") and isinstance(truth, dict):
        truth = truth.get("target")
        return truth if isinstance(truth, list) else [truth]
    return [truth]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def usable(row: Row) -> bool:
    if row.source.startswith("searchR1_") and not isinstance(row.truth, dict):
        return False
    found = truths(row)
    return bool(found) and all(isinstance(truth, str) or is_number(truth) for truth in found)


def numbers(gap: Gap) -> bool:
    return usable(gap.row) and any(map(is_number, truths(gap.row))) and gap.ours != INVALID


def broken(gap: Gap) -> bool:
    return not usable(gap.row) and gap.ours == INVALID


def runs_python(gap: Gap) -> bool:
    """A call of a Python function in what verl evaluates: beside pi, and in a matrix."""
    evaluated = "\\pi" in gap.row.response or "Matrix(" in gap.row.response
    called = re.search(r"\b(?:abs|len|max|min)\(", gap.row.response) is not None
    return evaluated and called and (gap.verl, gap.ours) == (1.0, 0.0)


LIST = [
    Difference("numbers-as-ground-truth", numbers),
    Difference("broken-answers-are-no-score", broken),
    Difference("responses-are-never-run", runs_python),
]
