"""A pickle, which LiveCodeBench has inside of its packed private tests."""

from __future__ import annotations

from tests.fuzz.common import pickles
from verifier.testcases.plain_pickle import plain_loads

WORDS = (
    b"\x80\x04 \x95 \x8c\x01a ( t l d ] } ) u e a s \x94 h\x00 j\x00\x00\x00\x00 q\x00"
    b" g0\n p0\n N \x88 K\x01 \x85 \x86 \x87 . X\x01\x00\x00\x00a M\x01\x02 I1\n L1L\n"
    b" F1\n S'a'\n V1\n G C\x01a \x8a\x01a"
).split(b" ")


def target(data: bytes) -> None:
    try:
        todo = [plain_loads(data)]
    except ValueError:
        return
    seen = set()
    while todo:
        value = todo.pop()
        if isinstance(value, (dict, list, tuple)):
            # Nothing is shared, so nothing can grow when it is written out.
            assert id(value) not in seen or value == ()
            seen.add(id(value))
            todo += [*value, *value.values()] if isinstance(value, dict) else value
        else:
            assert isinstance(value, (str, bytes, int, float, type(None))), type(value)


def seeds() -> list[bytes]:
    return pickles()
