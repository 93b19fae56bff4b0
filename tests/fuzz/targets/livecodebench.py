"""LiveCodeBench's packed private tests: base64 of zlib of a pickle of JSON text."""

from __future__ import annotations

import base64
import json
import pickle
import zlib

from tests.fuzz.common import CALLS, CASES, PRIVATE, load, pickles

WORDS = (
    b'"input" "output" "testtype" "fn_name" [ ] { } , : null "stdin" "functional" \x80\x04 ( . ] }'
).split()


def target(data: bytes) -> None:
    layers = (data[:1] or b"\0")[0] % 4
    packed = data[1:]
    if layers > 2:
        packed = pickle.dumps(packed.decode("utf-8", "replace"))
    if layers > 1:
        packed = zlib.compress(packed, 0)
    if layers > 0:
        packed = base64.b64encode(packed)
    load({"private_test_cases": packed.decode("latin-1")}, "livecodebench")


def seeds() -> list[bytes]:
    compressed = base64.b64decode(PRIVATE)
    texts = [json.dumps(CALLS).encode(), json.dumps(CASES).encode()]
    return [
        b"\0" + PRIVATE.encode(),
        b"\1" + compressed,
        *(b"\2" + item for item in pickles()),
        *(b"\3" + item for item in texts),
        *(b"\0" + item for item in texts),
    ]
