"""The local scorer of code, with the signature and the result shapes of verl's `prime_code`.

What is kept: `compute_score(completion, test_cases, continuous=False)` gives `(True, {})` when
every case passes; else with `continuous` the share of the first ten cases that pass (`first_n` of
the score policies) and a list with one dict per case (`test_case.input`, `.output`, `.res`), and
without it `(False, the same list over all cases)`.

What is deliberately different, because it runs through the engine: programs are real processes
under limits, standard input is a real stream, the output is judged outside the sandbox, and what is
no verdict is raised (broken test cases, a fault of the machinery) where verl answers `(False,
None)`. `docs/differences.md` lists all of it, and a test holds the list against verl 0.9.1.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from verifier import _json
from verifier.errors import InfraError, SuiteError
from verifier.scoring.local import local_engine
from verifier.scoring.sample import Sample, build_tasks, plain
from verifier.types import (
    Case,
    CaseResult,
    LimitOverrides,
    Outcome,
    Result,
    Status,
    Suite,
    SuiteKind,
)

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
# Excerpts in the metadata, in characters: half of it from the head, half from the tail.
_OUTPUT_CHARS = 200
_INPUT_CHARS = 300


def compute_score(
    completion: str | bytes,
    test_cases: object,
    continuous: bool = False,
    *,
    limits: LimitOverrides = LimitOverrides(),
    backend: str = "namespaces",
    accept: Collection[str] = (),
) -> tuple[bool | float, Metadata | list[Metadata]]:
    """Score a completion on this host.

    Args:
        completion: The model's response; bare code is fine.
        test_cases: The ground truth, as JSON text or as an object.
        continuous: Give the share of the first ten cases instead of False.
        limits: Replace the defaults.
        backend: Sandbox of the local engine.
        accept: Guarantees that may be missing on this host, by name.

    Returns:
        `(success, metadata)`, see the head of this module.

    Raises:
        SuiteError: The test cases are unusable; names the field.
        LimitError: A limit is not positive, or over the ceiling.
        InfraError: The machinery failed twice.
        GuaranteeError: This host misses a guarantee that was not accepted by name.
    """
    sample = Sample(data_source="", solution_str=completion, ground_truth=test_cases)
    (task,) = build_tasks([sample], limits=limits)
    if isinstance(task, Result):
        field, _, problem = task.error.partition(": ")
        raise SuiteError(field, problem)
    (result,) = local_engine(backend=backend, accept=accept).score_many([task])
    return shape(result, task.suite, continuous=continuous, test_cases=test_cases)


def shape(
    result: Result, suite: Suite, *, continuous: bool, test_cases: object = None
) -> tuple[bool | float, Metadata | list[Metadata]]:
    """A result in verl's shape.

    Args:
        result: Of the engine.
        suite: What it was scored against.
        continuous: See `compute_score`.
        test_cases: What the suite was read from: the metadata shows inputs and outputs as they are
            there, where it has verl's two columns.

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
    columns = _columns(test_cases, len(suite.cases))
    metadata = [
        _metadata(suite, v, *_shown(suite.cases[v.index], v.index, columns)) for v in counted
    ]
    if not continuous:
        return False, metadata
    passed = sum(v.status is Status.ACCEPTED for v in counted)
    return passed / max(1, len(counted)), metadata


_Columns = tuple[Sequence[object], Sequence[object]]


def _columns(test_cases: object, count: int) -> _Columns | None:
    """The inputs and outputs of the ground truth, as they were given; None where it has others."""
    with contextlib.suppress(ValueError, RecursionError):
        while isinstance(test_cases, (str, bytes)):
            test_cases = _json.loads(test_cases)
        data = plain(test_cases)
        if isinstance(data, Mapping):
            inputs, outputs = data.get("inputs"), data.get("outputs")
            if isinstance(inputs, list) and isinstance(outputs, list):
                return (inputs, outputs) if len(inputs) == len(outputs) == count else None
    return None


def _shown(case: Case, index: int, columns: _Columns | None) -> tuple[str, str]:
    """The input and the expected output of a case, as text."""
    if columns is not None:
        return str(columns[0][index]), str(columns[1][index])
    return case.test or _text(case.stdin), _text(case.expected or b"")


def _metadata(suite: Suite, verdict: CaseResult, given: str, expected: str) -> Metadata:
    code = _CODES.get(verdict.status, _OTHER_CODE)
    metadata: Metadata = {}
    if code is False:
        metadata = {
            "output": _cut(_text(verdict.stdout), _OUTPUT_CHARS),
            "expected": _cut(expected, _OUTPUT_CHARS),
            "inputs": _cut_input(given, suite.kind),
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


def _cut_input(given: str, kind: SuiteKind) -> str:
    """Arguments of a call have a line each, and each line its share."""
    if kind is not SuiteKind.CALL:
        return _cut(given, _INPUT_CHARS)
    share = _INPUT_CHARS // (given.count("\n") + 1)
    return "\n".join(_cut(line, share) for line in given.strip().split("\n"))


def _cut(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    head = chars // 2
    tail = chars - head
    return f"{text[:head]}...(truncated) ...{text[-tail:]}"
