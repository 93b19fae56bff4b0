"""What a test framework reported, as one verdict per test.

The records come from the jail, so they are read as a program's output is: nothing in them is
believed but a name, a status, a number and a text. Tests that are expected are known beforehand:
one of which nothing was reported has not passed, and what else was reported does not count.

A test that failed by its assertion is a WRONG_ANSWER; one that raised, ended the process, or was
not collected is a RUNTIME_ERROR; one that skipped itself is SKIPPED, and no more passed than those.
Where a limit ended the run, what was reported before counts, and the rest has the limit's status.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verifier._text import excerpt
from verifier.judging.facts import ended, explain, limit_status
from verifier.judging.verdict import Verdict
from verifier.types import Case, Limits, RunFacts, Status, UnitTestResult, UnitTestStatus

__all__ = [
    "UnitTestReport",
    "all_unit_tests",
    "read_unit_tests",
    "unit_test_results",
    "unit_test_verdict",
]

_MAX_RECORDS = 200_000
# A pattern takes the square of a name's length, or more where there are more holes in it.
_MAX_NAME = 1000
_SEVERITY = (
    UnitTestStatus.ERROR,
    UnitTestStatus.FAILED,
    UnitTestStatus.SKIPPED,
    UnitTestStatus.PASSED,
)
_VERDICTS = {
    UnitTestStatus.FAILED: Status.WRONG_ANSWER,
    UnitTestStatus.ERROR: Status.RUNTIME_ERROR,
    UnitTestStatus.SKIPPED: Status.SKIPPED,
}


@dataclass(frozen=True, slots=True)
class UnitTestReport:
    """What came over the value channel.

    Attributes:
        tests: In the order of the reports; a name may come more than once.
        containers: Files and classes that failed or were skipped as a whole.
        files: Handed back.
    """

    tests: tuple[UnitTestResult, ...] = ()
    containers: tuple[UnitTestResult, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()


def read_unit_tests(returned: bytes | None, *, several: bool = False) -> UnitTestReport:
    """Read the records; what is none is left out.

    Args:
        returned: The value channel.
        several: Tests are in more than one file, and named after it where their framework
            reports both.
    """
    tests: list[UnitTestResult] = []
    containers: list[UnitTestResult] = []
    files: list[tuple[str, bytes]] = []
    for line in (returned or b"").split(b"\n")[:_MAX_RECORDS]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict):
            continue
        if isinstance(record.get("files"), dict):
            files += _files(record["files"])
            continue
        name, file = record.get("name"), record.get("file")
        if isinstance(name, str) and isinstance(file, str) and several:
            name = f"{file}::{name}"
        if isinstance(name, str):
            tests += _result(name, record)
        elif isinstance(name := record.get("container"), str):
            # jest's are files, which are in a name only where there are several.
            within = f"{file}::" if several and isinstance(file, str) else name
            containers += _result(within, record)
    return UnitTestReport(tuple(tests), tuple(containers), tuple(files))


def _result(name: str, record: dict[str, object]) -> list[UnitTestResult]:
    status, seconds, message = (record.get(key) for key in ("status", "seconds", "message"))
    if status not in ("passed", "failed", "error", "skipped"):
        return []
    timed = isinstance(seconds, (int, float)) and 0 <= seconds < math.inf
    return [
        UnitTestResult(
            name,
            UnitTestStatus(status),
            float(seconds) if timed else None,  # type: ignore[arg-type]
            excerpt(message) if isinstance(message, str) else "",
        )
    ]


def _files(found: dict[object, object]) -> list[tuple[str, bytes]]:
    try:
        return [(str(k), base64.b64decode(str(data), validate=True)) for k, data in found.items()]
    except (binascii.Error, ValueError):
        return []


def unit_test_results(cases: Sequence[Case], report: UnitTestReport) -> tuple[UnitTestResult, ...]:
    """What became of each expected test, in their order.

    A test that was reported more than once (for each set of its parameters) has the worst status.
    """
    found = []
    for case, said in _by_case(cases, report):
        found.append(_worst(case.name, said) if said else _missing(case.name, report))
    return tuple(found)


def all_unit_tests(cases: Sequence[Case], report: UnitTestReport) -> tuple[UnitTestResult, ...]:
    """All that was reported, and behind it what was expected and is not there."""
    missing = (case.name for case, said in _by_case(cases, report) if not said)
    return (*report.tests, *(_missing(name, report) for name in missing))


def _by_case(
    cases: Sequence[Case], report: UnitTestReport
) -> Iterator[tuple[Case, list[UnitTestResult]]]:
    by_name: dict[str, list[UnitTestResult]] = {}
    for test in report.tests:
        by_name.setdefault(test.name, []).append(test)
    exact = {case.name for case in cases}
    for case in cases:
        said = list(by_name.get(case.name, ()))
        if case.test is not None:
            pattern = re.compile(case.test, re.DOTALL)
            said += [
                test
                for test in report.tests
                if test.name not in exact
                and len(test.name) <= len(case.test) + _MAX_NAME
                and pattern.fullmatch(test.name)
            ]
        yield case, said


def _worst(name: str, said: list[UnitTestResult]) -> UnitTestResult:
    worst = min(said, key=lambda test: _SEVERITY.index(test.status))
    timed = [test.seconds for test in said if test.seconds is not None]
    message = worst.message
    if worst.name != name and worst.status is not UnitTestStatus.PASSED:
        message = f"{worst.name}: {message}" if message else worst.name
    return UnitTestResult(name, worst.status, sum(timed) if timed else None, message)


def _missing(name: str, report: UnitTestReport) -> UnitTestResult:
    for container in report.containers:
        if re.match(rf"{re.escape(container.name)}(?:[.$:]|(?<=::)|(?<!.))", name):
            return UnitTestResult(name, container.status, None, container.message)
    return UnitTestResult(name, UnitTestStatus.NOT_COLLECTED)


def unit_test_verdict(test: UnitTestResult, facts: RunFacts, limits: Limits) -> Verdict:
    """The verdict on one test of a run.

    Raises:
        ValueError: The run was canceled (a fault of the caller).
    """
    broken = limit_status(facts, limits)
    if test.status is UnitTestStatus.PASSED:
        return Verdict(Status.ACCEPTED)
    if test.status is not UnitTestStatus.NOT_COLLECTED:
        return Verdict(_VERDICTS[test.status], test.message or test.status.value)
    if broken is not None:
        return Verdict(broken, explain(broken, facts, limits))
    return Verdict(Status.RUNTIME_ERROR, f"not collected: {ended(facts)}")
