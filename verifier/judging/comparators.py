"""The comparators by name. Bytes end to end, linear time, and no output makes them raise."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from verifier.errors import RequestError
from verifier.judging import compat
from verifier.judging.blocks import first_difference
from verifier.judging.kattis import KATTIS
from verifier.judging.lines import case_insensitive, floats, lines, tokens, unordered_lines
from verifier.judging.match import RIGHT, Match, wrong
from verifier.judging.values import json_values
from verifier.types import Comparator


def _exact(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """Byte by byte."""
    del comparator
    if output == expected:
        return RIGHT
    at = first_difference(output, expected)
    return wrong(f"byte {at + 1}", expected[at : at + 400] or None, output[at : at + 400] or None)


_BY_NAME: dict[str, Callable[[bytes, bytes, Comparator], Match]] = {
    "lines": lines,
    "tokens": tokens,
    "exact": _exact,
    "float": floats,
    "unordered-lines": unordered_lines,
    "json": json_values,
    "case-insensitive": case_insensitive,
    "verl-sf": compat.verl_sf,
    "prime": compat.prime,
    **KATTIS,
}

COMPARATORS: tuple[str, ...] = tuple(_BY_NAME)


def compare(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """Compare an output with the expected one.

    Raises:
        RequestError: There is no comparator of that name.
    """
    return by_name(comparator.name)(output, expected, comparator)


def by_name(name: str) -> Callable[[bytes, bytes, Comparator], Match]:
    """The function of a comparator.

    Raises:
        RequestError: There is none of that name.
    """
    if name not in _BY_NAME:
        near = difflib.get_close_matches(name[:40], _BY_NAME, n=2)
        raise RequestError(
            "comparator",
            f"unknown comparator {name[:40]!r}; known: {', '.join(near or COMPARATORS)}",
        )
    return _BY_NAME[name]
