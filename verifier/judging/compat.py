"""The comparisons of two scorers of verl 0.9.1, for runs that have to be compared with theirs.

They are reproduced as they are, false positives included (`prime` takes "1_0" for 10.0, and a value
for the one-element list that holds it). `docs/differences.md` says where the default differs, and
why.
"""

from __future__ import annotations

import json
import math
from itertools import compress
from operator import and_, ne, not_

from verifier import _fast, _json
from verifier.judging.blocks import block_pairs, flat
from verifier.judging.match import RIGHT, Match, wrong
from verifier.judging.numbers import all_within, as_floats, values_of
from verifier.types import Comparator

# Of numpy's `allclose`.
_ABS_TOL, _REL_TOL = 1e-8, 1e-5
# Lines of these alone are read alike by `str.splitlines`, `str.split` and ours.
_OF_NUMBERS = b"0123456789+-.eE\n"


def verl_sf(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """sandbox_fusion: the same text, but for line feeds at the end."""
    del comparator
    if output.rstrip(b"\n") == expected.rstrip(b"\n"):
        return RIGHT
    return wrong("text", expected, output)


def prime(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """prime_code on an output. Its numbers are lines, its tolerances numpy's 1e-5 and 1e-8."""
    del comparator
    if len(expected) >= _fast.LARGE_BYTES:
        known = _lines_of_numbers(output, expected)
        if known is not None:
            return RIGHT if known else wrong("text", expected, output)
    got_text = output.decode("utf-8", "surrogateescape")
    wanted_text = expected.decode("utf-8", "surrogateescape")
    got = got_text.splitlines()
    if "\n".join(got).strip() == wanted_text.strip():
        return RIGHT
    if "\n".join(map(str.strip, got)).strip() == wanted_text.strip():
        return RIGHT
    if got == [wanted_text]:
        return RIGHT
    wanted = list(map(str.strip, filter(None, wanted_text.split("\n"))))
    if got == wanted:
        return RIGHT
    got = list(filter(None, got))
    if got == wanted or _all_close(got, wanted):
        return RIGHT
    return wrong("text", expected, output)


def _lines_of_numbers(output: bytes, expected: bytes) -> bool | None:
    """What `prime` finds where both sides are a number on each line; None where they are not."""
    if any(side.translate(None, _OF_NUMBERS) for side in (output, expected)):
        return None
    got, wanted = flat(output), flat(expected)
    if not any(mark in side for mark in (b"-", b"+", b".", b"e", b"E") for side in (got, wanted)):
        return got == wanted  # unsigned integers
    for left, right, _ in block_pairs(got, wanted):
        a, b = values_of(left), values_of(right)
        if (left and a is None) or (right and b is None):
            return None
        if a is None or b is None:
            return False
        x, y = as_floats(a), as_floats(b)
        if not (all_within(x, y, _ABS_TOL, _REL_TOL) or all(map(_close, x, y))):
            return False
    return True


def _all_close(got: list[str], wanted: list[str]) -> bool:
    """Lines as floats, unless all of them are unsigned integers."""
    if len(got) != len(wanted) or _all_digits(got, wanted):
        return False
    differ = list(map(ne, got, wanted))
    try:
        a = list(map(float, compress(got, differ)))
        b = list(map(float, compress(wanted, differ)))
        if not (all_within(a, b, _ABS_TOL, _REL_TOL) or all(map(_close, a, b))):
            return False
        # Equal lines have to be numbers, too; "nan" equals nothing.
        rest = list(map(float, compress(got, map(not_, differ))))
    except ValueError:
        return False
    return not any(map(math.isnan, rest))


def _close(x: float, y: float) -> bool:
    return x == y or abs(x - y) <= _ABS_TOL + _REL_TOL * abs(y) < math.inf


def _all_digits(got: list[str], wanted: list[str]) -> bool:
    """All pairs are unsigned integers, as far as both lists go.

    verl walks the pairs too: one that is not ends the walk before the lengths matter. At the end of
    a walk a difference in length raises there, which is as much as True here: no floats.
    """
    return all(map(and_, map(str.isdigit, got), map(str.isdigit, wanted)))


def prime_value(got: object, wanted: object) -> bool:
    """prime_code on the result of a call: equal, or so to the first item of an expected list."""
    try:
        return bool(got == wanted or (isinstance(wanted, list) and wanted and got == wanted[0]))
    except RecursionError:
        return False


def verl_sf_text(value: object) -> str:
    """What sandbox_fusion's wrapper prints for the result of a call."""
    if isinstance(value, (dict, list, bool)) or value is None:
        try:
            return json.dumps(value)
        except (TypeError, ValueError):
            return _json.dumps(value)
    return str(value)
