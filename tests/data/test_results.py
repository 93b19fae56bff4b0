"""Result rows: their keys, and that any text and any bytes survive the file."""

from __future__ import annotations

import json

import pytest

from verifier.data import BadRow, Row, bad_row_to_dict, result_of, result_to_dict, to_line
from verifier.types import (
    CaseResult,
    CompileFacts,
    Extraction,
    Outcome,
    Result,
    RunFacts,
    Status,
    Timing,
)

ROW = Row(line=4, id="p\ud800", data_source="s", response="", ground_truth=[])
KEYS = {
    "id", "line", "data_source", "outcome", "score", "passed", "total", "status", "cases",
    "extraction", "compile", "timing", "error", "trust", "scorer", "runner", "cached", "fallback",
    "file", "problem", "difficulty", "flaky",
}  # fmt: skip


def test_a_scored_row_has_everything():
    result = Result(
        Outcome.SCORED,
        score=0.5,
        status=Status.WRONG_ANSWER,
        passed=1,
        total=2,
        cases=(
            CaseResult(0, Status.ACCEPTED, cpu_time_s=0.0123456789, memory_bytes=9),
            CaseResult(1, Status.WRONG_ANSWER, stdout=b"\xff\x00ok", message="line 1", exit_code=0),
        ),
        extraction=Extraction("python", 0, 1, "the only block"),
        compile=CompileFacts(ok=True, facts=RunFacts(cpu_time_s=1.0), cached=True),
        timing=Timing(total_s=3.0),
        runner="fake",
    )
    row = json.loads(to_line(result_to_dict(result, ROW)))
    assert set(row) == KEYS
    assert row["id"] == "p\ud800"
    assert (row["outcome"], row["score"], row["status"]) == ("SCORED", 0.5, "WRONG_ANSWER")
    assert row["cases"][0]["cpu_time_s"] == 0.012346
    assert row["cases"][1]["stdout"] == "\\xff\x00ok"
    assert row["cases"][1]["exit_code"] == 0
    assert row["cases"][1]["signal"] is None
    assert row["extraction"]["reason"] == "the only block"
    assert row["compile"]["cached"] is True
    assert row["timing"]["total_s"] == 3.0


def test_without_a_score_it_is_null_and_the_error_says_why():
    result = Result(Outcome.INFRA_ERROR, error="the slot died")
    row = json.loads(to_line(result_to_dict(result, ROW)))
    assert row["score"] is None
    assert row["status"] is None
    assert row["error"] == "the slot died"


def test_a_bad_row_is_broken_data_with_its_line():
    row = bad_row_to_dict(BadRow(9, "response: missing", "x"))
    assert set(row) == KEYS
    assert (row["id"], row["line"], row["outcome"]) == ("x", 9, "INVALID_SUITE")
    assert row["error"] == "response: missing"


def test_a_line_is_one_line_of_ascii():
    result = Result(Outcome.INVALID_SUITE, error="a\nb\u2028\ud83d")
    line = to_line(result_to_dict(result, ROW))
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert line.isascii()


@pytest.mark.parametrize("error", ["plain", "caf\u00e9 \u2028", "\ud83d"])
@pytest.mark.parametrize("fast", [True, False])
def test_a_line_is_read_as_it_was_written(monkeypatch, error, fast):
    if not fast:
        monkeypatch.setattr("verifier._fast.orjson", None)
    row = result_to_dict(Result(Outcome.INFRA_ERROR, error=error), ROW)
    line = to_line(row)
    assert line.isascii()
    assert result_of(line.encode()) == row
