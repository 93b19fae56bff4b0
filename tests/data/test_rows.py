"""Rows: what is read, what is refused with which reason, and that nothing in a file raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verifier.data import BadRow, Row, parse_row, read_rows
from verifier.types import LimitOverrides

GOOD = {"id": "a", "data_source": "s", "response": "r", "ground_truth": {"inputs": ["1"]}}


def parsed(**changes):
    data = {**GOOD, **changes}
    return parse_row(json.dumps(data).encode(), 7)


def without(name):
    return parse_row(json.dumps({k: v for k, v in GOOD.items() if k != name}).encode(), 7)


def test_a_full_row():
    row = parsed(
        language="c++",
        limits={"cpu_time_s": 2, "wall_time_s": 5.5, "memory_mb": 256, "output_bytes": 1000},
        extra_info={"index": 3},
    )
    assert row == Row(
        line=7,
        id="a",
        data_source="s",
        response="r",
        ground_truth={"inputs": ["1"]},
        language="c++",
        limits=LimitOverrides(
            cpu_time_s=2.0, wall_time_s=5.5, memory_bytes=256 * 1024**2, output_bytes=1000
        ),
        extra_info={"index": 3},
        problem="a",
    )


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ({"id": "p1/0"}, "p1"),
        ({"id": "HumanEval/7/12"}, "HumanEval/7"),
        ({"id": "a/b"}, "a/b"),
        ({"id": "/3"}, "/3"),
        ({"id": "x", "problem_id": "p"}, "p"),
        ({"id": "x", "problem_id": 7}, "7"),
    ],
)
def test_samples_of_a_problem_have_it_in_common(extra, problem):
    assert parsed(**extra).problem == problem


def test_optional_fields_may_be_absent_or_null():
    plain = parsed()
    assert isinstance(plain, Row)
    assert parsed(language=None, limits=None, extra_info=None) == plain
    assert parsed(limits={"memory_mb": None}) == plain


def test_an_integer_id_becomes_text():
    assert parsed(id=12).id == "12"


def test_the_ground_truth_is_not_looked_into():
    for truth in ("not json", [], {}, 5, False):
        assert parsed(ground_truth=truth).ground_truth == truth


def test_lone_surrogates_survive():
    row = parse_row(b'{"id":"a","data_source":"s","response":"x\\ud800y","ground_truth":[]}', 1)
    assert row.response == "x\ud800y"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"response": None}, "response: must be a string, not null"),
        ({"response": ["a"]}, "response: must be a string, not a list"),
        ({"id": None}, "id: must be a string or an integer, not null"),
        ({"id": True}, "id: must be a string or an integer, not a boolean"),
        ({"data_source": 3}, "data_source: must be a string, not a number"),
        ({"language": {}}, "language: must be a string, not an object"),
        ({"ground_truth": None}, "ground_truth: null"),
        ({"extra_info": "x"}, "extra_info: must be an object, not a string"),
        ({"limits": []}, "limits: must be an object, not a list"),
        ({"limits": {"cpu_time": 1}}, "limits.cpu_time: unknown; did you mean 'cpu_time_s'?"),
        ({"limits": {"zzz": 1}}, "limits.zzz: unknown; known: cpu_time_s,"),
        ({"limits": {"cpu_time_s": 0}}, "limits.cpu_time_s: must be positive and finite, not 0"),
        ({"limits": {"cpu_time_s": -1.5}}, "limits.cpu_time_s: must be positive and finite"),
        ({"limits": {"cpu_time_s": "2"}}, "limits.cpu_time_s: must be a number, not a string"),
        ({"limits": {"cpu_time_s": True}}, "limits.cpu_time_s: must be a number, not a boolean"),
        ({"limits": {"memory_mb": float("nan")}}, "limits.memory_mb: must be positive and finite"),
        ({"limits": {"memory_mb": float("inf")}}, "limits.memory_mb: must be positive and finite"),
        ({"limits": {"memory_mb": 1e-9}}, "limits.memory_mb: must be a whole number"),
        ({"limits": {"processes": 1.5}}, "limits.processes: must be a whole number"),
        ({"limits": {"memory_mb": 1e308}}, "limits.memory_mb: too large"),
        ({"limits": {"cpu_time_s": 10**400}}, "limits.cpu_time_s: too large"),
    ],
)
def test_a_wrong_field_is_named(changes, reason):
    bad = parsed(**changes)
    assert isinstance(bad, BadRow)
    assert bad.line == 7
    assert bad.reason.startswith(reason)


@pytest.mark.parametrize("name", ["id", "data_source", "response", "ground_truth"])
def test_a_missing_field_is_named(name):
    assert without(name).reason == f"{name}: missing"


def test_a_misspelled_field_is_guessed():
    raw = json.dumps({"id": "a", "data_source": "s", "responses": "r", "ground_truth": []}).encode()
    bad = parse_row(raw, 1)
    assert bad == BadRow(1, "response: missing; did you mean the row's 'responses'?", "a")


def test_a_bad_row_keeps_its_id_where_it_could_be_read():
    assert parsed(response=1).id == "a"
    assert without("id").id is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"{", "not JSON: "),
        (b"[1]", "a row is a JSON object, this is a list"),
        (b'"x"', "a row is a JSON object, this is a string"),
        (b'{"id": "\xff"}', "not UTF-8: byte 9 of the line"),
        (b"[" * 200_000, "not JSON: nested too deeply"),
        (b'{"id": ' + b"9" * 5000 + b"}", "not JSON: "),
    ],
)
def test_what_is_no_row_says_why(raw, reason):
    bad = parse_row(raw, 3)
    assert isinstance(bad, BadRow)
    assert bad.reason.startswith(reason)


def test_a_file_goes_on_after_bad_lines(tmp_path):
    path = tmp_path / "rows.jsonl"
    good = json.dumps(GOOD).encode()
    path.write_bytes(b"\xef\xbb\xbf" + good + b"\r\nbroken\n\n   \n" + good)
    rows = list(read_rows(path))
    assert [type(row) for row in rows] == [Row, BadRow, Row]
    assert [row.line for row in rows] == [1, 2, 5]


# A loaded machine draws slowly; that says nothing about the reader.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@CALM
@given(st.binary(max_size=200))
def test_no_bytes_raise(raw):
    parse_row(raw, 1)


VALUES = st.sampled_from(
    [None, True, 0, -1, 2, 1.5, float("nan"), float("inf"), 10**400, "", "x", [], [1], {}]
    + [{"cpu_time_s": v} for v in (None, True, 0, 1, -1.0, float("nan"), 10**400, "1", [])]
    + [{"memory_mb": v} for v in (1, 0.25, 1e308, 1e-300, "x")]
)


@CALM
@given(st.dictionaries(st.sampled_from([*GOOD, "limits", "language", "extra_info"]), VALUES))
def test_no_object_raises(data):
    assert isinstance(parse_row(json.dumps(data).encode(), 1), (Row, BadRow))
