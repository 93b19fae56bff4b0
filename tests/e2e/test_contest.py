"""The contest set: the same each time it is built; each solution gets what it is meant to get."""

from __future__ import annotations

import collections
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from verifier.testcases import load_suite

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "examples" / "contest" / "build.py"
NEEDS = {"python": "python3", "cpp": "g++", "c": "gcc", "java": "javac", "javascript": "node"}
ACCEPTABLE = "memory_limit,cpu_accounting,process_limit"


def build(folder, hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, BUILD, folder], check=True, env=environment)
    return folder


def rows(path):
    with path.open(encoding="ascii") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build(tmp_path_factory.mktemp("contest"), "1")


def by_problem(folder):
    found = {row["id"]: [] for row in rows(folder / "problems.jsonl")}
    for row in rows(folder / "responses.jsonl"):
        found[row["problem_id"]].append(row)
    return found


def test_it_is_the_same_each_time(folder, tmp_path):
    build(tmp_path, "2")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["problems.jsonl", "responses.jsonl"]
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()


def test_there_is_enough_of_everything(folder):
    problems, found = rows(folder / "problems.jsonl"), by_problem(folder)
    assert len(found) == len(problems) >= 40
    assert {row["extra_info"]["difficulty"] for row in problems} == {"easy", "medium", "hard"}
    made = {
        name: {(row["extra_info"]["kind"], row["extra_info"]["language"]) for row in responses}
        for name, responses in found.items()
    }
    assert not [
        name for name, s in made.items() if not {("right", "python"), ("wrong", "python")} <= s
    ]
    kinds = collections.Counter(solution for each in made.values() for solution in each)
    assert kinds["right", "cpp"] >= 12
    assert min(kinds["right", language] for language in ("c", "java", "javascript")) >= 4
    assert min(kinds["slow", "python"], kinds["leaky", "python"]) >= 7
    assert all(kinds["leaky", language] for language in NEEDS)


def test_every_suite_is_read_and_small(folder):
    checkers = 0
    for row in rows(folder / "problems.jsonl"):
        suite = load_suite(row["reward_model"]["ground_truth"])
        assert 5 <= len(suite.cases) <= 7, row["id"]
        assert len(set(suite.cases)) == len(suite.cases), row["id"]
        assert len(row["reward_model"]["ground_truth"]) < 100_000, row["id"]
        checkers += suite.checker is not None
    assert checkers >= 7


def test_the_cheats_of_calls_work_where_the_judge_shares_their_process(folder):
    def judge(function, arguments, expected):
        return function(*arguments) == expected

    fooled = set()
    for name, responses in by_problem(folder).items():
        tests = json.loads(responses[0]["reward_model"]["ground_truth"])
        for row in responses:
            if row["extra_info"]["kind"] == "leaky" and "fn_name" in tests:
                names = {}
                exec(row["response"].partition("\n")[2].rpartition("```")[0], names)
                arguments = map(json.loads, tests["inputs"][0].split("\n"))
                expected = json.loads(tests["outputs"][0])
                assert judge(names[tests["fn_name"]], arguments, expected), row["id"]
                fooled.add(name)
    assert len(fooled) >= 2


@pytest.mark.namespaces
@pytest.mark.timeout(600)
def test_every_solution_gets_its_verdict(folder, namespaces, tmp_path):
    wanted = {row["id"]: row for row in rows(folder / "responses.jsonl")}
    missing = {language for language, tool in NEEDS.items() if shutil.which(tool) is None}
    kept = [row for row in wanted.values() if row["extra_info"]["language"] not in missing]
    given, results = tmp_path / "responses.jsonl", tmp_path / "results.jsonl"
    given.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="ascii")
    command = [sys.executable, "-m", "verifier", "score", given, "-o", results, "--quiet"]
    subprocess.run([*command, "--accept", ACCEPTABLE], check=True, cwd=ROOT)
    got = rows(results)
    assert [result["id"] for result in got] == [row["id"] for row in kept]
    differ = {}
    for result in got:
        extra = wanted[result["id"]]["extra_info"]
        if (result["outcome"], result["status"]) != ("SCORED", extra["wanted_status"]):
            differ[result["id"]] = (extra["wanted_status"], result["status"], result.get("error"))
        if extra["kind"] == "leaky" and result["passed"]:
            differ[result["id"]] = ("passes no case", result["passed"])
    assert not differ
