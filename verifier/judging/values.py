"""JSON values: results of calls, and outputs under the `json` comparator.

Two values are equal if they are so as JSON: tuples have become lists and integer keys strings by
then. Numbers with a fraction are compared within the tolerance; integers exactly, at any size; 1
and 1.0 are one number. `true` is not 1: JSON tells them apart, and so do the tests of problems that
ask for one of them. NaN equals nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, compress
from operator import ne
from typing import Any

from verifier import _json
from verifier._json import BigInt
from verifier._text import excerpt
from verifier.judging.match import RIGHT, Match, wrong
from verifier.judging.numbers import all_within
from verifier.types import Comparator

_SHOWN_CHARS = 80
_PATH_PARTS = 8
_Path = tuple["str | int", ...]
_Pairs = Iterator["tuple[str | int, object, object]"]
_BLOCK_ITEMS = 4096
_NOT_PYTHON = (b"true", b"false", b"NaN")
_SCALARS = {int, float, str}


def json_values(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """The `json` comparator: each side is the text of one JSON value."""
    try:
        wanted = _json.loads(expected)
    except ValueError as error:
        return Match(ok=False, message=f"the expected output is not JSON: {excerpt(str(error))}")
    try:
        got = wanted if output == expected else _json.loads(output)
    except ValueError as error:
        return Match(ok=False, message=f"the output is not JSON: {excerpt(str(error))}")
    # Python's == is ours where there is neither a bool (it has `True == 1`) nor a NaN (a list
    # equals itself, whatever is in it).
    if not any(word in side for side in (output, expected) for word in _NOT_PYTHON):
        try:
            if got == wanted:
                return RIGHT
        except RecursionError:
            pass
    return same(got, wanted, comparator)


def same(got: object, wanted: object, comparator: Comparator) -> Match:
    """Whether two decoded values are equal. Does not recurse: values may be nested deeply."""
    # The containers that are open: what is left of each, where it is, and whether the lists in it
    # may be tried with all that is in them.
    todo: list[tuple[_Pairs, _Path, bool]] = [(iter([("", got, wanted)]), (), True)]
    while todo:
        pairs, path, whole = todo[-1]
        for key, a, b in pairs:
            if not (isinstance(a, list) and isinstance(b, list)) and not (
                isinstance(a, dict) and isinstance(b, dict)
            ):
                if _same_scalar(a, b, comparator):
                    continue
                return wrong(_where(_inner(todo, path, key)), shown(b), shown(a))
            inner = _inner(todo, path, key)
            if isinstance(a, list) and isinstance(b, list):
                if len(a) != len(b):
                    where = f"{_where(inner)} has {len(a)} items, not {len(b)}"
                    return wrong(where, shown(b), shown(a))
                if _same_items(a, b, comparator, whole=whole):
                    continue
                todo.append((_unequal(a, b), inner, False))
            elif isinstance(a, dict) and isinstance(b, dict):
                if a.keys() != b.keys():
                    return wrong(f"{_where(inner)} has other keys", shown(b), shown(a))
                todo.append((zip(b, map(a.__getitem__, b), b.values(), strict=True), inner, whole))
            break
        else:
            todo.pop()
    return RIGHT


def _inner(todo: list[tuple[_Pairs, _Path, bool]], path: _Path, key: str | int) -> _Path:
    """The path of an item; the value as a whole has none."""
    return (*path, key) if 1 < len(todo) <= _PATH_PARTS + 1 else path


def _same_items(a: list[object], b: list[object], comparator: Comparator, *, whole: bool) -> bool:
    """Two lists of one length are equal, as far as that can be said for all items at once.

    `whole`: of lists of lists, all items at one depth are taken together. That is tried once, so
    that deep nesting does not cost its square.
    """
    while whole and a and type(a[0]) is list:
        kinds = set(map(type, a)).union(map(type, b))
        if kinds != {list} or list(map(len, a)) != list(map(len, b)):  # type: ignore[arg-type]
            return False
        a, b = _joined(a), _joined(b)
    # Items that were looked at are still in the processor's cache when they are compared.
    return all(
        _same_scalars(a[at : at + _BLOCK_ITEMS], b[at : at + _BLOCK_ITEMS], comparator)
        for at in range(0, len(a), _BLOCK_ITEMS)
    )


def _same_scalars(a: list[object], b: list[object], comparator: Comparator) -> bool:
    kinds = set(map(type, a)).union(map(type, b))
    if not kinds <= _SCALARS:
        return False
    if float not in kinds:
        return a == b
    if kinds == {float} and all_within(a, b, comparator.abs_tol, comparator.rel_tol):  # type: ignore[arg-type]
        return True
    return _same_numbers(a, b, comparator)


def _unequal(a: list[object], b: list[object]) -> _Pairs:
    """The items of two lists of one length, without such as are surely equal."""
    pairs = zip(range(len(a)), a, b, strict=True)
    plain = set(map(type, a)).union(map(type, b)) <= _SCALARS
    return compress(pairs, map(ne, a, b)) if plain else pairs


def _joined(lists: list[object]) -> list[object]:
    return list(chain.from_iterable(lists))  # type: ignore[arg-type]


def _same_numbers(a: list[object], b: list[object], comparator: Comparator) -> bool:
    """All that differs is a float on one side, a number on the other, and within tolerance."""
    differ = list(map(ne, a, b))
    if not any(differ):
        return True
    mine: list[Any] = list(compress(a, differ))
    theirs: list[Any] = list(compress(b, differ))
    kinds = set(map(type, mine)), set(map(type, theirs))
    if str in kinds[0] | kinds[1] or int in kinds[1]:
        return False
    try:
        return all_within(mine, theirs, comparator.abs_tol, comparator.rel_tol)
    except OverflowError:  # an integer beyond all floats
        return False


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
    wanted = b
    if isinstance(wanted, int) and abs(wanted) >= 2**53 and comparator.abs_tol < 1:
        return False  # floats are integers there, and this is another one
    try:
        a, b = float(a), float(b)
    except OverflowError:
        return False
    if math.isinf(a) or math.isinf(b):
        return False
    difference = abs(a - b)
    if difference <= comparator.abs_tol:
        return True
    return not isinstance(wanted, int) and difference <= comparator.rel_tol * abs(b)


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
