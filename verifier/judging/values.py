"""JSON values: results of calls, and outputs under the `json` comparator.

Two values are equal if they are so as JSON: tuples have become lists and integer keys strings by
then. Numbers with a fraction are compared within the tolerance; integers exactly, at any size; 1
and 1.0 are one number. `true` is not 1: JSON tells them apart, and so do the tests of problems that
ask for one of them. NaN equals nothing.
"""

from __future__ import annotations

import math

from verifier import _json
from verifier._json import BigInt
from verifier._text import excerpt
from verifier.judging.match import RIGHT, Match, wrong
from verifier.types import Comparator

_SHOWN_CHARS = 80
_PATH_PARTS = 8
_Path = tuple["str | int", ...]
_Pairs = list["tuple[str | int, object, object]"]


def json_values(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """The `json` comparator: each side is the text of one JSON value."""
    try:
        wanted = _json.loads(expected)
    except ValueError as error:
        return Match(ok=False, message=f"the expected output is not JSON: {excerpt(str(error))}")
    try:
        got = _json.loads(output)
    except ValueError as error:
        return Match(ok=False, message=f"the output is not JSON: {excerpt(str(error))}")
    return same(got, wanted, comparator)


def same(got: object, wanted: object, comparator: Comparator) -> Match:
    """Whether two decoded values are equal. Does not recurse: values may be nested deeply."""
    todo: list[tuple[object, object, _Path]] = [(got, wanted, ())]
    while todo:
        a, b, path = todo.pop()
        if isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return wrong(f"{_where(path)} has {len(a)} items, not {len(b)}", shown(b), shown(a))
            if _is_flat(a) and _is_flat(b) and a == b:
                continue
            pairs: _Pairs = [(i, x, y) for i, (x, y) in enumerate(zip(a, b, strict=True))]
        elif isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return wrong(f"{_where(path)} has other keys", shown(b), shown(a))
            pairs = [(k, a[k], b[k]) for k in b]
        elif _same_scalar(a, b, comparator):
            continue
        else:
            return wrong(_where(path), shown(b), shown(a))
        for key, x, y in reversed(pairs):
            if isinstance(x, (list, dict)) or not _same_scalar(x, y, comparator):
                todo.append((x, y, (*path, key) if len(path) < _PATH_PARTS else path))
    return RIGHT


def _is_flat(items: list[object]) -> bool:
    """Only strings and ints: Python's == is ours then (it has `True == 1`)."""
    return all(type(item) is str or type(item) is int for item in items)


def _same_scalar(a: object, b: object, comparator: Comparator) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, float) or isinstance(b, float):
        return _near(a, b, comparator)
    return type(a) is type(b) and a == b


def _near(a: object, b: object, comparator: Comparator) -> bool:
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return False
    if a == b:
        return True
    try:
        a, b = float(a), float(b)
    except OverflowError:
        return False
    if math.isinf(a) or math.isinf(b):
        return False
    difference = abs(a - b)
    return difference <= comparator.abs_tol or difference <= comparator.rel_tol * abs(b)


def _where(path: tuple[str | int, ...]) -> str:
    parts = "".join(f"[{excerpt(p, 40)!r}]" if isinstance(p, str) else f"[{p}]" for p in path)
    return f"result{parts}"


def shown(value: object) -> str:
    """A short JSON text of a value, without writing all of a large one."""
    if isinstance(value, (list, dict)):
        if len(value) > _SHOWN_CHARS:
            return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)} items"
    elif isinstance(value, str):
        value = value[: _SHOWN_CHARS + 1]
    elif isinstance(value, BigInt):
        return value.digits[:_SHOWN_CHARS]
    try:
        return _json.dumps(value)
    except ValueError:
        return "a deeply nested value"
