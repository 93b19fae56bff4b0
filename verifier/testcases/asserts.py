"""Lists of asserts: verl's `assert_case`, AceCode's `test_cases`, MBPP's `test_list`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from verifier import _json, _python
from verifier.errors import SuiteError
from verifier.testcases.fields import Context, assert_suite, function_name, mapping, sequence, text
from verifier.testcases.pytest_bodies import pytest_cases
from verifier.testcases.sources import checked, infer_entry_point
from verifier.types import Suite

_DEFINES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
)


def load_asserts(
    data: object,
    context: Context,
    *,
    field: str,
    row: Mapping[str, object] | None = None,
    setup: str = "",
) -> Suite:
    """A suite of one case per assert (a single string is one case).

    Args:
        data: A list of test sources, or one; JSON text of either.
        context: See `Context`.
        field: Where it stands, for errors.
        row: Where `fn_name` or `entry_point` may stand.
        setup: Source that goes before each.
    """
    if isinstance(data, (str, bytes)):
        source = text(data, field)
        data = [source]
        if source.lstrip()[:1] in ("[", '"'):
            try:
                value = _json.loads(source)
            except ValueError:
                value = None
            data = [value] if isinstance(value, str) else value if isinstance(value, list) else data
    tests = [
        setup + case
        for i, item in enumerate(sequence(data, field, context.max_cases))
        for case in _called(checked(text(item, f"{field}[{i}]"), f"{field}[{i}]"), f"{field}[{i}]")
    ]
    if not tests:
        raise SuiteError(field, "no cases")
    row = row or {}
    named = function_name(row.get("fn_name"), "fn_name") or function_name(
        row.get("entry_point"), "entry_point"
    )
    return assert_suite(tests, fn_name=named or context.fn_name or infer_entry_point(tests))


def _called(source: str, field: str) -> list[str]:
    """The source; its tests written out as calls where it only defines them.

    Such a source comes to its end whatever the program is.
    """
    tree = _python.parse(source)
    if tree is None or not all(isinstance(node, _DEFINES) or _is_guard(node) for node in tree.body):
        return [source]
    cases = pytest_cases(source, field)
    if cases == [source]:
        if not any(map(_is_guard, tree.body)):
            raise SuiteError(field, "it defines what it never calls")
        return [f"__name__ = '__main__'\n{source}"]
    return cases


def _is_guard(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which is not true of a test."""
    return isinstance(node, ast.If) and any(
        isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test)
    )


def load_acecode(data: object, context: Context) -> Suite:
    """AceCode: `test_cases` (or `tests`) is a list of asserts."""
    if isinstance(data, (list, tuple, str)):
        return load_asserts(data, context, field="test_cases")
    row = mapping(data, "ground_truth")
    for field in ("test_cases", "tests", "asserts", "assert_case"):
        if row.get(field) is not None:
            return load_asserts(row[field], context, field=field, row=row)
    raise SuiteError("test_cases", "missing")


def load_mbpp(data: object, context: Context) -> Suite:
    """MBPP: `test_list`, with `test_setup_code` or `test_imports` before each."""
    row = mapping(data, "ground_truth")
    if row.get("test_list") is None:
        raise SuiteError("test_list", "missing")
    lines = [text(row.get("test_setup_code") or "", "test_setup_code")]
    imports = row.get("test_imports")
    if imports is not None:
        lines += [
            text(line, "test_imports")
            for line in sequence(imports, "test_imports", context.max_cases)
        ]
    setup = "".join(f"{line.rstrip()}\n" for line in lines if line.strip())
    return load_asserts(row["test_list"], context, field="test_list", row=row, setup=setup)
