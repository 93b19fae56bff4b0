r"""Comparators that read an output as lines of tokens.

`lines`, the default: blank lines do not count; a line is its tokens, so the number of blanks around
and between them does not matter (a program that has to draw with blanks needs `exact`). Lines are
paired one to one: "1 2 3" is not "1\\n2\\n3". A token is compared as `numbers.close` says. CRLF
ends a line as LF does, on either side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from verifier._text import excerpt
from verifier.judging.match import RIGHT, Match, wrong
from verifier.judging.numbers import all_close, close
from verifier.types import Comparator

# Lines that are compared at once: enough to be fast, few enough to find the one that differs.
_CHUNK = 20_000
# Bytes that could stand for a line end: control characters that are not blank.
_MARKS = tuple(bytes([code]) for code in (*range(9), *range(14, 32), 127))


def lines(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """The default."""
    got, wanted = _plain(output), _plain(expected)
    if got == wanted:
        return RIGHT
    got_lines, wanted_lines = got.split(b"\n"), wanted.split(b"\n")
    counts = len(got_lines), len(wanted_lines)
    match = _first_line(got_lines, wanted_lines, comparator)
    if match.ok:
        return RIGHT
    got_lines, wanted_lines = _not_blank(got_lines), _not_blank(wanted_lines)
    if counts == (len(got_lines), len(wanted_lines)):
        return match
    return _first_line(got_lines, wanted_lines, comparator)


def tokens(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """Like `lines`, but line ends are blanks too."""
    return _tokens(output.split(), expected.split(), comparator, integers=False)


def floats(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """Like `tokens`, and integers are compared within the tolerance too."""
    return _tokens(output.split(), expected.split(), comparator, integers=True)


def case_insensitive(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """Like `lines`, without regard to the case of ASCII letters."""
    return lines(output.lower(), expected.lower(), comparator)


def unordered_lines(output: bytes, expected: bytes, comparator: Comparator) -> Match:
    """The same lines as often, in any order. No tolerance: nothing says which numbers pair."""
    del comparator
    got, wanted = (Counter(_squeezed(side)) for side in (output, expected))
    if got == wanted:
        return RIGHT
    for line in (*wanted, *got):
        if got[line] != wanted[line]:
            break
    return Match(
        ok=False,
        message=f"line '{excerpt(line, 80)}': expected {wanted[line]} times, got {got[line]} times",
    )


def _plain(data: bytes) -> bytes:
    """LF at line ends, and nothing blank at the end: few outputs differ in anything else."""
    return (data.replace(b"\r\n", b"\n") if b"\r" in data else data).rstrip()


def _not_blank(items: Sequence[bytes]) -> list[bytes]:
    return [line for line in items if line and not line.isspace()]


def _squeezed(data: bytes) -> list[bytes]:
    """Lines that are not blank, with one blank between tokens."""
    if any(blanks in data for blanks in (b"  ", b"\t", b"\v", b"\f")):
        return [b" ".join(line.split()) for line in _not_blank(data.split(b"\n"))]
    return [line for line in map(bytes.strip, data.split(b"\n")) if line]


def _first_line(got: Sequence[bytes], wanted: Sequence[bytes], comparator: Comparator) -> Match:
    """Where the first lines differ."""
    n = min(len(got), len(wanted))
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        mine, theirs = got[start:stop], wanted[start:stop]
        if mine != theirs and not _chunk_matches(mine, theirs, comparator):
            for number, (a, b) in enumerate(zip(mine, theirs, strict=True), start + 1):
                match = _line(a, b, number, comparator)
                if not match.ok:
                    return match
    return _ends(got, wanted, n, "line")


def _chunk_matches(got: Sequence[bytes], wanted: Sequence[bytes], comparator: Comparator) -> bool:
    """Whether as many lines match.

    No list is made for each line: a million of those would keep the garbage collector busy. The
    lines that differ are joined by a byte that occurs in none of them, and split into tokens at
    once; the byte is a token too, so line ends are compared with the rest. False may mean that
    there is no such byte.
    """
    mine = b"\n".join([a for a, b in zip(got, wanted, strict=True) if a != b])
    theirs = b"\n".join([b for a, b in zip(got, wanted, strict=True) if a != b])
    mark = next((m for m in _MARKS if m not in mine and m not in theirs), None)
    if mark is None:
        return False
    mine_tokens = mine.replace(b"\n", b" " + mark + b" ").split()
    their_tokens = theirs.replace(b"\n", b" " + mark + b" ").split()
    return len(mine_tokens) == len(their_tokens) and all_close(
        mine_tokens, their_tokens, comparator.abs_tol, comparator.rel_tol
    )


def _line(got: bytes, wanted: bytes, number: int, comparator: Comparator) -> Match:
    if got == wanted:
        return RIGHT
    mine, theirs = got.split(), wanted.split()
    if len(mine) != len(theirs):
        return wrong(f"line {number}", wanted.strip(), got.strip())
    for index, (a, b) in enumerate(zip(mine, theirs, strict=True), 1):
        if not close(a, b, comparator.abs_tol, comparator.rel_tol):
            return wrong(f"line {number}, token {index}", b, a)
    return RIGHT


def _tokens(
    got: Sequence[bytes], wanted: Sequence[bytes], comparator: Comparator, *, integers: bool
) -> Match:
    """Where the first tokens differ."""
    tolerances = comparator.abs_tol, comparator.rel_tol
    n = min(len(got), len(wanted))
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        mine, theirs = got[start:stop], wanted[start:stop]
        if mine == theirs or all_close(mine, theirs, *tolerances, integers=integers):
            continue
        for number, (a, b) in enumerate(zip(mine, theirs, strict=True), start + 1):
            if not close(a, b, *tolerances, integers=integers):
                return wrong(f"token {number}", b, a)
    return _ends(got, wanted, n, "token")


def _ends(got: Sequence[bytes], wanted: Sequence[bytes], n: int, unit: str) -> Match:
    """Both sides must end where the shorter one does."""
    if len(got) == len(wanted):
        return RIGHT
    return wrong(
        f"{unit} {n + 1}",
        wanted[n].strip() if n < len(wanted) else None,
        got[n].strip() if n < len(got) else None,
    )
