"""When two tokens are the same number.

Tokens that are equal byte by byte need no arithmetic. Of two that differ, at least one must be
written with a decimal point: integers, bit strings and identifiers are compared as they are
written, at any length, and never through a float. Both must then be numbers by a strict grammar -
no underscores, no "nan" or "inf", no leading zeros - and closer than the absolute or the relative
tolerance, relative to the expected one. The relative one is not for an expected integer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from itertools import compress
from operator import ne, sub, truediv
from typing import NamedTuple

from verifier import _fast

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
# In each JSON text that has more than numbers; a comma would make two tokens of one.
_OTHER_JSON = b',"[{tfn'
# Fewer bytes of tokens are read one by one.
_LARGE_ROW = 1024
_LONG_EXPONENT = re.compile(rb"e[01]{7}")
# Bounds for a whole list are this much stricter than for one number, for what is lost in rounding.
_STRICTER = 1 - 1e-6
_MIN_REL_TOL = 1e-8
# From here on a float has no odd integers.
_EXACT = 2.0**53


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
    # Of an expected integer, a share may be another integer: 999999999.5 is not 1000000007.
    if not integers and expected.lstrip(b"+-").isdigit():
        rel_tol = 0.0
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
    if not integers and count != more_points:
        return all(close(g, e, abs_tol, rel_tol) for g, e in zip(mine, theirs, strict=True))
    return all_within(a, b, abs_tol, rel_tol) or _each_within(mine, theirs, a, b, abs_tol, rel_tol)


def block_close(
    got: bytes, expected: bytes, abs_tol: float, rel_tol: float, *, integers: bool = False
) -> bool:
    """`all_close` for two blocks of as many tokens, with one space between two of them.

    Nothing is split: the numbers are read from the block. False may also mean that this is not
    known.
    """
    left, right = values_of(got), values_of(expected)
    if left is None or right is None:
        return False
    if not integers and not (right.pointed and _all_pointed(got, expected, left, right)):
        return False
    return values_close(as_floats(left), as_floats(right), abs_tol, rel_tol)


def as_floats(values: Numbers) -> list[float]:
    """Each as the double that is nearest to it."""
    return values.items if values.pointed else list(map(float, values.items))


def values_close(a: list[float], b: list[float], abs_tol: float, rel_tol: float) -> bool:
    """Two lists of finite numbers, each pair within tolerance."""
    return all_within(a, b, abs_tol, rel_tol) or all(
        abs(x - y) <= abs_tol or abs(x - y) <= rel_tol * abs(y) for x, y in zip(a, b, strict=True)
    )


def _all_pointed(got: bytes, expected: bytes, a: Numbers, b: Numbers) -> bool:
    """Of each pair that is not one token, one at least has a decimal point; or it is not known."""
    if a.pointed or b.pointed:
        return True
    # Else what was read has to tell: a float without a point has an exponent, and 0 may be "-0".
    if any(b"e" in side or b"E" in side or b"-0 " in side + b" " for side in (got, expected)):
        return False
    differ = list(map(ne, a.items, b.items))
    return int not in set(map(type, compress(a.items, differ))) or int not in set(
        map(type, compress(b.items, differ))
    )


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
        differences: list[float] = list(map(sub, a, b))
        return max(differences) <= abs_tol and min(differences) >= -abs_tol
    if rel_tol < _MIN_REL_TOL:
        return False
    try:
        ratios: list[float] = list(map(truediv, a, b))
    except ZeroDivisionError:
        return False
    bound = rel_tol * _STRICTER
    return 1 - bound <= min(ratios) and max(ratios) <= 1 + bound


class Numbers(NamedTuple):
    """The numbers of a row of tokens; `pointed`: each is a float, written with a decimal point."""

    items: list[int | float]
    pointed: bool


def values_of(tokens: bytes) -> Numbers | None:
    """What numbers are in a row of tokens with one space between two of them.

    None where one is no number by the grammar, or nothing that a JSON reader takes and has exactly.
    The numbers are finite; without a point and an exponent, they are integers below 2**63.
    """
    if not tokens or any(code in tokens for code in _OTHER_JSON):
        return None
    if (b"e" in tokens or b"E" in tokens) and _LONG_EXPONENT.search(
        tokens.translate(_SHAPE, _SIGNS)
    ):
        return None
    # A number has one decimal point at most, so as many points as tokens means one in each.
    pointed = tokens.count(b".") == tokens.count(b" ") + 1
    try:
        items = _fast.json_value(b"[" + tokens.replace(b" ", b",") + b"]", integers=not pointed)
    except ValueError:
        return None
    return Numbers(items, pointed)


def floats_of(tokens: Iterable[bytes]) -> tuple[list[float], int] | None:
    """Tokens that are all numbers by the grammar, and how many points are in them; else None."""
    tokens = list(tokens)
    joined = b" ".join(tokens)
    values = values_of(joined) if len(joined) >= _LARGE_ROW else None
    if values is not None:
        return as_floats(values), joined.count(b".")
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
    if abs(b) >= _EXACT and abs(a) >= _EXACT and abs_tol < 1 and not rel_tol:
        # An integer is expected that a float may not have: 2**63 is not 2**63 - 1.
        return abs(Decimal(got.decode()) - Decimal(expected.decode())) <= abs_tol
    difference = abs(a - b)
    return difference <= abs_tol or difference <= rel_tol * abs(b)
