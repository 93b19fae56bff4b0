"""Checkers and interactors as data sets carry them: source text, or an object that says more."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from verifier import _python
from verifier._text import to_utf8
from verifier.errors import LimitError, RequestError, SuiteError
from verifier.judging import CHECKER_STYLES, INTERACTOR_STYLES
from verifier.languages import get
from verifier.limits import resolve
from verifier.testcases.fields import mapping, sequence, text, time_limit
from verifier.types import Checker, Interactor, LimitOverrides

_LIMITS = tuple(LimitOverrides.__dataclass_fields__)
_MAX_ITEMS = 100
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b", re.MULTILINE)
_FILE_NAME = re.compile(r"[^./\0][^/\0]{0,199}")


def checker_of(value: object, field: str, style: str | None = None) -> Checker | None:
    """A checker; None where there is none.

    Where nothing says otherwise, text with an #include is C++ for testlib, all else is Python: a
    function where it defines `check`, a script where it does not and looks at its arguments.

    Args:
        value: Source text, an object with fields of a `Checker`, or nothing.
        field: For errors.
        style: What the format says that it is, where it does.

    Raises:
        SuiteError: It cannot be used.
    """
    given = _given(value, field, CHECKER_STYLES)
    if given is None:
        return None
    if style is not None:
        given.setdefault("style", style)
    source = given["source"]
    if "language" not in given:
        is_python = given.get("style") in ("function", "script") or not _INCLUDE.search(source)
        given["language"] = "python" if is_python else "cpp"
    if given["language"] != "python":
        given.setdefault("style", "testlib")
        return Checker(**given)
    tree = _parsed(source, field)
    defines = tree is None or _defines_check(tree)
    if "style" not in given and not defines and "argv" in source:
        given["style"] = "script"
    if given.setdefault("style", "function") == "function" and not defines:
        raise SuiteError(field, "it defines no function check(input, output, answer)")
    return Checker(**given)


def interactor_of(value: object, field: str) -> Interactor | None:
    """An interactor; None where there is none.

    Raises:
        SuiteError: It cannot be used.
    """
    given = _given(value, field, INTERACTOR_STYLES)
    if given is None:
        return None
    source = given["source"]
    given.setdefault("language", "cpp" if _INCLUDE.search(source) else "python")
    if given["language"] == "python":
        _parsed(source, field)
    return Interactor(**given)


def _given(value: object, field: str, styles: tuple[str, ...]) -> dict[str, Any] | None:
    """The fields that are there, each checked by itself."""
    if value is None or value == "":
        return None
    if not isinstance(value, Mapping):
        return {"source": text(value, field)}
    readers: dict[str, Callable[[Any, str], object]] = {
        "source": _source,
        "language": _language,
        "style": lambda item, name: _style(item, name, styles),
        "args": lambda item, name: tuple(
            text(arg, name) for arg in sequence(item, name, _MAX_ITEMS)
        ),
        "files": lambda item, name: _files(mapping(item, name), name),
        "limits": lambda item, name: _limits(mapping(item, name), name),
        "full_points": _positive,
    }
    given: dict[str, Any] = {}
    for key, item in value.items():
        name = f"{field}.{str(key)[:40]}"
        if key not in readers:
            raise SuiteError(name, f"no such field; known: {', '.join(readers)}")
        if item is not None:
            given[key] = readers[key](item, name)
    if "source" not in given:
        raise SuiteError(f"{field}.source", "missing")
    return given


def _source(value: object, field: str) -> str:
    source = text(value, field)
    if not source.strip():
        raise SuiteError(field, "empty")
    return source


def _language(value: object, field: str) -> str:
    try:
        return get(text(value, field)).name
    except RequestError as e:
        raise SuiteError(field, e.problem) from None


def _style(value: object, field: str, styles: tuple[str, ...]) -> str:
    style = text(value, field)
    if style not in styles:
        raise SuiteError(field, f"no style {style[:40]!r}; known: {', '.join(styles)}")
    return style


def _positive(value: object, field: str) -> float:
    number = time_limit(value, field)
    if number is None:
        raise SuiteError(field, "must be positive")
    return number


def _files(row: Mapping[str, object], field: str) -> tuple[tuple[str, bytes], ...]:
    for name in row:
        if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
            raise SuiteError(field, f"{str(name)[:40]!r} is no plain file name")
    if len(row) > _MAX_ITEMS:
        raise SuiteError(field, f"{len(row)} files")
    return tuple((name, to_utf8(text(item, f"{field}.{name}"))) for name, item in row.items())


def _limits(row: Mapping[str, object], field: str) -> LimitOverrides:
    for name in row:
        if name not in _LIMITS:
            raise SuiteError(f"{field}.{str(name)[:40]}", f"no such limit: {', '.join(_LIMITS)}")
    overrides = LimitOverrides(**row)  # type: ignore[arg-type]  # `resolve` looks at each
    try:
        resolve(overrides, field=field)
    except LimitError as e:
        raise SuiteError(e.field, e.problem) from None
    return overrides


def _parsed(source: str, field: str) -> ast.Module | None:
    """The syntax tree; None where the source is too long to be looked at."""
    tree = _python.parse(source)
    if tree is None and len(source) <= _python.MAX_PARSE_CHARS:
        raise SuiteError(field, "not valid Python")
    return tree


def _defines_check(tree: ast.Module) -> bool:
    """Whether `check` may be there once the module has run: bound anywhere outside of functions."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(a.asname or a.name for a in node.names)
    return bool(names & {"check", "*"})
