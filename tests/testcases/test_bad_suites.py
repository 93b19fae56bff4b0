"""Broken, hostile and huge ground truths: a SuiteError that names the field, nothing else."""

from __future__ import annotations

import base64
import contextlib
import json
import pickle
import pickletools
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.errors import SuiteError
from verifier.testcases import FORMATS, livecodebench, load_suite
from verifier.testcases.codecontests import GROUPS
from verifier.testcases.plain_pickle import plain_loads

BAD: dict[str, tuple[object, str]] = {
    "none": (None, "ground_truth"),
    "number": (5, "ground_truth"),
    "empty text": ("", "ground_truth"),
    "blank text": (" \n", "ground_truth"),
    "not json": ("{", "ground_truth"),
    "prose": ("forty-two", "ground_truth"),
    "not utf-8": (b"\xff", "ground_truth"),
    "json number": ("5", "ground_truth"),
    "json null": ("null", "ground_truth"),
    "json text of prose": ('"abc"', "ground_truth"),
    "empty object": ({}, "ground_truth"),
    "empty list": ([], "ground_truth"),
    "unknown keys": ({"question": 1}, "ground_truth"),
    "deep json": ("[" * 100_000, "ground_truth"),
    "deep json that closes": ("[" * 100_000 + "]" * 100_000, "ground_truth"),
    "no outputs": ({"inputs": ["1"]}, "outputs"),
    "no inputs": ({"outputs": ["1"]}, "inputs"),
    "null inputs": ({"inputs": None, "outputs": None}, "inputs"),
    "no cases": ({"inputs": [], "outputs": []}, "inputs"),
    "lengths": ({"inputs": ["1", "2"], "outputs": ["1"]}, "outputs"),
    "inputs are text": ({"inputs": "1", "outputs": ["1"]}, "inputs"),
    "inputs are an object": ({"inputs": {"a": 1}, "outputs": ["1"]}, "inputs"),
    "null output": ({"inputs": ["1", "2"], "outputs": ["1", None]}, "outputs[1]"),
    "object as input": ({"inputs": [{"a": 1}], "outputs": ["1"]}, "inputs[0]"),
    "object as line": ({"inputs": [["1", {}]], "outputs": ["1"]}, "inputs[0]"),
    "call: input is no json": (
        {"fn_name": "f", "inputs": ["1", "x"], "outputs": ["1", "2"]},
        "inputs[1]",
    ),
    "call: output is no json": (
        {"fn_name": "f", "inputs": ["1", "2"], "outputs": ["1", "[2"]},
        "outputs[1]",
    ),
    "call: null input": ({"fn_name": "f", "inputs": [None], "outputs": [1]}, "inputs[0]"),
    "call: set": ({"fn_name": "f", "inputs": [[{1}]], "outputs": [1]}, "inputs[0]"),
    "call: deep text": (
        {"fn_name": "f", "inputs": ["[" * 10_000 + "]" * 10_000], "outputs": ["1"]},
        "inputs[0]",
    ),
    "call: name": ({"fn_name": "f(", "inputs": ["1"], "outputs": ["1"]}, "fn_name"),
    "call: name is a list": ({"fn_name": ["f"], "inputs": ["1"], "outputs": ["1"]}, "fn_name"),
    "call: checker": (
        {"fn_name": "f", "inputs": ["1"], "outputs": ["1"], "checker": "x"},
        "checker",
    ),
    "checker is a number": ({"inputs": ["1"], "outputs": ["1"], "checker": 5}, "checker"),
    "weights: count": ({"inputs": ["1"], "outputs": ["1"], "weights": [1, 2]}, "weights"),
    "weights: negative": ({"inputs": ["1"], "outputs": ["1"], "weights": [-1]}, "weights[0]"),
    "weights: zero": ({"inputs": ["1"], "outputs": ["1"], "weights": [0]}, "weights"),
    "weights: nan": ({"inputs": ["1"], "outputs": ["1"], "weights": [float("nan")]}, "weights[0]"),
    "asserts: none": ({"assert_case": []}, "assert_case"),
    "asserts: empty": ({"assert_case": ["assert f(1)", ""]}, "assert_case[1]"),
    "asserts: empty text": ({"assert_case": ""}, "assert_case[0]"),
    "asserts: no python": ({"assert_case": ["assert f(1) =="]}, "assert_case[0]"),
    "asserts: numbers": ({"assert_case": [1]}, "assert_case[0]"),
    "asserts: object": ({"assert_case": {"a": 1}}, "assert_case"),
    "asserts: lengths": (
        {"assert_case": ["assert f(1)"], "inputs": ["", ""], "outputs": ["", ""]},
        "inputs",
    ),
    "asserts: nothing is called": ({"assert_case": ["def f():\n    assert 0"]}, "assert_case[0]"),
    "asserts: NUL": ({"assert_case": ["assert f(1)\0"]}, "assert_case[0]"),
    "asserts: deep": ({"assert_case": ["assert " + "-" * 200_000 + "1"]}, "assert_case[0]"),
    "list of both": (["assert f(1)", {"input": "1", "output": "2"}], "ground_truth[0]"),
    "apps: empty": ({"input_output": ""}, "input_output"),
    "apps: broken": ({"input_output": "{"}, "input_output"),
    "apps: list": ({"input_output": "[]"}, "ground_truth"),
    "mbpp: empty": ({"test_list": []}, "test_list"),
    "codecontests: no cases": ({"public_tests": {"input": [], "output": []}}, "public_tests"),
    "codecontests: lengths": (
        {"private_tests": {"input": ["1"], "output": []}},
        "private_tests.output",
    ),
    "codecontests: text": ({"private_tests": {"input": "1", "output": []}}, "private_tests.input"),
    "codecontests: time": (
        {"public_tests": {"input": ["1"], "output": ["1"]}, "time_limit": -1},
        "time_limit",
    ),
    "codecontests: seconds": (
        {"public_tests": {"input": ["1"], "output": ["1"]}, "time_limit": {"seconds": "soon"}},
        "time_limit.seconds",
    ),
    "livecodebench: no cases": ({"public_test_cases": "[]"}, "public_test_cases"),
    "livecodebench: no base64": ({"private_test_cases": "!!"}, "private_test_cases"),
    "livecodebench: no zlib": ({"private_test_cases": "AAAA"}, "private_test_cases"),
    "livecodebench: functional without a name": (
        {"public_test_cases": [{"input": "1", "output": "1", "testtype": "functional"}]},
        "test_cases.fn_name",
    ),
    "livecodebench: kind": (
        {"public_test_cases": [{"input": "1", "output": "1", "testtype": "x"}]},
        "test_cases[0].type",
    ),
    "primeintellect: empty": ({"verification_info": {"test_cases": []}}, "test_cases"),
    "primeintellect: no cases": ({"verification_info": {}}, "test_cases"),
    "primeintellect: no output": ({"test_cases": [{"input": "1"}]}, "test_cases[0].output"),
    "primeintellect: two kinds": (
        {
            "test_cases": [
                {"type": "stdin_stdout", "input": "1", "output": "1"},
                {"type": "function_call", "input": "1", "output": "1"},
            ]
        },
        "test_cases.type",
    ),
    "primeintellect: two functions": (
        {"test_cases": [{"fn_name": n, "input": "1", "output": "1"} for n in "fg"]},
        "test_cases.fn_name",
    ),
    "codeforces: no tests": ({"official_tests": []}, "official_tests"),
    "codeforces: files": (
        {"official_tests": [{"input": "", "output": ""}], "input_mode": "file"},
        "input_mode",
    ),
    "codeforces: interactive": (
        {"official_tests": [{"input": "", "output": ""}], "interaction_format": "Ask."},
        "interaction_format",
    ),
    "humaneval: no name": ({"test": "def check(candidate):\n    pass"}, "entry_point"),
    "humaneval: name": (
        {"test": "def check(candidate):\n    pass", "entry_point": "f; import os"},
        "entry_point",
    ),
    "humaneval: broken": ({"test": "def check(candidate)", "entry_point": "f"}, "test"),
    "humaneval: number": ({"test": 5, "entry_point": "f"}, "test"),
    "pytest: broken": ({"test": "def test_a(:"}, "test"),
}


@pytest.mark.parametrize("name", BAD)
def test_names_the_field(name: str) -> None:
    data, field = BAD[name]
    with pytest.raises(SuiteError) as caught:
        load_suite(data)
    assert caught.value.field == field
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("data", [{}, [], "[]", "{}", "5", "null", 5, None, b"\xff", '"\\ud800"'])
def test_any_format_refuses_what_it_cannot_read(fmt: str, data: object) -> None:
    with pytest.raises(SuiteError):
        load_suite(data, fmt=fmt)


@pytest.mark.parametrize(
    "data",
    [
        {"inputs": ["1"] * 11, "outputs": ["1"] * 11},
        {"fn_name": "f", "inputs": ["1"] * 11, "outputs": ["1"] * 11},
        {"assert_case": ["assert f()"] * 11},
        ["assert f()"] * 11,
        [{"input": "1", "output": "1"}] * 11,
        {"test_cases": [{"input": "1", "output": "1"}] * 11},
        {"test_list": ["assert f()"] * 11},
        {group: {"input": ["1"] * 6, "output": ["1"] * 6} for group in GROUPS},
        {field: [{"input": "1", "output": "1"}] * 6 for field in livecodebench.FIELDS},
        {"official_tests": [{"input": "1", "output": "1"}] * 11},
        "def test_a(): pass\n" + "\n".join(f"def test_{i}(): pass" for i in range(11)),
    ],
)  # fmt: skip
def test_too_many_cases(data: object) -> None:
    with pytest.raises(SuiteError, match="over the limit of 10"):
        load_suite(data, max_cases=10)


def test_a_million_cases_are_refused_at_once() -> None:
    with pytest.raises(SuiteError, match="1000000 cases"):
        load_suite({"inputs": [""] * 1_000_000, "outputs": [""] * 1_000_000})


# -- pickles


def lcb(data: bytes) -> dict[str, object]:
    return {"private_test_cases": base64.b64encode(zlib.compress(data)).decode()}


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (print, ("executed",))


class OldEvil:
    pass


HOSTILE = {
    "reduce": pickle.dumps(Evil()),
    "global": b"cos\nsystem\n.",
    "global and reduce": b"cos\nsystem\n(S'echo executed'\ntR.",
    "stack global": pickle.dumps(OldEvil()),
    "inst": b"(S'echo executed'\nios\nsystem\n.",
    "persistent id": b"Pabc\n.",
    "extension": b"\x82\x01.",
    "set": pickle.dumps({1, 2}),
    "bytearray": pickle.dumps(bytearray(b"x"), 5),
    "huge memo index": b"]r\xff\xff\xff\x7f.",
    "get before put": b"h\x05.",
    "cut off": pickle.dumps("x" * 100)[:-30],
    "no stop": b"]",
    "empty stack": b".",
    "mark on top": b"(.",
    "append to nothing": b"]]ea.",
    "setitems odd": b"}(K\x01u.",
    "unhashable key": b"}]K\x01s.",
    "long string": b"\x8d" + (1 << 60).to_bytes(8, "little") + b".",
    "a million lists": b"]" * 1_000_000,
    "protocol 9": b"\x80\x09]." + b"x",
    "empty": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SuiteError) as caught:
        load_suite(lcb(HOSTILE[name]))
    assert caught.value.field == "private_test_cases"
    assert capsys.readouterr().out == ""


def test_instructions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verifier.testcases.plain_pickle.MAX_INSTRUCTIONS", 10)
    with pytest.raises(ValueError, match="over 10 instructions"):
        plain_loads(b"]" * 100)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("optimized", [False, True])
def test_plain_pickles(protocol: int, optimized: bool) -> None:
    shared = ["x", 1]
    value = {
        "a": [1, -5, 2**40, 2**100, 2.5, None, True, False, "ü", (), (1,), (1, 2), (1, 2, 3, 4)],
        "b": shared,
        "c": shared,
    }
    value["d"] = {str(i): [i] for i in range(300)}  # type: ignore[assignment]
    data = pickle.dumps(value, protocol)
    assert plain_loads(pickletools.optimize(data) if optimized else data) == value


@given(st.binary(max_size=200))
def test_any_bytes_as_pickle(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        plain_loads(data)


def test_bombs_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(livecodebench, "MAX_DECOMPRESSED_BYTES", 10_000)
    with pytest.raises(SuiteError, match="over 10000 bytes when decompressed"):
        load_suite(lcb(b"\0" * 10_000_000))


def test_cut_off_zlib() -> None:
    data = base64.b64encode(zlib.compress(b"x" * 1000)[:-4]).decode()
    with pytest.raises(SuiteError, match="cut off"):
        load_suite({"private_test_cases": data})


def test_pickle_of_prose() -> None:
    with pytest.raises(SuiteError):
        load_suite(lcb(pickle.dumps("hello")))


# -- anything at all

KEYS = st.sampled_from(
    str.split("""
    inputs outputs input output fn_name assert_case test_list test tests test_cases public_tests
    private_tests input_output public_test_cases private_test_cases official_tests verification_info
    entry_point type weights checker ground_truth metadata time_limit
    """)
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["assert f(1)", "[1]", '{"inputs": ["1"]}', "def test_a(): pass"])
    | st.sampled_from(["AAAA", "f", "1\n2"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(VALUES, st.sampled_from(FORMATS), st.sampled_from([None, "f"]))
def test_any_data(data: object, fmt: str, fn_name: str | None) -> None:
    for ground_truth in (data, json.dumps(data)):
        with contextlib.suppress(SuiteError):
            suite = load_suite(ground_truth, fmt=fmt, fn_name=fn_name)
            assert suite.cases
            assert suite.digest


@given(st.binary() | st.text(), st.sampled_from(FORMATS))
def test_any_text(data: bytes | str, fmt: str) -> None:
    with contextlib.suppress(SuiteError):
        load_suite(data, fmt=fmt)
