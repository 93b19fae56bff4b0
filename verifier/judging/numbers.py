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
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from operator import sub

_NUMBER = re.compile(rb"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")
_NUMBER_BYTES = b"0123456789+-.eE"
# All digits but zero look alike, and so do the exponent's letters.
_SHAPE = bytes.maketrans(b"23456789E", b"11111111e")
_LONG_EXPONENT = re.compile(rb"e[01]{7}")


def close(
    got: bytes, expected: bytes, abs_tol: float, rel_tol: float, *, integers: bool = False
) -> bool:
    """The tokens are equal, or numbers within tolerance. `integers`: no decimal point is needed."""
    if got == expected:
        return True
    if not integers and b"." not in got and b"." not in expected:
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
    """`close` for each pair of two sequences of one length, about five times as fast.

    The grammar is checked once, over all tokens that differ.
    """
    # Two lists rather than one of pairs: a million tuples would keep the garbage collector busy.
    mine = [g for g, e in zip(got, expected, strict=True) if g != e]
    if not mine:
        return True
    theirs = [e for g, e in zip(got, expected, strict=True) if g != e]
    joined = b" ".join(mine), b" ".join(theirs)
    if not (_is_plain(joined[0]) and _is_plain(joined[1])):
        return all(
            close(g, e, abs_tol, rel_tol, integers=integers)
            for g, e in zip(mine, theirs, strict=True)
        )
    try:
        a, b = list(map(float, mine)), list(map(float, theirs))
    except ValueError:
        return False
    # A number has one decimal point at most, so as many points as tokens means one in each.
    pointed = integers or len(mine) in (joined[0].count(b"."), joined[1].count(b"."))
    if (
        pointed
        and math.isfinite(sum(a))
        and math.isfinite(sum(b))
        and max(map(abs, map(sub, a, b))) <= abs_tol
    ):
        return True
    for g, e, x, y in zip(mine, theirs, a, b, strict=True):
        if not pointed and b"." not in g and b"." not in e:
            return False
        difference = x - y if x > y else y - x
        # Neither holds where a float overflowed to infinity.
        if difference <= abs_tol or difference <= rel_tol * abs(y) < math.inf:
            continue
        if not _near(g, e, abs_tol, rel_tol):
            return False
    return True


def _is_plain(tokens: bytes) -> bool:
    """No character and no shape of a token is odd: float() reads only the grammar then."""
    if tokens.translate(None, _NUMBER_BYTES + b" "):
        return False
    shape = b" " + tokens.translate(_SHAPE, b"+-")
    return (
        b" 00" not in shape
        and b" 01" not in shape
        and (b"e" not in shape or _LONG_EXPONENT.search(shape) is None)
    )


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
