"""The examples: that they are what they say, and that scoring says what they expect."""

from __future__ import annotations

import asyncio
import collections
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from verifier.cli.doctor import examine
from verifier.cli.pipeline import score_rows
from verifier.cli.scorers import EngineScorer, open_engine
from verifier.data import Row, read_rows
from verifier.extraction import extract
from verifier.testcases import load_suite
from verifier.types import Outcome, Status

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ROWS = list(read_rows(EXAMPLES / "responses.jsonl"))
PROBLEMS = [
    json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((EXAMPLES / "problems").glob("*/problem.json"))
]


def test_the_rows_are_what_build_writes():
    subprocess.run([sys.executable, EXAMPLES / "build.py", "--check"], check=True)


def test_every_row_can_be_read_and_has_an_id_of_its_own():
    assert all(isinstance(row, Row) for row in ROWS)
    assert len({row.id for row in ROWS}) == len(ROWS) >= 40


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem["id"])
def test_every_problem_has_a_statement_and_cases(problem):
    assert problem["statement"]
    assert problem["limits"]["cpu_time_s"] <= 2
    assert 5 <= len(load_suite(problem["tests"]).cases) <= 12
    solved = [row for row in ROWS if row.extra_info["problem"] == problem["id"]]
    assert any(row.extra_info["expected_status"] == "ACCEPTED" for row in solved)


def test_there_is_some_of_everything():
    assert len(PROBLEMS) >= 12
    kinds = collections.Counter(row.extra_info["expected_status"] for row in ROWS)
    assert set(kinds) == {status.value for status in Status} - {"SKIPPED"}
    partly = [
        row
        for row in ROWS
        if 0 < row.extra_info["expected_passed"] < row.extra_info["expected_total"]
    ]
    assert len(partly) >= 10


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_program_is_found_wherever_one_is(row):
    suite = load_suite(row.ground_truth)
    found = extract(row.response, language=row.language, entry_point=suite.fn_name)
    has_code = row.extra_info["expected_status"] != "NO_CODE"
    assert (found.program is not None) == has_code
    if found.program is not None:
        assert found.program.language == ("cpp" if row.id.endswith("-cpp") else "python")


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("namespaces", marks=pytest.mark.namespaces),
        pytest.param("docker", marks=pytest.mark.docker),
    ],
)
def test_scoring_says_what_the_examples_expect(backend):
    got, missing = asyncio.run(score_examples(backend))
    assert len(got) == len(ROWS)
    differ = {}
    for scored in got:
        wanted, result = scored.row.extra_info, scored.result
        if wanted["expected_status"] == "MEMORY_LIMIT" and "memory_limit" in missing:
            continue
        expected = (Outcome.SCORED, wanted["expected_status"], wanted["expected_passed"])
        answer = (result.outcome, result.status and result.status.value, result.passed)
        if answer != expected:
            differ[scored.row.id] = (expected, answer, result.error)
    assert not differ


async def score_examples(backend):
    found = await examine(backend)
    if found.problem:
        required = os.environ.get(f"VERIFIER_REQUIRE_{backend.upper()}") == "1"
        (pytest.fail if required else pytest.skip)(f"{backend}: {found.problem}")
    scorer = EngineScorer(await open_engine(backend, accept=frozenset(found.missing)))
    got = []
    try:
        await score_rows(ROWS, scorer, got.append)
    finally:
        await scorer.close()
    return got, found.missing
