"""What the doctor finds: a closed list of kinds, each with a stable name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from verifier._text import excerpt


class Severity(str, Enum):
    """ERROR: the row's reward is wrong, or there is none; WARNING: somebody should look at it."""

    ERROR = "error"
    WARNING = "warning"


_E, _W = Severity.ERROR, Severity.WARNING


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: how bad it is, and what a person does about it."""

    severity: Severity
    advice: str


# The names are stable: --drop, --keep and scripts go by them.
KINDS: dict[str, Kind] = {
    "unreadable-row": Kind(
        _E,
        "Mend the line: what is wrong with it, and in which field, is the reason.",
    ),
    "no-route": Kind(
        _E,
        "Correct the row's data_source, register a scorer for it, or name it with --source "
        "where training has one.",
    ),
    "missing-ground-truth": Kind(
        _E,
        "Give the row its tests or its answer, name the column that has them (--column "
        "ground_truth=...), or drop it.",
    ),
    "empty-ground-truth": Kind(
        _E,
        "Give the row its tests or its answer again, or drop it: nothing can pass, or "
        "everything does.",
    ),
    "undecodable-ground-truth": Kind(
        _E,
        "Make the ground truth anew from its source: it was cut, or is packed in a way that "
        "no format is.",
    ),
    "mismatched-ground-truth": Kind(
        _E,
        "Bring the ground truth into the form that its scorer takes, as the reason says.",
    ),
    "bad-ground-truth": Kind(_E, "Correct the field that the reason names."),
    "contradictory-cases": Kind(
        _E,
        "Correct the wrong answer, or give the suite a checker if both answers are right.",
    ),
    "trivial-empty": Kind(
        _E,
        "Add cases that expect something; until then the row pays programs that do nothing.",
    ),
    "trivial-echo": Kind(_E, "Add cases whose answer is not their input."),
    "trivial-constant": Kind(
        _E,
        "Add cases with other answers; until then one printed constant is paid.",
    ),
    "no-reference-passes": Kind(
        _E,
        "Run a reference by hand: the tests are wrong, or it is, or the answers need a checker.",
    ),
    "limits-too-tight": Kind(
        _E,
        "Raise the row's limits: CPU time to twice what the reference takes, or more.",
    ),
    "flaky": Kind(
        _E,
        "Look for time, chance and unordered output in the tests; run again with a higher "
        "--repeat.",
    ),
    "interactive": Kind(
        _E,
        "Give the row an interactor (docs/checkers.md), or drop it: plain tests judge a "
        "dialog wrongly.",
    ),
    "duplicate-id": Kind(_E, "Rename one of them: results and joins go by the id."),
    "duplicate": Kind(_E, "Drop it, or it counts double."),
    "near-duplicate": Kind(
        _W,
        "Read both: keep one, or keep them together on one side of a split.",
    ),
    "same-tests": Kind(_W, "Read both prompts: one of them may have another problem's tests."),
    "single-case": Kind(
        _W, "Add cases: a program that prints this one answer is paid as one that solves it."
    ),
    "multi-answer": Kind(
        _W,
        "Give the suite a checker (docs/checkers.md), or right answers are called wrong.",
    ),
    "huge-suite": Kind(_W, "Take fewer or smaller cases, or be ready for what they cost."),
    "prompt-reveals-tests": Kind(
        _W,
        "Take the shown cases out of the tests, or add others: the answers can be copied.",
    ),
    "prompt-reveals-solution": Kind(_W, "Take the solution out of the prompt."),
    "no-code": Kind(
        _W,
        "Read the response: the prompt may not ask for code, or the model writes it in a way "
        "that is not found.",
    ),
    "truncated": Kind(
        _W,
        "Raise the token limit, or mask what was cut: a program that ends in the middle says "
        "nothing.",
    ),
    "not-run": Kind(
        _W,
        "Do what the reason says is missing, and run again: this row is not examined.",
    ),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of one row.

    Attributes:
        name: A key of `KINDS`.
        index: The row's place in the data set, from 0.
        row_id: Its id, or its file and line where it has none.
        reason: For a person.
        related: Ids of other rows that it is about.
    """

    name: str
    index: int
    row_id: str
    reason: str
    related: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """Of its kind."""
        return KINDS[self.name].severity

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, inside of its kind."""
        found: dict[str, Any] = {"id": self.row_id, "index": self.index, "reason": self.reason}
        if self.related:
            found["related"] = list(self.related)
        return found


def by_kind(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Grouped by name: errors first, as in `KINDS`; inside of a kind in the order of the rows."""
    groups: dict[str, list[Finding]] = {name: [] for name in KINDS}
    for finding in findings:
        groups[finding.name].append(finding)
    return {name: sorted(some, key=lambda f: f.index) for name, some in groups.items() if some}


def quoted(text: str | bytes, limit: int = 60) -> str:
    """The head of some data, for a reason; what cannot be printed is escaped."""
    return f"'{excerpt(text, limit)}'"
