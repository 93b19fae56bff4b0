"""A value from the program's process, in the process of its tests."""

from __future__ import annotations

import contextlib
import datetime as dt
import fractions
from collections import deque
from decimal import Decimal

from verifier.runner.agent import plain

WORDS = (
    b'["l", ["t", ["s", ["f", ["q", ["d", ["h", ["n", ["b", ["B", ["c", ["r", ["D", ["F",'
    b' ["T", ["a", ["m", ["e", ] , null true -1 1e999 "1" "nan" "YQ==" 1 2020 {}'
).split()


def target(data: bytes) -> None:
    for resolve in (None, lambda *_: "stand-in"):
        with contextlib.suppress(plain.NotPlain):
            value = plain.loads(data, resolve)
            again = plain.loads(plain.Encoder().dumps(value))
            assert type(again) is type(value)


def seeds() -> list[bytes]:
    items: list[object] = [
        [1, 1.5, "a", b"b", bytearray(b"c"), None, True, float("nan"), 2j, 2**70],
        {"a": (1, 2), (1, 2): {3, 4}, frozenset({1}): deque([1])},
        [Decimal("1.50"), fractions.Fraction(1, 3), range(1, 9, 2)],
        [dt.datetime(2020, 1, 2, tzinfo=dt.timezone.utc), dt.date(2020, 1, 2)],
        [dt.time(1, 2), dt.timedelta(1, 2, 3)],
        [object()],
    ]
    hostile = [
        b'["F", "1e99999999"]',
        b'["s", ["l"]]',
        b'["r", "a"]',
        b'["e", [1e400]]',
        b'["D", 1]',
        b'["b", "Yg==", "2.0"]',
        b'["q", {}]',
        b'[["l"]]',
        b"[" * 2000,
    ]
    return [plain.Encoder(handle=lambda _: 1).dumps(item) for item in items] + hostile
