"""Suites that call a function: arguments and results as JSON.

Two conventions are in use. In one (verl, Eurus-2, LiveCodeBench) an input is text with one JSON
value per line, each an argument, and an output is JSON text. In the other (APPS, TACO) an input is
the list of arguments and an output is the value itself, which APPS wraps in a list of one. Which
one holds is decided for the whole suite.
"""

from __future__ import annotations

from collections.abc import Sequence

from verifier import _json
from verifier._text import to_utf8
from verifier.errors import SuiteError
from verifier.testcases.fields import kind_of
from verifier.types import Case, LimitOverrides, Suite, SuiteKind


def call_suite(
    inputs: Sequence[object],
    outputs: Sequence[object],
    fn_name: str,
    *,
    raw: bool = False,
    case_weights: Sequence[float] | None = None,
    limits: LimitOverrides = LimitOverrides(),
) -> Suite:
    """A suite that calls `fn_name`.

    Args:
        inputs: One per case.
        outputs: As many.
        fn_name: The function, or method ("Solution.f").
        raw: Outputs that are strings are values, never JSON text (APPS, TACO).
        case_weights: One per case.
        limits: Limits that the data states.
    """
    arguments = [_arguments(value, f"inputs[{i}]") for i, value in enumerate(inputs)]
    expected = _expected(outputs, raw=raw, lines=any(isinstance(value, str) for value in inputs))
    cases = tuple(
        Case(stdin=a, expected=e, weight=case_weights[i] if case_weights else 1.0)
        for i, (a, e) in enumerate(zip(arguments, expected, strict=True))
    )
    return Suite(SuiteKind.CALL, cases, fn_name=_called(fn_name), limits=limits)


def _called(fn_name: str) -> str:
    """The name as the program's side looks it up: a function, or a method of `Solution`."""
    owner, _, name = fn_name.replace("()", "").rpartition(".")
    if owner not in ("", "Solution"):
        raise SuiteError("fn_name", f"a method of {owner[:60]}: only those of Solution are called")
    return name


def _arguments(value: object, field: str) -> bytes:
    """JSON text of the list of positional arguments."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return _lines(value, field)
    if not isinstance(value, (list, tuple)) and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (int, float, _json.BigInt, dict)):
        value = [value]  # one bare argument
    if not isinstance(value, (list, tuple)):
        raise SuiteError(field, f"must be JSON lines or a list of arguments, not {kind_of(value)}")
    return _dumped(list(value), field)


def _lines(text: str, field: str) -> bytes:
    """One JSON value per line, but for blank ones; or one value that spans all lines."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    try:
        for line in lines:
            _json.loads(line)
    except ValueError as error:
        try:
            _json.loads(text)
        except ValueError:
            raise SuiteError(field, f"not one JSON value per line: {str(error)[:200]}") from None
        lines = [text.strip()]
    return to_utf8(f"[{','.join(lines)}]")


def _expected(outputs: Sequence[object], *, raw: bool, lines: bool) -> list[bytes]:
    values = [
        o.tolist() if hasattr(o, "tolist") and not isinstance(o, (list, tuple)) else o
        for o in outputs
    ]
    # LiveCodeBench has rows of the shape of APPS, with JSON text on both sides.
    if (lines or not raw) and any(isinstance(value, str) for value in values):
        texts = _json_texts(values, must=lines and not raw)
        if texts is not None:
            return texts
    if all(isinstance(value, (list, tuple)) and len(value) == 1 for value in values):
        # Each output is wrapped, so the wrapping is the data's and not the function's.
        values = [value[0] for value in values]  # type: ignore[index]
    return [_dumped(value, f"outputs[{i}]") for i, value in enumerate(values)]


def _json_texts(values: Sequence[object], *, must: bool) -> list[bytes] | None:
    """The outputs, strings read as JSON text; None where one is not and need not be."""
    texts: list[bytes] = []
    for i, value in enumerate(values):
        if not isinstance(value, str):
            texts.append(_dumped(value, f"outputs[{i}]"))
            continue
        try:
            _json.loads(value)
        except ValueError as error:
            if must:
                raise SuiteError(f"outputs[{i}]", f"not JSON: {str(error)[:200]}") from None
            return None
        texts.append(to_utf8(value.strip()))
    return texts


def _dumped(value: object, field: str) -> bytes:
    try:
        return _json.dumps(value).encode()
    except ValueError as error:
        raise SuiteError(field, str(error)[:200]) from None
