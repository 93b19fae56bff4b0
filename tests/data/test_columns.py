"""Objects as data sets have them become rows."""

from __future__ import annotations

import json

import pytest

from verifier.data import BadRow, Columns, Record, Row, load_adapter, parse_columns
from verifier.errors import ConfigError, DataError

TRUTH = {"inputs": ["1"], "outputs": ["1"]}


def rows(data, columns=None, adapter=None):
    record = Record("f.jsonl", 3, json.dumps(data).encode() + b"\n")
    return list(Columns(columns, adapter, "stem").rows(record))


def only(data, **options):
    (row,) = rows(data, **options)
    assert isinstance(row, Row), row
    return row


def test_a_row_of_ours_is_taken_as_it_is():
    data = {"id": "a", "data_source": "s", "response": "r", "ground_truth": TRUTH}
    row = only({**data, "output": "not the response", "source": "not it"})
    assert (row.id, row.data_source, row.response, row.file, row.line) == (
        "a", "s", "r", "f.jsonl", 3,
    )  # fmt: skip


def test_a_row_of_a_verl_training_file_with_a_generation():
    row = only(
        {
            "data_source": "codecontests",
            "prompt": [{"role": "user", "content": "..."}],
            "reward_model": {"style": "rule", "ground_truth": json.dumps(TRUTH)},
            "extra_info": {"index": 17, "split": "train"},
            "output": "r",
        }
    )
    assert (row.id, row.response, row.ground_truth) == ("17", "r", json.dumps(TRUTH))
    assert row.extra_info["split"] == "train"


def test_a_verl_row_without_any_id_has_its_place():
    assert only({"reward_model": {"ground_truth": "[]"}, "response": "r"}).id == "f.jsonl:3"


def test_what_is_expected_is_no_response():
    row = only({"id": "a", "response": "r", "inputs": ["1"], "outputs": ["2"]})
    assert row.response == "r"
    assert (row.ground_truth["inputs"], row.ground_truth["outputs"]) == (["1"], ["2"])
    (bad,) = rows({"id": "a", "inputs": ["1"], "outputs": ["2"]})
    assert bad.reason == "response: missing"


def test_objects_on_the_way_may_be_json_text():
    row = only({"id": "a", "response": "r", "reward_model": json.dumps({"ground_truth": TRUTH})})
    assert row.ground_truth == TRUTH


def test_samples_are_rows_of_one_problem():
    found = rows({"task_id": "p", "completions": ["r0", "r1"], "ground_truth": TRUTH})
    assert [(r.id, r.problem, r.response) for r in found] == [
        ("p/0", "p", "r0"), ("p/1", "p", "r1"),
    ]  # fmt: skip


@pytest.mark.parametrize("given", [[], "r", {"a": 1}])
def test_samples_that_are_none(given):
    (bad,) = rows({"id": "p", "responses": given, "ground_truth": TRUTH})
    assert isinstance(bad, BadRow)
    assert "responses: must be a list" in bad.reason


def test_the_object_itself_may_have_the_shape_of_a_format():
    row = only(
        {"task_id": "p", "completion": "r", "public_tests": {"input": ["1"], "output": ["1"]}}
    )
    assert row.ground_truth["public_tests"] == {"input": ["1"], "output": ["1"]}
    assert "completion" not in row.ground_truth
    assert row.data_source == "stem"


def test_a_named_column_goes_before_what_is_usual():
    data = {"id": "a", "response": "no", "mine": {"text": "yes"}, "ground_truth": TRUTH}
    assert only(data, columns=parse_columns(["response=mine.text"])).response == "yes"


@pytest.mark.parametrize("given", ["response", "=a", "response=", "respons=a"])
def test_a_column_that_is_not_one(given):
    with pytest.raises(ConfigError, match="FIELD=COLUMN"):
        parse_columns([given])


def test_what_is_missing_is_named():
    (bad,) = rows({"id": "a", "ground_truth": TRUTH})
    assert bad == BadRow(3, "response: missing", "a", "f.jsonl")
    (bad,) = rows({"id": "a", "reponse": "r", "ground_truth": TRUTH})
    assert "did you mean the row's 'reponse'" in bad.reason


def test_a_file_of_another_schema_is_refused_before_it_is_read():
    with pytest.raises(DataError, match=r"no column of responses.*columns are prompt, answer"):
        Columns().check(("prompt", "answer"))
    Columns({"response": "answer"}).check(("prompt", "answer"))
    with pytest.raises(DataError, match=r"response=text\.a: there is no such column"):
        Columns({"response": "text.a"}).check(("prompt", "response"))


def three(data):
    return {"none": None, "one": {**data, "id": "x"}, "two": [data, data]}[data["want"]]


@pytest.mark.parametrize(("want", "count"), [("none", 0), ("one", 1), ("two", 2)])
def test_a_function_makes_as_many_rows_as_it_likes(want, count):
    data = {"id": "a", "data_source": "s", "response": "r", "ground_truth": TRUTH, "want": want}
    assert len(rows(data, adapter=three)) == count


def test_what_a_function_raises_is_the_rows_defect():
    (bad,) = rows({"want": "four"}, adapter=three)
    assert bad.reason == "adapter: KeyError: 'four'"
    (bad,) = rows({"want": ""}, adapter=lambda _: 7)
    assert "must give an object" in bad.reason


def test_a_function_by_its_name(tmp_path):
    assert load_adapter("json:dumps") is json.dumps
    file = tmp_path / "mine.py"
    file.write_text("def rows(data):\n    return data\n")
    assert load_adapter(f"{file}:rows")({"a": 1}) == {"a": 1}
    for name in ("json", "json:absent", "absent_module:fn"):
        with pytest.raises(ConfigError):
            load_adapter(name)
