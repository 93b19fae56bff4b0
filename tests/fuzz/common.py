"""What several fuzz targets share."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
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
