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
from itertools import compress
from operator import ne

from verifier.judging.blocks import block_pairs, common_tokens, flat, spaced, white_space
from verifier.judging.match import RIGHT, Match, wrong
from verifier.judging.numbers import all_within, block_close, floats_of
from verifier.types import Comparator

__all__ = ["KATTIS"]

# What glibc's scanf reads as %lf: a decimal, or a hexadecimal as C writes it; an exponent that is
# begun and has no digits is none.
_DECIMAL = re.compile(rb"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:[eE]([+-]?\d*))?")
_HEXADECIMAL = re.compile(
    rb"([+-]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+))(?:[pP]([+-]?\d*))?"
)


def _compare(
    output: bytes, expected: bytes, comparator: Comparator, *, case: bool, space: bool
) -> Match:
    if output == expected:
        return RIGHT
    if not case:
        output, expected = output.lower(), expected.lower()
    match = _tokens(spaced(output), spaced(expected), comparator)
    if match.ok and space and white_space(output) != white_space(expected):
        return Match(ok=False, message="the white space differs")
    return match


def _tokens(got: bytes, wanted: bytes, comparator: Comparator) -> Match:
    numbers = comparator.abs_tol > 0 or comparator.rel_tol > 0
    tolerances = comparator.abs_tol, comparator.rel_tol
    start = common_tokens(got, wanted)
    index = len(got[:start].split()) + 1
    for left, right, count in block_pairs(flat(got[start:]), flat(wanted[start:])):
        if left == right or (numbers and block_close(left, right, *tolerances, integers=True)):
            index += count
            continue
        mine, theirs = left.split(), right.split()
        if not mine or not theirs:
            return wrong(f"token {index}", next(iter(theirs), None), next(iter(mine), None))
        # Also equal tokens of digits are looked at as numbers: nothing changes by that.
        if not (numbers and _all_near(mine, theirs, comparator)):
            for number, (a, b) in enumerate(zip(mine, theirs, strict=True), index):
                if a != b and not (numbers and _near(a, b, comparator)):
                    return wrong(f"token {number}", b, a)
        index += count
    return RIGHT


def _all_near(got: list[bytes], wanted: list[bytes], comparator: Comparator) -> bool:
    """`_near` for each pair that differs; False may also mean that this is not known."""
    differ = list(map(ne, got, wanted))
    mine, theirs = floats_of(compress(got, differ)), floats_of(compress(wanted, differ))
    if mine is None or theirs is None:
        return False
    abs_tol, rel_tol = comparator.abs_tol, comparator.rel_tol
    return all_within(mine[0], theirs[0], abs_tol, rel_tol) or all(
        abs(x - y) <= abs_tol < math.inf or abs(x - y) <= rel_tol * abs(y) < math.inf
        for x, y in zip(mine[0], theirs[0], strict=True)
    )


def _near(got: bytes, wanted: bytes, comparator: Comparator) -> bool:
    """Whether both are numbers, and near each other."""
    theirs, mine = _number(wanted), _number(got)
    if theirs is None or mine is None:
        return False
    off = abs(theirs - mine)
    return off <= comparator.abs_tol or off <= comparator.rel_tol * abs(theirs)


def _number(token: bytes) -> float | None:
    """A finite double, or None."""
    found = _DECIMAL.fullmatch(token)
    if found is not None:
        number = float(found[1] + _exponent(b"e", found[2]))
    else:
        found = _HEXADECIMAL.fullmatch(token)
        if found is None:
            return None
        try:
            number = float.fromhex((found[1] + _exponent(b"p", found[2])).decode())
        except OverflowError:
            return None
    return number if math.isfinite(number) else None


def _exponent(letter: bytes, digits: bytes | None) -> bytes:
    return letter + digits if digits and digits[-1:].isdigit() else b""


KATTIS: dict[str, Callable[[bytes, bytes, Comparator], Match]] = {
    "kattis": functools.partial(_compare, case=False, space=False),
    "kattis-case": functools.partial(_compare, case=True, space=False),
    "kattis-space": functools.partial(_compare, case=False, space=True),
    "kattis-case-space": functools.partial(_compare, case=True, space=True),
}
