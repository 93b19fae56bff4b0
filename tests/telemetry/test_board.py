"""The page's numbers: bounded, and about now."""

from __future__ import annotations

import json

import pytest

from verifier.telemetry.board import (
    EXCERPT_BYTES,
    FAILURES_EACH,
    HISTORY_S,
    MAX_CLIENTS,
    SHOWN_CLIENTS,
    Board,
)
from verifier.telemetry.state import GatewayState
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

ACCEPTED = Result(
    Outcome.SCORED,
    score=1.0,
    status=Status.ACCEPTED,
    passed=2,
    total=2,
    cases=(CaseResult(0, Status.ACCEPTED), CaseResult(1, Status.ACCEPTED)),
    timing=Timing(cpu_time_s=0.5),
)


def crashed(stderr: bytes = b"Traceback\nKeyError: 3\n", **fields) -> Result:
    return Result(
        Outcome.SCORED,
        score=0.5,
        status=Status.RUNTIME_ERROR,
        passed=1,
        total=2,
        cases=(
            CaseResult(0, Status.ACCEPTED),
            CaseResult(1, Status.RUNTIME_ERROR, exit_code=1, stdout=b"o" * 5000, stderr=stderr),
        ),
        extraction=Extraction("python", 0, 1, "the only block"),
        **fields,
    )


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board(clock) -> Board:
    return Board(clock=clock)


def test_numbers_are_of_the_last_minute_and_totals_of_all_time(board, clock):
    board.scored(ACCEPTED, "a", "r", 0.012)
    clock.now += 100
    for _ in range(3):
        board.scored(ACCEPTED, "a", "r", 0.012)
        board.scored(crashed(), "b", "r", 4.0)
        clock.now += 1
    summary = board.summary(GatewayState(ready=True))
    assert summary["state"] == "ready"
    assert summary["window"]["verdicts"] == {"ACCEPTED": 3, "RUNTIME_ERROR": 3}
    assert summary["window"]["responses_per_s"] == pytest.approx(6 / 60)
    assert summary["window"]["cases_per_s"] == pytest.approx(12 / 60)
    assert summary["totals"]["verdicts"] == {"ACCEPTED": 4, "RUNTIME_ERROR": 3}
    assert summary["totals"]["cpu_s"] == 2.0
    assert 10 <= summary["window"]["latency_ms"]["p50"] <= 15
    assert 3000 <= summary["window"]["latency_ms"]["p99"] <= 5000
    json.dumps(summary)


def test_curves_have_a_number_for_every_second(board, clock):
    board.scored(ACCEPTED, "a", "r", 0.01)
    clock.now += 10
    board.scored(ACCEPTED, "a", "r", 0.01)
    board.scored(ACCEPTED, "a", "r", 0.01)
    board.tick(GatewayState(queued=4, slots_busy=2))
    assert board.point()["responses"] == 0  # that second is not over
    clock.now += 1
    history = board.history()
    assert [len(history[name]) for name in ("responses", "cases", "queued", "busy")] == [
        HISTORY_S
    ] * 4
    assert history["responses"][-11:] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    point = board.point()
    assert (point["responses"], point["cases"], point["queued"], point["busy"]) == (2, 4, 4, 2)


def test_a_clock_that_is_set_back_loses_nothing(board, clock):
    board.scored(ACCEPTED, "a", "r", 0.01)
    clock.now -= 50
    board.scored(ACCEPTED, "a", "r", 0.01)
    clock.now += 51
    assert board.history()["responses"][-1] == 2


def test_a_failure_is_kept_with_its_first_bad_case(board):
    board.scored(ACCEPTED, "a", "fine", 0.01)
    board.scored(crashed(), "trainer", "step-7", 0.25)
    (row,) = board.failures()
    assert row["summary"] == "KeyError: 3"
    assert (row["case"], row["passed"], row["total"]) == (1, 1, 2)
    detail = board.failure(row["number"])
    assert detail["stderr"] == "Traceback\nKeyError: 3\n"
    assert len(detail["stdout"]) == EXCERPT_BYTES
    assert detail["latency_ms"] == 250.0
    assert board.failure(999) is None
    # What it is told of later than a number.
    assert board.failures(after=row["number"]) == []
    assert board.last_failure == row["number"]


def test_no_excerpt_is_kept_where_the_operator_wants_none(clock):
    board = Board(excerpts=False, clock=clock)
    board.scored(crashed(b"secret"), "a", "r", 0.1)
    board.scored(Result(Outcome.INFRA_ERROR, error="the slot died"), "a", "r", 0.1)
    fault, crash = (board.failure(row["number"]) for row in board.failures())
    assert "secret" not in json.dumps(crash)
    assert crash["excerpts"] is False
    assert crash["stdout"] == crash["stderr"] == ""
    assert fault["message"] == "the slot died"


def test_a_flood_of_one_verdict_does_not_push_out_another(board):
    board.refused("INFRA_ERROR", "a", "the fault", 1.0, "SlotError: gone")
    for _ in range(5 * FAILURES_EACH):
        board.scored(crashed(), "a", "r", 0.1)
    rows = board.failures()
    assert len(rows) == FAILURES_EACH + 1
    assert rows[-1]["request_id"] == "the fault"
    assert [row["number"] for row in rows] == sorted((r["number"] for r in rows), reverse=True)


def test_clients_are_bounded_and_the_busy_ones_are_shown(board, clock):
    for n in range(MAX_CLIENTS + 50):
        clock.now += 0.001
        board.scored(ACCEPTED, f"client-{n}", "r", 0.01)
    for _ in range(5):
        board.scored(crashed(), "busy", "r", 0.01)
    assert len(board._clients) == MAX_CLIENTS
    clients = board.summary(GatewayState())["clients"]
    assert len(clients) == SHOWN_CLIENTS
    assert clients[0]["client"] == "busy"
    assert (clients[0]["responses"], clients[0]["accepted"]) == (5, 0)
    clock.now += 600
    assert board.summary(GatewayState())["clients"][0]["per_s"] < 0.001


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            "main.cpp: In function:\nmain.cpp:3:5: error: no `x`\n   3 | x\n",
            "main.cpp:3:5: error: no `x`",
        ),
        (
            '  File "main.py", line 1\n    print((\n         ^\nSyntaxError: never closed\n',
            "SyntaxError: never closed",
        ),
        ("\n\n", ""),
    ],
)
def test_a_row_shows_the_line_that_says_most(board, message, line):
    facts = RunFacts(exit_code=1)
    board.scored(
        Result(
            Outcome.SCORED,
            score=0.0,
            status=Status.COMPILE_ERROR,
            cases=(CaseResult(0, Status.COMPILE_ERROR),),
            compile=CompileFacts(ok=False, facts=facts, message=message),
        ),
        "a",
        "r",
        0.1,
    )
    assert board.failures()[0]["summary"] == line
