"""A ground truth in any format, as bytes, as text, or decoded."""

from __future__ import annotations

import contextlib
import itertools
import json

from tests.fuzz.common import CALLS, CASES, PRIVATE, broken, load
from verifier import _json
from verifier.testcases import FORMATS

WORDS = (
    b'"inputs" "outputs" "input" "output" "fn_name" "assert_case" "test_list" "test"'
    b' "tests" "test_cases" "public_tests" "private_tests" "input_output"'
    b' "public_test_cases" "private_test_cases" "type" "official_tests"'
    b' "verification_info" "entry_point" "weights" "groups" "checker" "interactor"'
    b' "ground_truth" "metadata" "time_limit" "memory_limit" "source" "style" "args"'
    b' "files" "limits" [ ] { } , : null true -1 1e999 "f" "1\\n" [1] assert def import'
    b' \\ud800 "stdin" "function_call"'
).split()


def target(data: bytes) -> None:
    options, raw = data[:2].ljust(2, b"\0"), data[2:]
    truth: object = raw
    if options[1] % 3 == 1:
        truth = raw.decode("utf-8", "surrogateescape")
    elif options[1] % 3 == 2:
        with contextlib.suppress(ValueError):
            truth = _json.loads(raw)
    load(truth, FORMATS[options[0] % len(FORMATS)])


def seeds() -> list[bytes]:
    checker = "def check(i, o, a): return 1"
    truths: list[tuple[str, object]] = [
        ("auto", {"inputs": ["1\n"], "outputs": ["1\n"], "weights": [2.5]}),
        ("prime", {"inputs": ["[1]\n2"], "outputs": ["3"], "fn_name": "f"}),
        ("prime", {"assert_case": ["assert f(1) == 2"], "inputs": [""], "outputs": [""]}),
        ("prime", {"inputs": [["1", 2]], "outputs": [3.5], "checker": checker}),
        (
            "prime",
            {
                "inputs": ["1"],
                "outputs": ["1"],
                "checker": {
                    "source": checker,
                    "language": "python",
                    "style": "function",
                    "limits": {"cpu_time_s": 2},
                    "files": {"a.h": "x"},
                },
                "interactor": {"source": "x", "style": "kattis", "args": ["1"]},
            },
        ),
        ("apps", {"input_output": json.dumps({"inputs": [[1]], "outputs": [[2]], "fn_name": "f"})}),
        ("taco", {"inputs": [[[1]]], "outputs": [[3]], "fn_name": "f", "time_limit": "2 seconds"}),
        (
            "codecontests",
            {
                "public_tests": {"input": ["1"], "output": ["2"]},
                "private_tests": [{"input": "1", "output": "2"}],
                "time_limit": {"seconds": 2, "nanos": 5},
                "memory_limit_bytes": 256000000,
            },
        ),
        (
            "livecodebench",
            {
                "public_test_cases": json.dumps(CALLS),
                "private_test_cases": "",
                "metadata": json.dumps({"func_name": "f"}),
            },
        ),
        ("livecodebench", {"public_test_cases": "[]", "private_test_cases": PRIVATE}),
        ("primeintellect", {"verification_info": json.dumps({"test_cases": CASES})}),
        ("synthetic1", {"test_cases": [{"type": "function_call", "fn_name": "f", **CALLS[0]}]}),
        (
            "humaneval",
            {"test": "def check(candidate):\n    assert candidate(1) == 2", "entry_point": "f"},
        ),
        ("mbpp", {"test_list": ["assert f(1) == 2"], "test_imports": ["import math"]}),
        ("acecode", ["assert f(1) == 2", "assert f(2) == 3"]),
        ("kodcode", "from solution import f as g\n\ndef test_a():\n    assert g(1) == 2\n"),
        ("assert", {"assert_case": "assert f(1) == 2"}),
        (
            "codeforces",
            {
                "official_tests": CASES,
                "time_limit": 2.0,
                "memory_limit": 256,
                "generated_checker": "print(1)",
                "interaction_format": "",
            },
        ),
        ("auto", {"reward_model": {"ground_truth": json.dumps({"tests": CASES})}}),
    ]
    modes = itertools.cycle(range(3))
    whole = [_seed(fmt, next(modes), truth) for fmt, truth in truths]
    parts = [_seed(fmt, 2, other) for fmt, truth in truths for other in broken(truth)]
    return [*whole, *parts]


def _seed(fmt: str, mode: int, truth: object) -> bytes:
    text = truth if isinstance(truth, str) else json.dumps(truth)
    return bytes([FORMATS.index(fmt), mode]) + text.encode("utf-8", "surrogatepass")
