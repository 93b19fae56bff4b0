"""Tests that cannot tell right from wrong, as far as reading them shows."""

from __future__ import annotations

import re

from verifier.data.doctor.finding import Finding, quoted
from verifier.data.doctor.subject import Subject
from verifier.types import Suite, SuiteKind

__all__ = ["examine_suite"]

_MULTI = re.compile(
    r"(print|output|return|find|give|construct)\s+any\b(?!\s*(number|one else))"
    r"|any (of them|valid|such|correct|suitable|one of)\b"
    r"|(multiple|several|more than one|many) (possible |valid |correct |optimal )?"
    r"(answers?|solutions?|outputs?)"
    r"|in any order",
    re.IGNORECASE,
)
_INTERACTIVE = re.compile(
    r"interactive (problem|task)|\binteractor\b|flush (the |your )?(standard )?(output|stdout)"
    r"|fflush\(stdout\)|ask(ing)? (at most|no more than) .{1,20} (queries|questions)",
    re.IGNORECASE,
)


def examine_suite(subject: Subject, suite: Suite, max_cases: int, max_bytes: int) -> list[Finding]:
    """All static checks of one suite."""
    found: list[tuple[str, str]] = []
    size = sum(len(case.stdin) + len(case.expected or b"") for case in suite.cases)
    if len(suite.cases) > max_cases or size > max_bytes:
        found.append(("huge-suite", f"{len(suite.cases)} cases, {size / 1e6:.1f} MB"))
    words = _INTERACTIVE.search(subject.prompt)
    if words and suite.interactor is None:
        found.append(("interactive", f"the prompt says {quoted(words[0])}; no interactor is there"))
    words = _MULTI.search(subject.prompt)
    judged = suite.checker is not None or suite.interactor is not None
    if words and not judged and suite.kind is SuiteKind.STDIN:
        found.append(("multi-answer", f"the prompt says {quoted(words[0])}; no checker is there"))
    by_tests = suite.kind in (SuiteKind.ASSERT, SuiteKind.UNIT_TEST)
    if len(suite.cases) == 1 and not by_tests and suite.interactor is None:
        wanted = quoted(suite.cases[0].expected or b"")
        found.append(("single-case", f"its one case is passed by whatever always gives {wanted}"))
    if not judged:
        found += _contradictory(suite)
        found += _trivial(suite)
    return [Finding(name, subject.index, subject.id, reason) for name, reason in found]


def _contradictory(suite: Suite) -> list[tuple[str, str]]:
    if suite.kind is SuiteKind.ASSERT:
        return []
    seen: dict[bytes, tuple[int, bytes]] = {}
    for number, case in enumerate(suite.cases):
        given, wanted = b" ".join(case.stdin.split()), b" ".join((case.expected or b"").split())
        first = seen.setdefault(given, (number, wanted))
        if first[1] != wanted:
            answers = f"{quoted(first[1])}, {quoted(wanted)}"
            reason = f"cases {first[0]} and {number} have one input and two answers: {answers}"
            return [("contradictory-cases", reason)]
    return []


def _trivial(suite: Suite) -> list[tuple[str, str]]:
    """Programs that need not be run to know that they pass."""
    if suite.kind is not SuiteKind.STDIN:
        return []
    wanted = [(case.expected or b"").split() for case in suite.cases]
    if not any(wanted):
        return [("trivial-empty", "nothing is expected in any case")]
    if all(want == case.stdin.split() for want, case in zip(wanted, suite.cases, strict=True)):
        return [("trivial-echo", "every answer is its input")]
    if len(wanted) > 1 and all(want == wanted[0] for want in wanted):
        reason = f"all {len(wanted)} cases want {quoted(suite.cases[0].expected or b'')}"
        return [("trivial-constant", reason)]
    return []
