"""The page of what `verifier doctor data` found.

Its table is as columns, with texts by number, as the report's is: 50,000 findings are a few
megabytes. What a row says (prompt, ground truth, response) is there for the first rows of each
kind, so that the rare kinds have it too, and is read anew from the data set: the doctor keeps none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verifier.data.doctor.finding import KINDS, Finding, Severity
from verifier.data.doctor.subject import Subject, Unreadable
from verifier.report.page import render
from verifier.report.texts import Texts

__all__ = ["FindingsPage"]

_MAX_EXCERPT = 1000
_MAX_TEXT = 500
_MAX_RELATED = 20


@dataclass(slots=True)
class FindingsPage:
    """What the page holds.

    Attributes:
        rows: How many were looked at.
        groups: As of `by_kind`.
        max_findings: That the table holds; each kind has its share, however rare it is.
        max_excerpts: Rows of each kind of which the page has an excerpt.
        excerpts: Index of a row -> (what it is, its text), of those.
    """

    rows: int
    groups: Mapping[str, list[Finding]]
    max_findings: int = 200_000
    max_excerpts: int = 200
    excerpts: dict[int, list[tuple[str, str]]] = field(default_factory=dict)

    def add_excerpts(self, subjects: Iterable[Subject | Unreadable]) -> None:
        """Read what the page shows of the rows.

        Args:
            subjects: Of the data set that was examined, in its order; read as far as is needed.
        """
        some = (found[: self.max_excerpts] for found in self.groups.values())
        wanted = {finding.index for findings in some for finding in findings}
        left = len(wanted)
        for subject in subjects if left else ():
            if subject.index in wanted:
                self.excerpts[subject.index] = _excerpts(subject)
                left -= 1
            if not left:
                break

    def html(self, title: str, facts: Mapping[str, str] | None = None) -> str:
        """The page.

        Args:
            title: The headline.
            facts: Name -> value, below it.

        Raises:
            DataError: jinja2 is not installed.
        """
        notes = []
        data = self.data()
        shown, all_ = len(data["columns"]["id"]), sum(map(len, self.groups.values()))
        if shown < all_:
            notes.append(
                f"The table holds {shown:,} of {all_:,} findings, the first ones of each kind. "
                "Figures and numbers are of all."
            )
        return render("findings.html", title=title, data=data, facts=facts, notes=notes)

    def data(self) -> dict[str, Any]:
        """Plain values for the page's script."""
        every = [finding for found in self.groups.values() for finding in found]
        errors = {finding.index for finding in every if finding.severity is Severity.ERROR}
        shares = _shares([len(found) for found in self.groups.values()], self.max_findings)
        reasons = Texts()
        columns: dict[str, list[Any]] = {"kind": [], "id": [], "row": [], "reason": []}
        related: dict[int, Sequence[str]] = {}
        for kind, (found, share) in enumerate(zip(self.groups.values(), shares, strict=True)):
            for finding in found[:share]:
                if finding.related:
                    related[len(columns["id"])] = finding.related[:_MAX_RELATED]
                columns["kind"].append(kind)
                columns["id"].append(_cut(finding.row_id, _MAX_TEXT))
                columns["row"].append(finding.index)
                columns["reason"].append(reasons.number(_cut(finding.reason, _MAX_TEXT)))
        return {
            "rows": self.rows,
            "errors": len(errors),
            "faulty": len({finding.index for finding in every}),
            "kinds": [
                [name, KINDS[name].severity.name, KINDS[name].advice, len(found)]
                for name, found in self.groups.items()
            ],
            "columns": columns,
            "texts": reasons.all(),
            "related": related,
            "excerpts": self.excerpts,
        }


def _shares(counts: list[int], most: int) -> list[int]:
    """How many of each are taken, `most` in all: small ones whole, the others equally."""
    taken = [0] * len(counts)
    for done, at in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
        taken[at] = min(counts[at], most // (len(counts) - done))
        most -= taken[at]
    return taken


def _excerpts(subject: Subject | Unreadable) -> list[tuple[str, str]]:
    if isinstance(subject, Unreadable):
        head = subject.record.raw[:_MAX_EXCERPT].decode("utf-8", "backslashreplace")
        return [("The line", head)] if head else []
    truth = subject.truth
    if not isinstance(truth, str):
        truth = "" if truth is None else json.dumps(truth, ensure_ascii=False, default=str)
    parts = [
        ("Prompt", subject.prompt),
        ("Ground truth", truth),
        *(("Reference", one.source) for one in subject.references[:1]),
        *(("Response", one) for one in subject.responses[:1]),
    ]
    return [(name, _cut(text, _MAX_EXCERPT)) for name, text in parts if text]


def _cut(text: str, most: int) -> str:
    """Its two ends: a prompt begins as all others do, and its task is at the end."""
    return text if len(text) <= most else f"{text[: most // 2]}\n[...]\n{text[-most // 2 :]}"
