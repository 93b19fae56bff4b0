"""`verifier score`: files in, files out, and what the exit code says."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

import verifier.cli.score as score_module
from tests.cli.helpers import FakeScorer, invoke, jsonl, plain, scored
from verifier.cli.common import ExitCode
from verifier.cli.scorers import EngineScorer, GatewayScorer, unscored
from verifier.data import parse_row
from verifier.errors import (
    BackendError,
    GuaranteeError,
    LimitError,
    OverloadedError,
    RequestError,
    SuiteError,
    UnimplementedError,
)
from verifier.types import Outcome, Result, Status

CODE = "Sure:\n```python\nprint(2 * int(input()))\n```\n"


def good(name, outputs=("2\n", "4\n"), **extra):
    truth = {"inputs": ["1\n", "2\n"], "outputs": list(outputs)}
    return {"id": name, "data_source": "s", "response": CODE, "ground_truth": truth, **extra}


def results(path):
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


@pytest.fixture
def files(tmp_path):
    return tmp_path / "rows.jsonl", tmp_path / "results.jsonl"


def test_all_rows_scored_is_exit_code_0(files, sandbox):
    rows, out = files
    jsonl(rows, good("right"), good("half", ["2\n", "5\n"], limits={"cpu_time_s": 1}))
    done = invoke("score", rows, "-o", out, "--slots", 2)
    assert done.exit_code == ExitCode.OK, done.output
    right, half = results(out)
    assert (right["id"], right["outcome"], right["score"]) == ("right", "SCORED", 1.0)
    assert (right["status"], right["passed"], right["total"]) == ("ACCEPTED", 2, 2)
    assert [case["status"] for case in half["cases"]] == ["ACCEPTED", "WRONG_ANSWER"]
    assert (half["score"], half["status"]) == (0.5, "WRONG_ANSWER")
    assert half["extraction"]["language"] == "python"
    assert half["runner"] == "fake"
    assert "mean score" in done.stdout
    assert "0.7500" in done.stdout
    assert sandbox.open_slots == 0


def test_bad_rows_are_reported_with_their_line_and_stop_nothing(files, sandbox):
    rows, out = files
    no_cases = good("broken")
    no_cases["ground_truth"] = {"inputs": [], "outputs": []}
    jsonl(rows, good("a"), "{not json", no_cases, good("b", limits={"cpu_time_s": -1}), good("c"))
    done = invoke("score", rows, "-o", out)
    assert done.exit_code == ExitCode.INCOMPLETE
    got = results(out)
    assert [row["outcome"] for row in got] == [
        "SCORED", "INVALID_SUITE", "INVALID_SUITE", "INVALID_SUITE", "SCORED",
    ]  # fmt: skip
    assert [row["line"] for row in got] == [1, 2, 3, 4, 5]
    assert got[3]["id"] == "b"
    assert got[3]["error"].startswith("limits.cpu_time_s: ")
    told = plain(done.stderr)
    assert f"{rows}:2: INVALID_SUITE: not JSON" in told
    assert "(broken): INVALID_SUITE" in told
    assert "bad rows (not readable)" in done.stdout


def test_a_limit_over_the_ceiling_is_a_broken_row_that_names_the_limit(files, sandbox):
    rows, out = files
    jsonl(rows, good("a", limits={"cpu_time_s": 1e9}), good("b", language="brainrot"), good("c"))
    assert invoke("score", rows, "-o", out).exit_code == ExitCode.INCOMPLETE
    over, unknown, fine = results(out)
    assert over["outcome"] == unknown["outcome"] == "INVALID_SUITE"
    assert over["error"].startswith("limits.cpu_time_s")
    assert unknown["error"].startswith("language")
    assert fine["outcome"] == "SCORED"


def test_lone_surrogates_and_odd_bytes_go_through(files, sandbox):
    rows, out = files
    jsonl(rows, {**good("x\ud83d"), "response": "half \ud83d " + CODE})
    done = invoke("score", rows, "-o", out)
    assert done.exit_code == ExitCode.OK, done.output
    assert results(out)[0]["id"] == "x\ud83d"


def test_results_can_go_to_standard_output(files, sandbox):
    rows, _ = files
    jsonl(rows, good("a"))
    done = invoke("score", rows, "-o", "-")
    assert json.loads(done.stdout)["id"] == "a"
    assert "Totals" in done.stderr


def test_the_rows_are_never_overwritten_by_their_results(files, sandbox):
    rows, other = files
    jsonl(rows, good("a"))
    other.symlink_to(rows)
    before = rows.read_bytes()
    for output in (rows, other):
        done = invoke("score", rows, "-o", output)
        assert done.exit_code == ExitCode.USAGE
        assert "would overwrite" in plain(done.stderr)
    assert rows.read_bytes() == before


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (b"\x1f\x8b\x08\x00", "damaged after line 0"),
        (b"\x28\xb5\x2f\xfd", "damaged after line 0"),
        (b"PAR1\x15\x04", "not a whole Parquet file"),
    ],
)
def test_a_file_that_is_damaged_from_the_start_is_wrong_usage(files, sandbox, start, told):
    rows, out = files
    rows.write_bytes(start)
    done = invoke("score", rows, "-o", out)
    assert done.exit_code == ExitCode.USAGE
    assert f"{rows}: {told}" in plain(done.stderr)
    assert not out.exists()


def test_a_gateway_without_a_port_is_wrong_usage(files):
    rows, out = files
    jsonl(rows, good("a"))
    done = invoke("score", rows, "-o", out, "--server", "gateway")
    assert done.exit_code == ExitCode.USAGE
    assert "neither HOST:PORT nor unix:PATH" in plain(done.stderr)


def test_an_empty_file_has_empty_results(files, sandbox):
    rows, out = files
    jsonl(rows)
    assert invoke("score", rows, "-o", out).exit_code == ExitCode.OK
    assert out.read_text() == ""


def test_progress_is_plain_lines_off_a_terminal(files, sandbox):
    rows, out = files
    jsonl(rows, *(good(str(n)) for n in range(30)))
    done = invoke("score", rows, "-o", out)
    lines = [line for line in done.stderr.splitlines() if "/30 rows" in line]
    assert len(lines) == 10
    assert lines[-1].startswith("30/30 rows, mean score 1.000, 0 without a score, ")
    assert "cases/s, p95 " in lines[-1]
    assert "\x1b" not in done.stderr


def test_a_file_that_cannot_be_written_is_wrong_usage(files, sandbox, tmp_path):
    rows, _ = files
    jsonl(rows, good("a"))
    done = invoke("score", rows, "-o", tmp_path / "absent" / "results.jsonl")
    assert done.exit_code == ExitCode.USAGE
    assert "cannot write" in plain(done.stderr)
    assert sandbox.open_slots == 0


def test_the_options_reach_the_sandbox(files, sandbox):
    rows, out = files
    jsonl(rows, good("a"))
    invoke("score", rows, "-o", out, "--backend", "docker", "--image", "i:1", "--accept", "seccomp")
    backend, options = sandbox.asked[0]
    assert backend == "docker"
    assert options["image"] == "i:1"
    assert set(options["accept"]) == {"seccomp"}


def test_a_missing_guarantee_is_exit_code_3(files, sandbox, monkeypatch):
    async def refuse():
        raise GuaranteeError("memory_limit: no cgroup", ("memory_limit",))

    monkeypatch.setattr(sandbox, "start", refuse)
    rows, out = files
    jsonl(rows, good("a"))
    done = invoke("score", rows, "-o", out)
    assert done.exit_code == ExitCode.UNAVAILABLE
    assert "--accept memory_limit" in plain(done.stderr)
    assert not out.exists()


def test_no_gateway_is_exit_code_3_and_says_how_to_start_one(files):
    from verifier.client import no_retry_sleep

    rows, out = files
    jsonl(rows, good("a"))
    with no_retry_sleep():
        done = invoke("score", rows, "-o", out, "--server", f"unix:{rows.parent}/absent.sock")
    assert done.exit_code == ExitCode.UNAVAILABLE
    assert "verifier serve --grpc" in plain(done.stderr)


def test_only_the_first_reasons_are_printed(files, monkeypatch):
    rows, out = files
    jsonl(rows, *["broken"] * 30)
    scorer = FakeScorer(lambda _: scored())

    async def open_scorer(*_args, **_options):
        return scorer

    monkeypatch.setattr(score_module, "open_scorer", open_scorer)
    done = invoke("score", rows, "-o", out)
    assert done.exit_code == ExitCode.INCOMPLETE
    assert done.stderr.count("INVALID_SUITE: not JSON") == 20
    assert "and 10 more" in done.stderr
    assert scorer.closed


@pytest.mark.parametrize(
    ("error", "outcome", "told"),
    [
        (SuiteError("outputs", "one less than inputs"), Outcome.INVALID_SUITE, "outputs: one less"),
        (LimitError("limits.memory_bytes", "over"), Outcome.INVALID_SUITE, "limits.memory_bytes"),
        (RequestError("language", "unknown"), Outcome.INVALID_SUITE, "language: unknown"),
        (UnimplementedError("checkers"), Outcome.INFRA_ERROR, "not implemented: checkers"),
        (OverloadedError("the queue is full"), Outcome.INFRA_ERROR, "the queue is full"),
        (BackendError("no engine"), Outcome.INFRA_ERROR, "no engine"),
    ],
)
def test_every_error_is_a_result_without_a_score(error, outcome, told):
    result = unscored(error)
    assert (result.outcome, result.score) == (outcome, None)
    assert result.error.startswith(told)


async def test_the_engine_is_asked_with_what_the_row_says():
    asked = []

    class Engine:
        async def score(self, task):
            asked.append(task)
            return Result(Outcome.SCORED, score=1.0, status=Status.ACCEPTED)

    raw = json.dumps(good("a", language="py", limits={"memory_mb": 64})).encode()
    await EngineScorer(Engine()).score(parse_row(raw, 5))
    (task,) = asked
    assert task.response == CODE
    assert task.language == "py"
    assert task.limits.memory_bytes == 64 * 1024 * 1024
    assert task.request_id == "5"
    assert len(task.suite.cases) == 2


class FakeClient:
    """Records calls; refuses what it is told to."""

    def __init__(self, error=None):
        self.error = error
        self.calls = []
        self.suites = []

    async def score(self, response, ground_truth=None, **options):
        if self.error is not None:
            raise self.error
        self.calls.append((response, ground_truth, options))
        return scored()

    async def put_suite(self, ground_truth, **options):
        self.suites.append(ground_truth)
        return "digest"


def gateway(client, max_message_bytes=1_000_000):
    return GatewayScorer(client, SimpleNamespace(slots=3, max_message_bytes=max_message_bytes))


async def test_a_gateway_gets_the_row_as_it_is():
    client = FakeClient()
    raw = json.dumps({**good("x\ud83d", language="py"), "data_source": "d\ud83d"}).encode()
    row = parse_row(raw, 7)
    scorer = gateway(client)
    assert scorer.slots == 3
    assert (await scorer.score(row)).score == 1.0
    ((response, truth, options),) = client.calls
    assert response == CODE
    assert json.loads(truth) == row.ground_truth
    assert options["request_id"] == "7"
    assert options["language"] == "py"
    options["data_source"].encode()  # what the row had no wire could carry


async def test_a_suite_that_fits_no_message_is_uploaded_first():
    client = FakeClient()
    row = parse_row(json.dumps(good("a")).encode(), 1)
    await gateway(client, max_message_bytes=10).score(row)
    assert json.loads(client.suites[0]) == row.ground_truth
    ((_, truth, options),) = client.calls
    assert truth is None
    assert options["suite_digest"] == "digest"


async def test_a_row_that_the_gateway_refuses_is_a_result():
    row = parse_row(json.dumps(good("a")).encode(), 1)
    refused = await gateway(FakeClient(LimitError("limits.cpu_time_s", "over"))).score(row)
    assert (refused.outcome, refused.error) == (Outcome.INVALID_SUITE, "limits.cpu_time_s: over")
    lost = await gateway(FakeClient(OverloadedError("full"))).score(row)
    assert lost.outcome is Outcome.INFRA_ERROR
