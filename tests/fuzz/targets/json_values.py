"""JSON values: what a call returned, and what it should have."""

from __future__ import annotations

import contextlib
import itertools
from unittest import mock

from verifier import _fast
from verifier.errors import SuiteError
from verifier.judging import COMPARATORS, compare, judge
from verifier.limits import MAX_LIMITS
from verifier.types import Case, Comparator, RunFacts, Suite, SuiteKind

SPLIT = b"\xfe\xfd"
TOLERANCES = ((1e-6, 1e-6), (0.0, 0.0), (0.5, 0.0), (0.0, 0.5))
WORDS = (
    b'[ ] { } , : "a" "ok" "value" true false null NaN Infinity -0 1.0 1e400 0.50000001 \xfe\xfd'
    b' "kind" "raised" "unserializable" "no_entry_point" "error" \\ud800'
).split()


def target(data: bytes) -> None:
    options, (got, _, wanted) = data[:2].ljust(2, b"\0"), data[2:].partition(SPLIT)
    name = COMPARATORS[options[0] % len(COMPARATORS)]
    tolerances = TOLERANCES[options[1] % len(TOLERANCES)]
    match = compare(got, wanted, Comparator("json", *tolerances))
    with mock.patch.object(_fast, "LARGE_BYTES", 1):
        assert compare(got, wanted, Comparator("json", *tolerances)) == match
    for kind in (SuiteKind.CALL, SuiteKind.ASSERT):
        suite = Suite(kind, (Case(expected=wanted, test="pass"),), fn_name="f")
        for returned in (got, b'{"ok": true, "value": ' + got + b"}"):
            facts = RunFacts(exit_code=0, returned=returned)
            with contextlib.suppress(SuiteError):
                judge(suite, 0, facts, MAX_LIMITS, Comparator(name, *tolerances))


def seeds() -> list[bytes]:
    texts = [
        b'{"a": [1, 2.0, null], "b": {"c": true}}',
        b"[[1, 2], [3.00000001, 4]]",
        b"1" * 4100,
        b"[NaN, Infinity, -0, 1e400]",
        b'"x"',
        b'{"ok": false, "kind": "raised", "error": "x"}',
    ]
    return [
        bytes([n % len(COMPARATORS), n]) + a + SPLIT + b
        for n, (a, b) in enumerate(itertools.product(texts, texts))
    ]
