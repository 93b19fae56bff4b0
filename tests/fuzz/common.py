"""What several fuzz targets share."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from collections.abc import Iterator
from decimal import Decimal

from verifier import _json
from verifier.errors import RequestError, SuiteError
from verifier.testcases import load_suite, suite_digest
from verifier.types import SuiteKind

CASES = [{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]
CALLS = [{"input": "[1, 2]\n3", "output": "3", "testtype": "functional"}]
PRIVATE = base64.b64encode(zlib.compress(pickle.dumps(json.dumps(CASES)))).decode()
MAX_CASES = 1000
MAX_MESSAGE_CHARS = 1000


def pickles() -> list[bytes]:
    """Values of all kinds, in all protocols."""
    values: list[object] = [
        json.dumps(CASES),
        CASES,
        [1, -1, 2**70, 1.5, None, True, b"x", "\xe9", (), (1,), (1, 2, 3), (1, 2, 3, 4), {}, []],
        {"a": {"b": [[]]}},
        [{1}, Decimal(1)],
    ]
    return [pickle.dumps(value, protocol) for value in values for protocol in range(6)]


# What stands where something else should.
ODD = (None, True, -1, 10**400, 1e400, "x", "\ud800", [], {}, [[]], [None])


def broken(value: object) -> Iterator[object]:
    """The value with each of its parts replaced by each of the odd ones."""
    yield from ODD
    if isinstance(value, dict):
        for key, item in value.items():
            for other in broken(item):
                yield {**value, key: other}
            yield {k: v for k, v in value.items() if k != key}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            for other in broken(item):
                yield [*value[:index], other, *value[index + 1 :]]


def load(truth: object, fmt: str) -> None:
    """Read a ground truth, and look at what came out."""
    try:
        suite = load_suite(truth, fmt=fmt, max_cases=MAX_CASES)
    except (SuiteError, RequestError) as error:
        if not error.field or len(str(error)) >= MAX_MESSAGE_CHARS:
            raise AssertionError("an error that names nothing, or too much") from error
        return
    assert 0 < len(suite.cases) <= MAX_CASES
    assert suite.digest == suite_digest(suite)
    for case in suite.cases:
        assert case.weight >= 0
        if suite.kind is SuiteKind.CALL:
            assert isinstance(_json.loads(case.stdin), list)
            _json.loads(case.expected or b"")
