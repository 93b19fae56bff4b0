"""Lines in any order, by sorting a number for each: a set of a million lines misses every cache.

The number is a hash of the line, with the line's index in its lowest bits. Sorted, the numbers pair
the lines of both sides, and pairs are compared byte by byte, eight at a time. So a hash alone never
makes two sides equal: where lines of one hash differ, the answer is not known.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from verifier import _fast

_WORD = 8
# Longer lines are few, and as quick to hash by the interpreter as to compare in words.
_MOST_WORDS = 64
# Odd, so that no bit of a word is lost. Nothing but speed depends on it.
_FACTOR = 0x9E3779B97F4A7C15


class _Lines(NamedTuple):
    """Lines as arrays: every window of eight bytes of the data, the lines' starts and lengths."""

    windows: Any
    starts: Any
    lengths: Any


def compare_lines(a: bytes, b: bytes) -> Literal[True] | bytes | None:
    r"""Whether both have the same lines as often.

    Args:
        a: Lines with one "\n" between two of them.
        b: The same.

    Returns:
        True; or a line that one side has more often; or None where that is not known.
    """
    numpy = _fast.arrays() if min(len(a), len(b)) >= _fast.LARGE_BYTES else None
    if numpy is None:
        return None
    mine, theirs = _lines(numpy, a), _lines(numpy, b)
    count = max(len(mine.starts), len(theirs.starts))
    words = (int(max(mine.lengths.max(), theirs.lengths.max())) + _WORD - 1) // _WORD
    if words > _MOST_WORDS:
        return None
    bits = numpy.uint64(count.bit_length())
    numbers, other = (_numbers(numpy, side, words, bits) for side in (mine, theirs))
    hashes, other_hashes = numbers >> bits, other >> bits
    if len(hashes) == len(other_hashes) and bool((hashes == other_hashes).all()):
        # Their lines in the order of ours: only one side is read here and there.
        match = numpy.empty(len(numbers), dtype=numpy.intp)
        match[_indices(numpy, numbers, bits)] = _indices(numpy, other, bits)
        theirs = theirs._replace(starts=theirs.starts[match], lengths=theirs.lengths[match])
        same = bool((mine.lengths == theirs.lengths).all()) and all(
            bool((_words(numpy, mine, n) == _words(numpy, theirs, n)).all()) for n in range(words)
        )
        return True if same else None
    # Up to here each hash is as often on both sides. The smaller one of the two is not.
    shorter = min(len(hashes), len(other_hashes))
    unlike = numpy.flatnonzero(hashes[:shorter] != other_hashes[:shorter])
    at = int(unlike[0]) if len(unlike) else shorter
    data, lines = a, mine
    if at == len(hashes) or (at < len(other_hashes) and hashes[at] > other_hashes[at]):
        data, lines, numbers = b, theirs, other
    line = int(_indices(numpy, numbers[at : at + 1], bits)[0])
    start = int(lines.starts[line])
    return data[start : start + int(lines.lengths[line])]


def _lines(numpy: Any, data: bytes) -> _Lines:
    codes = numpy.frombuffer(data + b"\n" + bytes(_WORD), dtype=numpy.uint8)
    ends = numpy.flatnonzero(codes == ord("\n"))
    starts = numpy.zeros_like(ends)
    starts[1:] = ends[:-1] + 1
    windows = numpy.ndarray((len(data) + 2,), dtype="<u8", buffer=codes, strides=(1,))
    return _Lines(windows, starts, ends - starts)


def _words(numpy: Any, lines: _Lines, number: int) -> Any:
    """That many bytes of eight of each line, as an integer; nothing stands behind its end."""
    left = numpy.clip(lines.lengths - number * _WORD, 0, _WORD)
    at = numpy.minimum(lines.starts + number * _WORD, len(lines.windows) - 1)
    masks = numpy.array([(1 << (8 * size)) - 1 for size in range(_WORD + 1)], dtype=numpy.uint64)
    return lines.windows[at] & masks[left]


def _numbers(numpy: Any, lines: _Lines, words: int, bits: Any) -> Any:
    """The hash of each line above its index, which takes so many bits; sorted."""
    numbers = lines.lengths.astype(numpy.uint64)
    for number in range(words):
        numbers ^= _words(numpy, lines, number)
        numbers *= numpy.uint64(_FACTOR)
        numbers ^= numbers >> numpy.uint64(32)
    numbers *= numpy.uint64(_FACTOR)
    numbers >>= bits
    numbers <<= bits
    numbers |= numpy.arange(len(numbers), dtype=numpy.uint64)
    numbers.sort()  # five times as fast as sorting indices by their hash
    return numbers


def _indices(numpy: Any, numbers: Any, bits: Any) -> Any:
    """Which lines have these numbers."""
    return (numbers & ((numpy.uint64(1) << bits) - numpy.uint64(1))).astype(numpy.intp)
