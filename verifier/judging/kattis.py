"""The default output validator of Kattis and ICPC problem packages, flag by flag.

Judged as `problemtools` judges (support/default_validator/default_validator.cc; a test holds the
two against each other): tokens are compared in order, without regard to the case of ASCII letters
unless `case`, and to the white space between them unless `space`. Where a tolerance is given, a
token of the answer that is a number asks for one that is near it, in doubles: within the absolute
tolerance or within the relative one. Tolerances that are both zero stand for none: then "1.0" is
not "1".
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable

from verifier.judging.match import RIGHT, Match, wrong
from verifier.types import Comparator

__all__ = ["KATTIS"]

# What scanf's %lf reads: a decimal, or a hexadecimal as C writes it.
_DECIMAL = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_HEXADECIMAL = re.compile(
    rb"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?"
)
_TOKEN = re.compile(rb"\S+")


def _compare(
    output: bytes, expected: bytes, comparator: Comparator, *, case: bool, space: bool
) -> Match:
    if output == expected:
        return RIGHT
    if not case:
        output, expected = output.lower(), expected.lower()
    got, wanted = output.split(), expected.split()
    if got != wanted:
        match = _tokens(got, wanted, comparator)
        if not match.ok:
            return match
    if space and _TOKEN.sub(b"x", output) != _TOKEN.sub(b"x", expected):
        return Match(ok=False, message="the white space differs")
    return RIGHT


def _tokens(got: list[bytes], wanted: list[bytes], comparator: Comparator) -> Match:
    numbers = comparator.abs_tol > 0 or comparator.rel_tol > 0
    for index, (mine, theirs) in enumerate(zip(got, wanted, strict=False)):
        # Also equal tokens of digits are looked at as numbers: nothing changes by that.
        if mine != theirs and not (numbers and _near(mine, theirs, comparator)):
            return wrong(f"token {index + 1}", theirs, mine)
    count = min(len(got), len(wanted))
    if len(got) != len(wanted):
        return wrong(
            f"token {count + 1}",
            wanted[count] if len(wanted) > count else None,
            got[count] if len(got) > count else None,
        )
    return RIGHT


def _near(got: bytes, wanted: bytes, comparator: Comparator) -> bool:
    """Whether both are numbers, and near each other."""
    theirs, mine = _number(wanted), _number(got)
    if theirs is None or mine is None:
        return False
    off = abs(theirs - mine)
    return off <= comparator.abs_tol or off <= comparator.rel_tol * abs(theirs)


def _number(token: bytes) -> float | None:
    """A finite double, or None."""
    if _DECIMAL.fullmatch(token):
        number = float(token)
    elif _HEXADECIMAL.fullmatch(token):
        try:
            number = float.fromhex(token.decode())
        except OverflowError:
            return None
    else:
        return None
    return number if math.isfinite(number) else None


KATTIS: dict[str, Callable[[bytes, bytes, Comparator], Match]] = {
    "kattis": functools.partial(_compare, case=False, space=False),
    "kattis-case": functools.partial(_compare, case=True, space=False),
    "kattis-space": functools.partial(_compare, case=False, space=True),
    "kattis-case-space": functools.partial(_compare, case=True, space=True),
}
