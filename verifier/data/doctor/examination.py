"""All checks over all rows of a data set, with what they have to remember between rows."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from verifier.data.doctor.finding import Finding, Severity
from verifier.data.doctor.probes import Score, probe
from verifier.data.doctor.repeats import Repeats
from verifier.data.doctor.subject import Subject, Unreadable
from verifier.data.doctor.suites import examine_suite
from verifier.data.doctor.texts import examine_prompt, examine_responses
from verifier.data.doctor.truths import examine_truth
from verifier.data.rows import Row
from verifier.types import Suite

__all__ = ["Examination", "Options"]

_Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """What a user decides.

    Attributes:
        own_sources: Data sources that they have a scorer of their own for.
        max_cases: A suite with more is huge.
        max_bytes: So is one with more bytes of inputs and answers.
        max_tokens: A response of so many was cut off; None: not known.
        repeat: How often a row's best program is run.
    """

    own_sources: frozenset[str] = frozenset()
    max_cases: int = 1000
    max_bytes: int = 32 * 1024 * 1024
    max_tokens: int | None = None
    repeat: int = 3


class Examination:
    """See the module. Rows are looked at one by one, and need not be kept."""

    def __init__(self, options: Options | None = None) -> None:
        """Nothing is seen yet."""
        self._options = options or Options()
        self._repeats = Repeats()
        self._findings: list[Finding] = []
        # Rows whose suite, references and limits are equal are run once.
        self._alike: dict[_Key, list[tuple[int, str]]] = {}
        self._probed: dict[_Key, list[Finding]] = {}
        # What was read of the rows that wait to be run.
        self._known: dict[int, frozenset[str]] = {}
        self.rows = 0

    def look(self, subject: Subject | Unreadable) -> Suite | None:
        """All static checks of a row; its suite, where there is something to run."""
        self.rows += 1
        if isinstance(subject, Unreadable):
            found = Finding("unreadable-row", subject.index, subject.id, subject.reason)
            self._findings.append(found)
            return None
        options = self._options
        truth = examine_truth(subject, options.own_sources)
        found_here = list(truth.findings)
        suite = truth.suite
        row = subject.row("", None)
        if not isinstance(row, Row) and subject.truth is not None:
            found_here.append(Finding("unreadable-row", subject.index, subject.id, row.reason))
        if suite is not None:
            found_here += examine_suite(subject, suite, options.max_cases, options.max_bytes)
            found_here += examine_prompt(subject, suite)
        found_here += examine_responses(subject, suite, options.max_tokens)
        self._repeats.add(subject, suite)
        self._findings += found_here
        if suite is None or any(f.name in _NOT_RUN for f in found_here):
            return None
        key = _key(subject, suite)
        if key not in self._alike:
            self._known[subject.index] = frozenset(f.name for f in found_here)
        alike = self._alike.setdefault(key, [])
        alike.append((subject.index, subject.id))
        return suite if len(alike) == 1 else None

    async def run(self, subject: Subject, suite: Suite, score: Score) -> None:
        """The checks that run programs, of a row that `look` gave a suite for."""
        known = self._known.pop(subject.index, frozenset())
        found = await probe(subject, suite, score, repeat=self._options.repeat, known=known)
        self._probed[_key(subject, suite)] = found

    def findings(self) -> list[Finding]:
        """Everything, when all rows were seen."""
        found = [*self._findings, *self._repeats.findings()]
        for key, some in self._probed.items():
            for index, name in self._alike[key]:
                found += [dataclasses.replace(f, index=index, row_id=name) for f in some]
        return found


def dropped(
    findings: list[Finding], drop: frozenset[str] = frozenset(), keep: frozenset[str] = frozenset()
) -> dict[int, list[Finding]]:
    """Index of each row that a cleaned file is without, and why: errors, unless told otherwise."""
    why: dict[int, list[Finding]] = {}
    for finding in findings:
        wanted = finding.severity is Severity.ERROR or finding.name in drop
        if wanted and finding.name not in keep:
            why.setdefault(finding.index, []).append(finding)
    return why


# A program's verdict on these would say nothing.
_NOT_RUN = frozenset({"interactive", "contradictory-cases", "unreadable-row"})


def _key(subject: Subject, suite: Suite) -> _Key:
    responses = () if subject.references else subject.responses[:1]
    limits = repr(subject.data.get("limits"))
    return (suite.digest, subject.references, subject.language, limits, responses)
