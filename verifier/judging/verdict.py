"""The verdict on one case, for each kind of suite.

STDIN: the output is compared. CALL and ASSERT: a completion record decides, not the exit code,
which the program controls: a run without a record did not complete, and one with a record may exit
as it likes. A run that broke a limit is judged by that in any kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from verifier import _json
from verifier._text import excerpt, to_utf8
from verifier.errors import SuiteError, UnimplementedError
from verifier.judging import compat
from verifier.judging.comparators import by_name, compare
from verifier.judging.facts import classify, ended, explain, limit_status
from verifier.judging.match import RIGHT, wrong
from verifier.judging.values import same, shown
from verifier.types import Case, Comparator, Limits, RunFacts, Status, Suite, SuiteKind


@dataclass(frozen=True, slots=True)
class Verdict:
    """The status of one case, why, and partial points where a checker gave them."""

    status: Status
    message: str = ""
    points: float | None = None


# See `_too_large`. The record around the value, and any error's text, are far below the first.
_FIXED_BYTES, _BYTES_FOR_ONE = 8192, 320

_ACCEPTED = Verdict(Status.ACCEPTED)


def judge(
    suite: Suite, index: int, facts: RunFacts, limits: Limits, comparator: Comparator | None = None
) -> Verdict:
    """Judge one case.

    Args:
        suite: Whose case it is.
        index: Which.
        facts: What happened in the run.
        limits: What the run was allowed.
        comparator: Replaces the suite's.

    Raises:
        ValueError: The run was canceled (a fault of the caller).
        RequestError: Unknown comparator.
        UnimplementedError: The suite has a checker or an interactor: programs for the engine to
        run (see `verifier.judging.programs`).
        SuiteError: The expected value of a call is not JSON (such a suite cannot come from
        `load_suite`).
    """
    comparator = comparator or suite.comparator
    by_name(comparator.name)
    case = suite.cases[index]
    if suite.kind is SuiteKind.STDIN:
        return _judge_output(suite, case, facts, limits, comparator)
    status = limit_status(facts, limits)
    if status is not None:
        return Verdict(status, explain(status, facts, limits))
    if suite.kind is SuiteKind.CALL and _too_large(facts.returned, case.expected):
        return Verdict(Status.WRONG_ANSWER, "returned far more than is expected")
    record = _record(facts)
    if record is None:
        return Verdict(
            Status.RUNTIME_ERROR, f"the program ended before the test did: {ended(facts)}"
        )
    if record.get("ok") is not True:
        return _failed(suite.kind, record)
    if suite.kind is SuiteKind.ASSERT:
        return _ACCEPTED
    return _judge_value(suite, index, record, comparator)


def _judge_output(
    suite: Suite, case: Case, facts: RunFacts, limits: Limits, comparator: Comparator
) -> Verdict:
    status = classify(facts, limits)
    if status is not None:
        return Verdict(status, explain(status, facts, limits))
    if suite.checker is not None or suite.interactor is not None:
        raise UnimplementedError("this suite is judged by a program, not by comparing outputs")
    match = compare(facts.stdout, case.expected or b"", comparator)
    return _ACCEPTED if match.ok else Verdict(Status.WRONG_ANSWER, match.message)


def _too_large(returned: bytes | None, expected: bytes | None) -> bool:
    """The JSON of a value is so large that it can equal nothing that short: it is not even read.

    Of an equal value, a scalar is written with at most 313 bytes more than is expected (an integer
    beside a float with an exponent; a float has 25), or six for each byte of a string, and beside
    it are at least the one or two bytes that are there, too.
    """
    most = _FIXED_BYTES + _BYTES_FOR_ONE * len(expected or b"")
    return returned is not None and len(returned) > most


def _record(facts: RunFacts) -> Mapping[str, object] | None:
    """The completion record; None where there is none, or what came is not one."""
    if facts.returned is None:
        return None
    try:
        record = _json.loads(facts.returned)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _failed(kind: SuiteKind, record: Mapping[str, object]) -> Verdict:
    error = record.get("error")
    message = excerpt(error) if isinstance(error, str) else ""
    reason = record.get("kind")
    if kind is SuiteKind.ASSERT and reason == "assertion":
        return Verdict(Status.WRONG_ANSWER, message or "AssertionError")
    if kind is SuiteKind.CALL and reason == "unserializable":
        # It returned, but not what the test asks for: no plain data equals it.
        return Verdict(
            Status.WRONG_ANSWER, f"returned what is not plain data: {message}".rstrip(": ")
        )
    if reason == "no_entry_point":
        return Verdict(Status.RUNTIME_ERROR, message or "the program does not define the function")
    return Verdict(Status.RUNTIME_ERROR, message or "it raised")


def _expects_null(suite: Suite) -> bool:
    """Whether null is an answer: beside an argument, one record would be two guesses then."""
    return any(case.expected == b"null" for case in suite.cases)


def _judge_value(
    suite: Suite, index: int, record: Mapping[str, object], comparator: Comparator
) -> Verdict:
    if "value" not in record:
        return Verdict(Status.RUNTIME_ERROR, "the call gave no value")
    case, got = suite.cases[index], record["value"]
    try:
        wanted = _json.loads(case.expected or b"")
    except ValueError as error:
        raise SuiteError(f"outputs[{index}]", f"not JSON: {excerpt(str(error))}") from None
    if got is None and "in_place" in record and not _expects_null(suite):
        # A function that returns nothing (`void`) answers by what it has made of its argument.
        got = record["in_place"]
    if comparator.name == "verl-sf":
        match = compare(to_utf8(compat.verl_sf_text(got)), case.expected or b"", comparator)
    elif comparator.name == "prime":
        match = (
            RIGHT if compat.prime_value(got, wanted) else wrong("result", shown(wanted), shown(got))
        )
    else:
        if comparator.name == "exact":
            comparator = Comparator(comparator.name, 0.0, 0.0)
        match = same(got, wanted, comparator)
    return _ACCEPTED if match.ok else Verdict(Status.WRONG_ANSWER, match.message)
