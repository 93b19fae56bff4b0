"""The local scorer of code, with the signature and the result shapes of verl's `prime_code`.

What is kept: `compute_score(completion, test_cases, continuous=False)` gives `(True, {})` when
every case passes; else with `continuous` the share of the first ten cases that pass and a list with
one dict per case (`test_case.input`, `.output`, `.res`), and without it `(False, the same list)`.

What is deliberately different, because it runs through the engine: programs are real processes
under limits, standard input is a real stream, the output is judged outside the sandbox, and what is
no verdict is raised (broken test cases, a fault of the machinery) where verl answers `(False,
None)`. Without `continuous` verl 0.9.1 raises UnboundLocalError on a wrong program; here that is
`(False, metadata)`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from verifier.errors import InfraError, SuiteError
from verifier.scoring.local import local_engine
from verifier.scoring.sample import Sample, build_tasks
from verifier.types import Case, CaseResult, Outcome, Result, Status, Suite, SuiteKind

CONTINUOUS_CASES = 10
"""verl's continuous mode counts this many cases, from the first."""

Metadata = dict[str, Any]

# verl's codes of a case: True, False (wrong answer), -1 (runtime error or time limit), -2 (does not
# compile).
_CODES: dict[Status, bool | int] = {
    Status.ACCEPTED: True,
    Status.WRONG_ANSWER: False,
    Status.COMPILE_ERROR: -2,
    Status.NO_CODE: -2,
}
_OTHER_CODE = -1
_EXCERPT_CHARS = 200


def compute_score(
    completion: str | bytes,
    test_cases: object,
    continuous: bool = False,
    *,
    backend: str = "namespaces",
    accept: Collection[str] = (),
) -> tuple[bool | float, Metadata | list[Metadata]]:
    """Score a completion on this host.

    Args:
        completion: The model's response; bare code is fine.
        test_cases: The ground truth, as JSON text or as an object.
        continuous: Give the share of the first ten cases instead of False.
        backend: Sandbox of the local engine.
        accept: Guarantees that may be missing on this host, by name.

    Returns:
        `(success, metadata)`, see the head of this module.

    Raises:
        SuiteError: The test cases are unusable; names the field.
        InfraError: The machinery failed twice.
        GuaranteeError: This host misses a guarantee that was not accepted by name.
    """
    sample = Sample(data_source="", solution_str=completion, ground_truth=test_cases)
    (task,) = build_tasks([sample])
    if isinstance(task, Result):
        field, _, problem = task.error.partition(": ")
        raise SuiteError(field, problem)
    (result,) = local_engine(backend=backend, accept=accept).score_many([task])
    return shape(result, task.suite, continuous=continuous)


def shape(
    result: Result, suite: Suite, *, continuous: bool
) -> tuple[bool | float, Metadata | list[Metadata]]:
    """A result in verl's shape.

    Raises:
        InfraError: It has no score, by the machinery's fault.
        SuiteError: It has no score, by the data's fault.
    """
    if result.outcome is Outcome.INFRA_ERROR:
        raise InfraError(result.error)
    if result.outcome is Outcome.INVALID_SUITE:
        raise SuiteError("ground_truth", result.error)
    if result.status is Status.ACCEPTED:
        return True, {}
    # A response with no code, or that does not compile, may have no case results: each case has its
    # verdict.
    verdicts = result.cases or tuple(
        CaseResult(index=i, status=result.status or Status.SKIPPED) for i in range(len(suite.cases))
    )
    counted = verdicts[:CONTINUOUS_CASES] if continuous else verdicts
    metadata = [_metadata(suite, suite.cases[v.index], v) for v in counted]
    if not continuous:
        return False, metadata
    passed = sum(v.status is Status.ACCEPTED for v in counted)
    return passed / max(1, len(counted)), metadata


def _metadata(suite: Suite, case: Case, verdict: CaseResult) -> Metadata:
    code = _CODES.get(verdict.status, _OTHER_CODE)
    given = case.test or "" if suite.kind is SuiteKind.ASSERT else _text(case.stdin)
    expected = _text(case.expected or b"")
    metadata: Metadata = {}
    if code is False:
        metadata = {
            "output": _cut(_text(verdict.stdout)),
            "expected": _cut(expected),
            "inputs": _cut(given),
            "error_message": "Wrong Answer",
        }
    elif code is not True:
        metadata = {
            "error": verdict.message or verdict.status.value,
            "traceback": _text(verdict.stderr),
        }
    metadata["test_case"] = {"input": given, "output": expected, "res": str([code])}
    return metadata


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _cut(text: str) -> str:
    if len(text) <= _EXCERPT_CHARS:
        return text
    half = _EXCERPT_CHARS // 2
    return f"{text[:half]}...(truncated) ...{text[-half:]}"
