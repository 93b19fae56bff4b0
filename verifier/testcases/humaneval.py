"""HumanEval and EvalPlus: `test` defines `check(candidate)`, `entry_point` names the candidate.

One case, as the benchmark counts. A response must hold the whole function, not only its body: the
row's `prompt` is not put before it. But helper functions of the prompt that a test calls (`poly` of
HumanEval/32) are the data's, not the program's: the prompt is the suite's preamble.

KodCode's `test` is a pytest body; each of its test functions is a case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from verifier import _python
from verifier.errors import SuiteError
from verifier.testcases.fields import Context, assert_suite, mapping, text
from verifier.testcases.pytest_bodies import pytest_cases
from verifier.testcases.sources import checked, infer_entry_point
from verifier.types import Suite

_DEFINES_CHECK = re.compile(r"^def\s+check\s*\(", re.MULTILINE)
_ENTRY_POINT = re.compile(r"[A-Za-z_]\w{0,199}(?:(?:\(\))?\.[A-Za-z_]\w{0,199}){0,8}")


def load_humaneval(data: object, context: Context) -> Suite:
    """Read a row with `test`; `entry_point` is needed where that only defines `check`."""
    row = mapping(data, "ground_truth")
    if row.get("test") is None:
        raise SuiteError("test", "missing")
    source = text(row["test"], "test")
    entry_point = _entry_point(row) or context.fn_name
    if _DEFINES_CHECK.search(source):
        if entry_point is None:
            raise SuiteError("entry_point", "missing, though the test defines check(candidate)")
        source = f"{source}\ncheck({entry_point})\n"
    name = entry_point.split(".")[-1] if entry_point else infer_entry_point([source])
    preamble = text(row.get("prompt") or "", "prompt")
    if preamble and _python.parse(preamble) is None:
        preamble = ""  # a prompt in words
    return assert_suite([checked(source, "test")], fn_name=name, preamble=preamble)


def load_kodcode(data: object, context: Context) -> Suite:
    """Read a pytest body, or a row that has one as `test` (or `tests`)."""
    row: Mapping[str, object] = {}
    field = "test"
    if isinstance(data, (str, bytes)):
        source = text(data, field)
    else:
        row = mapping(data, "ground_truth")
        field = next(
            (key for key in ("test", "tests", "test_code") if row.get(key) is not None), ""
        )
        if not field:
            raise SuiteError("test", "missing")
        source = text(row[field], field)
    cases = [checked(case, field) for case in pytest_cases(source, field)]
    if len(cases) > context.max_cases:
        raise SuiteError(field, f"{len(cases)} cases are over the limit of {context.max_cases}")
    name = _entry_point(row) or context.fn_name or _kodcode_name(row) or infer_entry_point([source])
    return assert_suite(cases, fn_name=name)


def _entry_point(row: Mapping[str, object]) -> str | None:
    value = row.get("entry_point") or row.get("fn_name")
    if value is None or value == "":
        return None
    name = text(value, "entry_point")
    if not _ENTRY_POINT.fullmatch(name):
        raise SuiteError("entry_point", f"not the name of a function: {name[:60]!r}")
    return name


def _kodcode_name(row: Mapping[str, object]) -> str | None:
    """KodCode's `test_info`: `[{"function_name": ...}]`."""
    info = row.get("test_info")
    first = info[0] if isinstance(info, (list, tuple)) and info else None
    name = first.get("function_name") if isinstance(first, Mapping) else None
    return name if isinstance(name, str) and name.isidentifier() else None
