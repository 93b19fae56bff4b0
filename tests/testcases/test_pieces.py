"""A ground truth in pieces is read as the whole one is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier import _json
from verifier.errors import SuiteError
from verifier.testcases import Pieces, load_suite

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places})
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


def read(data: bytes, places: list[int]) -> object:
    try:
        return Pieces(cut(data, places)).loads()
    except ValueError:
        return ValueError


def whole(data: bytes) -> object:
    try:
        return _json.loads(data)
    except ValueError:
        return ValueError


@given(VALUES, st.sampled_from([None, 1]), st.booleans(), st.lists(st.integers(0)))
def test_any_value_cut_anywhere(value, indent, ascii_only, places):
    data = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")
    assert read(data, places) == whole(data)


@given(
    VALUES, st.integers(0), st.sampled_from(list('{}[],:" 0e-.\\x\xff')), st.lists(st.integers(0))
)
def test_a_broken_one_is_broken_in_pieces_too(value, at, put, places):
    data = bytearray(json.dumps(value), "ascii")
    data[at % len(data)] = ord(put)
    assert read(bytes(data), places) == whole(bytes(data))


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_numbers_at_the_end_of_a_piece_go_on(size):
    data = ("[" + ",".join(["-12.5e+3", "9" * 5000, "true", "NaN", "-Infinity"]) + "]").encode()
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    assert repr(Pieces(pieces).loads()) == repr(_json.loads(data))


TRUTHS = {
    "prime": {"inputs": ["1\n", "2\n", "é\n"], "outputs": ["1\n", "4\n", "9\n"]},
    "checker": {"inputs": ["1"], "outputs": [None], "checker": "def check(a, b, c): return True"},
    "calls": {"inputs": [[1, 2], [3, 4]], "outputs": [3, 7], "fn_name": "add"},
    "nested": {"reward_model": {"ground_truth": '{"inputs": ["1"], "outputs": ["1"]}'}},
    "asserts": ["assert f(1) == 1", "assert f(2) == 2"],
    "text of text": json.dumps({"inputs": ["a"], "outputs": ["b"]}),
}


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_the_suite_is_the_same(truth, size):
    data = json.dumps(truth).encode()
    pieces = Pieces([data[i : i + size] for i in range(0, len(data), size)])
    assert load_suite(pieces) == load_suite(data) == load_suite(truth)
    assert pieces.data == []


def test_a_source_is_no_json():
    source = b"def test_it():\n    assert f(1) == 1\n"
    assert load_suite(Pieces([source[:9], source[9:]])) == load_suite(source)
    kept = load_suite(Pieces([source[:9], source[9:]]), fmt="assert")
    assert kept == load_suite(source, fmt="assert")


@pytest.mark.parametrize(
    ("pieces", "problem"),
    [
        ([b'{"inputs": ["1"', b', "outputs"}'], "not JSON: "),
        ([b'{"inputs": ["\xff"], "outputs": []}'], "not UTF-8"),
        ([b'{"inputs": ["1"], "outputs": ["1"]}', b" 7"], "not JSON: Extra data (char 36)"),
        ([b" ", b"\n"], "empty"),
        ([b"[" * 100_000], "nested too deeply"),
    ],
)
def test_a_defect_is_named(pieces, problem):
    with pytest.raises(SuiteError, match="ground_truth") as caught:
        load_suite(Pieces(pieces))
    assert problem in str(caught.value)


def test_a_value_of_the_callers_is_left_alone():
    truth = {"inputs": ["1", "2"], "outputs": ["1", "4"]}
    before = json.dumps(truth)
    load_suite(truth)
    assert json.dumps(truth) == before
