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
# Name -> severity. The names are stable: --drop, --keep and scripts go by them.
KINDS: dict[str, Severity] = {
    "unreadable-row": _E,
    "no-route": _E,
    "missing-ground-truth": _E,
    "empty-ground-truth": _E,
    "undecodable-ground-truth": _E,
    "mismatched-ground-truth": _E,
    "bad-ground-truth": _E,
    "contradictory-cases": _E,
    "trivial-empty": _E,
    "trivial-echo": _E,
    "trivial-constant": _E,
    "no-reference-passes": _E,
    "limits-too-tight": _E,
    "flaky": _E,
    "interactive": _E,
    "duplicate-id": _E,
    "duplicate": _E,
    "near-duplicate": _W,
    "same-tests": _W,
    "multi-answer": _W,
    "huge-suite": _W,
    "prompt-reveals-tests": _W,
    "prompt-reveals-solution": _W,
    "no-code": _W,
    "truncated": _W,
    "not-run": _W,
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
        return KINDS[self.name]

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
    """The head of some data, for a reason."""
    return repr(excerpt(text, limit))
