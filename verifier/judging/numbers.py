"""When two tokens are the same number.

Tokens that are equal byte by byte need no arithmetic. Of two that differ, at least one must be
written with a decimal point: integers, bit strings and identifiers are compared as they are
written, at any length, and never through a float. Both must then be numbers by a strict grammar -
no underscores, no "nan" or "inf", no leading zeros - and closer than the absolute or the relative
tolerance, relative to the expected one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from itertools import compress
from operator import ne, sub, truediv

_NUMBER = re.compile(rb"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")
# As a number: to look for a bytes object in another costs twenty times as much.
_POINT = ord(".")
# What matters to the grammar: all digits but zero look alike, so do the exponent's letters, and
# what is in no number is "x".
_SHAPE = bytes(
    ord("1" if code in b"23456789" else "e" if code in b"eE" else chr(code))
    if code in b" .0123456789eE"
    else ord("x")
    for code in range(256)
)
_SIGNS = b"+-"
_LONG_EXPONENT = re.compile(rb"e[01]{7}")
# Bounds for a whole list are this much stricter than for one number, for what is lost in rounding.
_STRICTER = 1 - 1e-6
_MIN_REL_TOL = 1e-8


def close(
    got: bytes, expected: bytes, abs_tol: float, rel_tol: float, *, integers: bool = False
) -> bool:
    """The tokens are equal, or numbers within tolerance. `integers`: no decimal point is needed."""
    if got == expected:
        return True
    if not integers and _POINT not in got and _POINT not in expected:
        return False
    if _NUMBER.fullmatch(got) is None or _NUMBER.fullmatch(expected) is None:
        return False
    return _near(got, expected, abs_tol, rel_tol)


def all_close(
    got: Sequence[bytes],
    expected: Sequence[bytes],
    abs_tol: float,
    rel_tol: float,
    *,
    integers: bool = False,
) -> bool:
    """`close` for each pair of two sequences of one length, several times as fast.

    The grammar is checked once, over all tokens that differ, and so are the tolerances where that
    is enough.
    """
    differ = list(map(ne, got, expected))
    count = differ.count(True)
    if not count:
        return True
    # Two lists rather than one of pairs: many tuples would keep the garbage collector busy.
    mine, theirs = list(compress(got, differ)), list(compress(expected, differ))
    left, right = floats_of(mine), floats_of(theirs)
    if left is None or right is None:
        return False
    (a, points), (b, more_points) = left, right
    # A number has one decimal point at most, so as many points as tokens means one in each.
    if (
        not integers
        and count not in (points, more_points)
        and not all(_POINT in g or _POINT in e for g, e in zip(mine, theirs, strict=True))
    ):
        return False
    return all_within(a, b, abs_tol, rel_tol) or _each_within(mine, theirs, a, b, abs_tol, rel_tol)


def all_within(a: Sequence[float], b: Sequence[float], abs_tol: float, rel_tol: float) -> bool:
    """All pairs are within one tolerance, and finite; False may also mean that this is not known.

    The Euclidean distance of two lists is no less than the largest of their differences.
    """
    distance = math.dist(a, b)
    if distance <= abs_tol * _STRICTER:
        return True
    if not math.isfinite(distance):
        return False
    if distance <= abs_tol * math.sqrt(len(a)):  # as it would be if all differences were alike
        return bool(max(map(abs, map(sub, a, b))) <= abs_tol)
    if rel_tol < _MIN_REL_TOL:
        return False
    try:
        ratios: list[float] = list(map(truediv, a, b))
    except ZeroDivisionError:
        return False
    bound = rel_tol * _STRICTER
    return 1 - bound <= min(ratios) and max(ratios) <= 1 + bound


def floats_of(tokens: Iterable[bytes]) -> tuple[list[float], int] | None:
    """Tokens that are all numbers by the grammar, and how many points are in them; else None."""
    tokens = list(tokens)
    joined = b" ".join(tokens)
    if not _is_plain(joined):
        return None
    try:
        return list(map(float, tokens)), joined.count(b".")
    except ValueError:
        return None


def _is_plain(tokens: bytes) -> bool:
    """All tokens are numbers by the grammar, or such that float() refuses them.

    If not, one at least is no number.
    """
    shape = b" " + tokens.translate(_SHAPE, _SIGNS)
    return (
        b"x" not in shape
        and b" 00" not in shape
        and b" 01" not in shape
        and (b"e" not in shape or _LONG_EXPONENT.search(shape) is None)
    )


def _each_within(
    mine: list[bytes],
    theirs: list[bytes],
    a: list[float],
    b: list[float],
    abs_tol: float,
    rel_tol: float,
) -> bool:
    for index, (x, y) in enumerate(zip(a, b, strict=True)):
        difference = x - y if x > y else y - x
        # Neither holds where a float overflowed to infinity.
        if difference <= abs_tol or difference <= rel_tol * abs(y) < math.inf:
            continue
        if not _near(mine[index], theirs[index], abs_tol, rel_tol):
            return False
    return True


def _near(got: bytes, expected: bytes, abs_tol: float, rel_tol: float) -> bool:
    a, b = float(got), float(expected)
    if math.isinf(a) or math.isinf(b):
        # Beyond the range of a float: exactly equal, or different.
        try:
            return Decimal(got.decode()) == Decimal(expected.decode())
        except InvalidOperation:
            return False
    difference = abs(a - b)
    return difference <= abs_tol or difference <= rel_tol * abs(b)
