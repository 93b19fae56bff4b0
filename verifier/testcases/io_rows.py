"""Lists of cases, one object each: PrimeIntellect, SYNTHETIC-1, DeepCoder, and plain lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verifier.errors import SuiteError
from verifier.testcases.calls import call_suite
from verifier.testcases.fields import (
    Context,
    decoded,
    function_name,
    mapping,
    sequence,
    stdin_suite,
)
from verifier.types import Checker, LimitOverrides, Suite

_KINDS = {
    "stdin_stdout": False,
    "stdin": False,
    "standard_input": False,
    "function_call": True,
    "functional": True,
}
_INPUT_KEYS = ("input", "stdin", "inputs")
_OUTPUT_KEYS = ("output", "stdout", "expected_output", "expected", "outputs")


def load_primeintellect(data: object, context: Context) -> Suite:
    """A `verification_info`, or a row with one.

    `{"language", "test_cases": [{"type", "input", "output", "fn_name"}]}`
    """
    row = mapping(data, "ground_truth")
    if row.get("verification_info") is not None:
        row = mapping(decoded(row["verification_info"], "verification_info"), "verification_info")
    field = "test_cases" if row.get("test_cases") is not None else "tests"
    if row.get(field) is None:
        raise SuiteError("test_cases", "missing")
    named = function_name(row.get("fn_name"), "fn_name")
    rows = sequence(decoded(row[field], field), field, context.max_cases)
    return suite_of_rows(rows, field, context, fn_name=named)


def suite_of_rows(
    rows: Sequence[object],
    field: str,
    context: Context,
    *,
    fn_name: str | None = None,
    limits: LimitOverrides = LimitOverrides(),
    checker: Checker | None = None,
) -> Suite:
    """A suite of cases that are objects. All are of one kind, and call one function."""
    if not rows:
        raise SuiteError(field, "no cases")
    cases = [mapping(item, f"{field}[{i}]") for i, item in enumerate(rows)]
    inputs = [_value(case, _INPUT_KEYS, f"{field}[{i}].input") for i, case in enumerate(cases)]
    outputs = [
        _value(case, _OUTPUT_KEYS, f"{field}[{i}].output", checker) for i, case in enumerate(cases)
    ]
    called = _function(cases, field) or fn_name
    kinds = {_kind(case, f"{field}[{i}].type") for i, case in enumerate(cases)} - {None}
    if len(kinds) > 1:
        raise SuiteError(f"{field}.type", "cases of more than one kind in one suite")
    is_call = kinds.pop() if kinds else called is not None
    if not is_call:
        return stdin_suite(inputs, outputs, limits=limits, checker=checker)
    called = called or context.fn_name
    if called is None:
        raise SuiteError(f"{field}.fn_name", "missing, though the cases are calls")
    return call_suite(inputs, outputs, called, limits=limits)


def _value(
    case: Mapping[str, object], keys: Sequence[str], field: str, checker: Checker | None = None
) -> object:
    for key in keys:
        if key in case:
            return case[key]
    if checker is not None:
        return None
    raise SuiteError(field, "missing")


def _kind(case: Mapping[str, object], field: str) -> bool | None:
    kind = case.get("type", case.get("testtype"))
    if kind is None:
        return None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise SuiteError(field, f"unknown type {str(kind)[:40]!r}; known: {', '.join(_KINDS)}")
    return _KINDS[kind]


def _function(cases: Sequence[Mapping[str, object]], field: str) -> str | None:
    names = {_called(case, f"{field}[{i}]") for i, case in enumerate(cases)}
    if len(names) > 1:
        raise SuiteError(f"{field}.fn_name", "cases that call more than one function in one suite")
    return names.pop() if names else None


def _called(case: Mapping[str, object], field: str) -> str | None:
    """The function of one case: `fn_name`, or DeepCoder's `metadata.func_name`."""
    metadata = case.get("metadata")
    if case.get("fn_name") is None and isinstance(metadata, Mapping):
        return function_name(metadata.get("func_name"), f"{field}.metadata.func_name")
    return function_name(case.get("fn_name"), f"{field}.fn_name")
