r"""Comparators that read an output as lines of tokens.

`lines`, the default: blank lines do not count; a line is its tokens, so the number of blanks around
and between them does not matter (a program that has to draw with blanks needs `exact`). Lines are
paired one to one: "1 2 3" is not "1\\n2\\n3". A token is compared as `numbers.close` says. CRLF
ends a line as LF does, on either side.
"""

from __future__ import annotations

from collections import Counter

from verifier._text import excerpt
from verifier.judging.bags import compare_lines
from verifier.judging.blocks import (
    block_pairs,
    canonical,
    common_tokens,
    first_difference,
    first_tokens,
    flat,
    line_start,
    separators,
    spaced,
)
from verifier.judging.match import RIGHT, Match, wrong
from verifier.judging.numbers import all_close, block_close, close
from verifier.types import Comparator

_SHOWN_CHARS = 80
_SHOWN_BYTES = 400


def lines(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """The default."""
    if output == expected:
        return RIGHT
    got, wanted = canonical(output), canonical(expected)
    if got == wanted:
        return RIGHT
    if not got or not wanted:
        return wrong("line 1", _line(wanted, 0) or None, _line(got, 0) or None)
    # Whole lines of the common head are equal. What follows is compared as tokens, all of them in
    # one row, up to where the shapes of the lines differ.
    start = got.rfind(b"\n", 0, first_difference(got, wanted)) + 1
    before = got.count(b"\n", 0, start)
    got, wanted = got[start:], wanted[start:]
    mine, theirs = separators(got), separators(wanted)
    alike, count = _alike(mine, theirs)
    left, right = got.replace(b"\n", b" "), wanted.replace(b"\n", b" ")
    if not alike:
        left, right = first_tokens(left, count), first_tokens(right, count)
    found = _difference(left, right, comparator)
    if found is not None:
        index, a, b = found
        number, first = before + mine.count(b"\n", 0, index), mine.rfind(b"\n", 0, index) + 1
        return wrong(f"line {number + 1}, token {index - first + 1}", b, a)
    if alike:
        return RIGHT
    number = max(mine.count(b"\n", 0, count), theirs.count(b"\n", 0, count))
    return wrong(f"line {before + number + 1}", _line(wanted, number), _line(got, number))


def tokens(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """Like `lines`, but line ends are blanks too."""
    return _tokens(output, expected, comparator, integers=False)


def floats(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """Like `tokens`, and integers are compared within the tolerance too."""
    return _tokens(output, expected, comparator, integers=True)


def case_insensitive(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """Like `lines`, without regard to the case of ASCII letters."""
    return lines(output.lower(), expected.lower(), comparator)


def unordered_lines(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """The same lines as often, in any order. No tolerance: nothing says which numbers pair."""
    del comparator
    if output == expected:
        return RIGHT
    got, wanted = canonical(output), canonical(expected)
    if got == wanted:
        return RIGHT
    start = got.rfind(b"\n", 0, first_difference(got, wanted)) + 1
    known = compare_lines(got[start:], wanted[start:])
    if known is True:
        return RIGHT
    if known is not None:
        times = _times(got, wanted, known)
        if times[0] != times[1]:  # it is another line of that hash otherwise
            return _odd(known, times)
    odd = _odd_line(_split(got[start:]), _split(wanted[start:]))
    return RIGHT if odd is None else _odd(odd, _times(got, wanted, odd))


def _odd(line: bytes, times: tuple[int, int]) -> Match:
    shown = excerpt(line, _SHOWN_CHARS)
    return Match(
        ok=False, message=f"line '{shown}': expected {times[0]} times, got {times[1]} times"
    )


def _times(got: bytes, wanted: bytes, line: bytes) -> tuple[int, int]:
    """How often a line is expected, and how often it is there."""
    return _count(wanted, line), _count(got, line)


def _count(data: bytes, line: bytes) -> int:
    # Each line with line ends of its own, so that one is not shared by two.
    framed = b"\n" + data.replace(b"\n", b"\n\n") + b"\n"
    return framed.count(b"\n" + line + b"\n") if data else 0


def _odd_line(got: list[bytes], wanted: list[bytes]) -> bytes | None:
    """A line that one side has more often than the other."""
    missing = set(wanted)
    if len(missing) == len(wanted) == len(got):
        # No line is wanted twice, so as many lines that hold all of them are they.
        missing.difference_update(got)
        return next((line for line in wanted if line in missing), None) if missing else None
    mine, theirs = Counter(got), Counter(wanted)
    if dict.__eq__(mine, theirs):
        return None
    return next(line for line in (*theirs, *mine) if mine[line] != theirs[line])


def _split(data: bytes) -> list[bytes]:
    return data.split(b"\n") if data else []


def _alike(mine: bytes, theirs: bytes) -> tuple[bool, int]:
    """Whether two shapes are one, and how many tokens there are before the line that differs."""
    if mine == theirs:
        return True, len(mine) + 1
    at = first_difference(mine, theirs)
    if at in (len(mine), len(theirs)) and b"\n" in (mine[at : at + 1], theirs[at : at + 1]):
        return False, at + 1  # one side ends where a line of the other does
    return False, mine.rfind(b"\n", 0, at) + 1


def _line(data: bytes, number: int) -> bytes | None:
    """A line, from 0; None behind the last."""
    start = line_start(data, number)
    return None if start < 0 else data[start : start + _SHOWN_BYTES].split(b"\n", 1)[0]


def _tokens(output: bytes, expected: bytes, comparator: Comparator, *, integers: bool) -> Match:
    if output == expected:
        return RIGHT
    got, wanted = spaced(output), spaced(expected)
    start = common_tokens(got, wanted)
    found = _difference(flat(got[start:]), flat(wanted[start:]), comparator, integers=integers)
    if found is None:
        return RIGHT
    index, a, b = found
    return wrong(f"token {len(got[:start].split()) + index + 1}", b, a)


def _difference(
    got: bytes, wanted: bytes, comparator: Comparator, *, integers: bool = False
) -> tuple[int, bytes | None, bytes | None] | None:
    """The first tokens that differ (of data as of `flat`), with their index.

    None in place of a token is the end of that side.
    """
    tolerances = comparator.abs_tol, comparator.rel_tol
    index = 0
    for left, right, count in block_pairs(got, wanted):
        if not left or not right:
            return index, _first(left), _first(right)
        if left != right and not block_close(left, right, *tolerances, integers=integers):
            mine, theirs = left.split(), right.split()
            if not all_close(mine, theirs, *tolerances, integers=integers):
                for number, (a, b) in enumerate(zip(mine, theirs, strict=True), index):
                    if not close(a, b, *tolerances, integers=integers):
                        return number, a, b
        index += count
    return None


def _first(tokens: bytes) -> bytes | None:
    return tokens.split(b" ", 1)[0] or None
