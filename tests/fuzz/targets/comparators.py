"""An output and what was expected: the verdict does not depend on how they are cut into blocks, nor
on the libraries that read large ones.
"""

from __future__ import annotations

import itertools
from unittest import mock

from verifier import _fast
from verifier.judging import COMPARATORS, blocks, compare, numbers
from verifier.types import Comparator

SPLIT = b"\xfe\xfd"
TOLERANCES = ((1e-6, 1e-6), (0.0, 0.0), (0.5, 0.0), (0.0, 0.5))
WORDS = (
    b"1.0 0.5 1e5 .5 1. -0 nan inf 00 1_0 0x1p3 1.0e400 \t \r\n \n\n \0 \xfe\xfd \x85"
    b" 1e0000001 [ ] , :"
).split(b" ")


def target(data: bytes) -> None:
    options, (output, _, expected) = data[:2].ljust(2, b"\0"), data[2:].partition(SPLIT)
    name = COMPARATORS[options[0] % len(COMPARATORS)]
    comparator = Comparator(name, *TOLERANCES[options[1] % len(TOLERANCES)])
    match = compare(output, expected, comparator)
    assert match.ok is not bool(match.message)
    assert match.message.isprintable()
    assert len(match.message) < 1000
    with (
        mock.patch.object(blocks, "BLOCK_BYTES", 1 + options[1] % 8 if len(data) < 300 else 1000),
        mock.patch.object(_fast, "LARGE_BYTES", 1),
        mock.patch.object(numbers, "_LARGE_ROW", 1),
    ):
        again = compare(output, expected, comparator)
    # Of lines in any order, which one is shown depends on who looks.
    assert again == match or (name == "unordered-lines" and again.ok is match.ok)


def seeds() -> list[bytes]:
    texts = [
        b"1 2\n3.5\n",
        b"1  2 \r\n\n3.50000001",
        b"a\tb\nA B",
        b"",
        b"-0.0 1e5 .5",
        b"[1, 2.0]",
    ]
    return [
        bytes([n % len(COMPARATORS), n]) + a + SPLIT + b
        for n, (a, b) in enumerate(itertools.product(texts, texts))
    ]
