r"""Large outputs, cut into blocks that fit the processor's cache.

An output of a million tokens is a million objects: to make all of them before looking at one costs
more than to look at them. What two sides have in common at their heads is never split at all; the
rest is looked at in pairs of blocks with as many tokens in each, and only blocks that are not
settled as a whole are split into tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifier import _fast

# Bytes of one side that are looked at at once. Measured: 32 to 256 KiB are equally fast.
BLOCK_BYTES = 64 * 1024

# The blanks of `bytes.split`, but for line feeds.
_TO_SPACE = bytes.maketrans(b"\t\r\v\f", b"    ")
_TO_X = bytes(code if code in b" \t\n\r\v\f" else ord("x") for code in range(256))
_NOT_SEPARATORS = bytes(code for code in range(256) if code not in b" \n")
_LONG_RUN = re.compile(rb" {2,}")
_LONG_GAP = re.compile(rb"\n{2,}")
_LONG_WORD = re.compile(rb"x{2,}")
# Passes that halve each run of blanks before a regular expression, which takes a run at once but
# is slow where there are many, sees what is left.
_HALVINGS = 4


def first_difference(a: bytes, b: bytes) -> int:
    """Index of the first byte that differs, by halving: slices compare faster than steps."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_tokens(a: bytes, b: bytes) -> int:
    """Where the token begins in which the first difference is (see `spaced`)."""
    at = first_difference(a, b)
    return max(a.rfind(b" ", 0, at), a.rfind(b"\n", 0, at)) + 1


def spaced(data: bytes) -> bytes:
    """With no other blanks than spaces and line feeds."""
    if any(blank in data for blank in (b"\t", b"\r", b"\v", b"\f")):
        return data.translate(_TO_SPACE)
    return data


def line_start(data: bytes, number: int, separator: bytes = b"\n") -> int:
    """Where a line begins, counted from 0; -1 if there are not as many. By halving, too."""
    low, high = 0, len(data)
    if data.count(separator) < number:
        return -1
    while number:
        middle = (low + high) // 2
        found = data.count(separator, low, middle)
        if found >= number:
            high = middle
        elif high - low == 1:
            return high
        else:
            low, number = middle, number - found
    return low


def canonical(data: bytes) -> bytes:
    r"""The same tokens on the same lines, with one space or one "\n" between two of them."""
    data = spaced(data)
    if b" " in data:
        data = _squeezed(data, b" ", _LONG_RUN).replace(b" \n", b"\n").replace(b"\n ", b"\n")
    return _squeezed(data, b"\n", _LONG_GAP).strip(b" \n")


def flat(data: bytes) -> bytes:
    """The same tokens in one row, with one space between two of them."""
    return _squeezed(spaced(data).replace(b"\n", b" "), b" ", _LONG_RUN).strip(b" ")


def _squeezed(data: bytes, byte: bytes, runs: re.Pattern[bytes]) -> bytes:
    """One of `byte` for each run of it."""
    two = byte * 2
    for _ in range(_HALVINGS):
        if two not in data:
            return data
        data = data.replace(two, byte)
    return runs.sub(byte, data) if two in data else data


def separators(data: bytes) -> bytes:
    """What stands between the tokens of canonical data: the shape of its lines."""
    return data.translate(None, _NOT_SEPARATORS)


def white_space(data: bytes) -> bytes:
    """The blanks and line feeds as they are, with an "x" for each token."""
    marked = data.translate(_TO_X)
    numpy = _fast.arrays() if len(data) >= _fast.LARGE_BYTES else None
    if numpy is None:
        return _squeezed(marked, b"x", _LONG_WORD)
    codes = numpy.frombuffer(marked, dtype=numpy.uint8)
    blank = codes != ord("x")
    # What stays of a token is its first byte.
    kept = blank.copy()
    kept[0] = True
    kept[1:] |= blank[:-1]
    shape: bytes = codes[kept].tobytes()
    return shape


def first_tokens(data: bytes, count: int) -> bytes:
    """The first tokens of data as of `flat`; all, where there are not as many."""
    end = line_start(data, count, b" ")
    return data if end < 0 else data[: max(end - 1, 0)]


def block_pairs(a: bytes, b: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Pairs of blocks with as many whole tokens in each, and how many these are.

    Where one side has more tokens, one of the blocks of a last pair is empty.

    Args:
        a: Tokens with one space between two of them: see `flat`.
        b: The same.
    """
    i = j = 0
    while i < len(a) and j < len(b):
        mine = a[i : _block_end(a, i, BLOCK_BYTES)]
        theirs = b[j : _block_end(b, j, len(mine))]
        count, more = mine.count(b" ") + 1, theirs.count(b" ") + 1
        if count > more:
            mine, count = first_tokens(mine, more), more
        elif more > count:
            theirs = first_tokens(theirs, count)
        yield mine, theirs, count
        i, j = i + len(mine) + 1, j + len(theirs) + 1
    if i < len(a) or j < len(b):
        yield a[i:], b[j:], 0


def _block_end(data: bytes, start: int, size: int) -> int:
    """Behind the last token that ends within so many bytes; behind the first if none does."""
    if start + size >= len(data):
        return len(data)
    end = data.rfind(b" ", start, start + size + 1)
    if end < 0:
        end = data.find(b" ", start + size)
    return len(data) if end < 0 else end
