r"""Large outputs, cut into blocks that fit the processor's cache.

An output of a million tokens is a million objects: to make all of them before looking at one costs
more than to look at them. What two sides have in common at their heads is never split at all; of
the rest, a block of each side is split at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Bytes of one side that are split at once. Measured: 32 to 256 KiB are equally fast.
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


def line_start(data: bytes, number: int) -> int:
    """Where a line begins, counted from 0; -1 if there are not as many. By halving, too."""
    low, high = 0, len(data)
    if data.count(b"\n") < number:
        return -1
    while number:
        middle = (low + high) // 2
        found = data.count(b"\n", low, middle)
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
    return _squeezed(data.translate(_TO_X), b"x", _LONG_WORD)


def token_blocks(data: bytes, start: int) -> Iterator[list[bytes]]:
    """The tokens from `start` on, as lists that are not empty.

    Args:
        data: Its tokens are cut at blanks and line feeds only: see `spaced`.
        start: Not inside of a token.
    """
    size = BLOCK_BYTES
    while start < len(data):
        end = start + size
        if end < len(data):
            # Beyond the last blank of the block, so that no token is cut.
            end = max(data.rfind(b" ", start, end), data.rfind(b"\n", start, end)) + 1
            if end == 0:
                size *= 2  # a token longer than the block
                continue
        tokens = data[start:end].split()
        if tokens:
            yield tokens
        start, size = end, BLOCK_BYTES


def token_pairs(a: bytes, b: bytes, start: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """The tokens of both sides from `start` on (see `token_blocks`), as lists of one length.

    Where one side has more tokens, one of the lists of a last pair is empty.
    """
    left, right = token_blocks(a, start), token_blocks(b, start)
    mine: list[bytes] = next(left, [])
    theirs: list[bytes] = next(right, [])
    while mine and theirs:
        both = min(len(mine), len(theirs))
        yield mine[:both], theirs[:both]
        mine = mine[both:] or next(left, [])
        theirs = theirs[both:] or next(right, [])
    if mine or theirs:
        yield mine, theirs
