"""A pickle, which LiveCodeBench has inside of its packed private tests."""

from __future__ import annotations

from tests.fuzz.common import pickles
from verifier.testcases.plain_pickle import plain_loads


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
