"""The gateway over the real engine, with a sandbox that runs nothing."""

from __future__ import annotations

import asyncio

import pytest

from verifier.client import AsyncClient, ScoreCall
from verifier.engine import Engine
from verifier.errors import DeadlineError, LimitError
from verifier.testing import FakeSandbox
from verifier.types import Killer, LimitOverrides, Outcome, RunFacts, Status

PROGRAM = "Sure:\n```python\nprint(input())\n```\n"
ECHO = {"inputs": ["1\n", "2\n", "3\n"], "outputs": ["1\n", "2\n", "3\n"]}


@pytest.fixture
async def over(serve):
    clients = []

    async def start(sandbox, **settings):
        running = await serve(engine=Engine(sandbox, slots=2), **settings)
        clients.append(AsyncClient(running.address))
        return clients[-1]

    yield start
    for client in clients:
        await client.close()


async def test_a_right_program_and_a_wrong_suite(over):
    client = await over(FakeSandbox())
    result = await client.score(PROGRAM, ECHO, request_id="x")
    assert (result.outcome, result.score, result.status) == (Outcome.SCORED, 1.0, Status.ACCEPTED)
    assert (result.passed, result.total, result.request_id) == (3, 3, "x")
    assert [case.stdout for case in result.cases] == [b"1\n", b"2\n", b"3\n"]
    assert result.extraction.language == "python"
    assert result.runner == "fake"
    half = await client.score(PROGRAM, {"inputs": ["1", "2"], "outputs": ["1", "9"]})
    assert (half.score, half.status) == (0.5, Status.WRONG_ANSWER)
    broken = await client.score(PROGRAM, {"inputs": ["1"], "outputs": []})
    assert (broken.outcome, broken.score) == (Outcome.INVALID_SUITE, None)
    assert "outputs" in broken.error
    no_code = await client.score("I do not know.", ECHO)
    assert (no_code.outcome, no_code.score, no_code.status) == (
        Outcome.SCORED,
        0.0,
        Status.NO_CODE,
    )


async def test_a_group_over_one_stream(over):
    client = await over(FakeSandbox())
    calls = [ScoreCall(PROGRAM, ECHO, request_id=str(i)) for i in range(64)]
    calls[7] = ScoreCall(PROGRAM, "nonsense", request_id="7")
    results = await client.score_many(calls)
    assert [result.request_id for result in results] == [str(i) for i in range(64)]
    assert results[7].outcome is Outcome.INVALID_SUITE
    assert all(result.score == 1.0 for i, result in enumerate(results) if i != 7)


async def test_one_fault_is_healed_and_two_are_no_score(over):
    client = await over(FakeSandbox(fail_runs=[1]))
    assert (await client.score(PROGRAM, ECHO)).score == 1.0
    client = await over(FakeSandbox(fail_runs=range(1, 100)))
    result = await client.score(PROGRAM, ECHO)
    assert (result.outcome, result.score) == (Outcome.INFRA_ERROR, None)
    assert result.error


async def test_a_stuck_program_is_killed_at_the_deadline_of_its_call(over):
    sandbox = FakeSandbox(hang_runs={1: asyncio.Event()})
    client = await over(sandbox)
    with pytest.raises(DeadlineError):
        await client.score(PROGRAM, ECHO, deadline_s=0.3)
    assert (await client.score(PROGRAM, ECHO)).score == 1.0
    assert sandbox.killed == 1


async def test_limits_are_held_and_refused(over):
    sandbox = FakeSandbox(lambda job, data: RunFacts(signal=9, killer=Killer.CPU))
    client = await over(sandbox)
    result = await client.score(PROGRAM, ECHO, limits=LimitOverrides(cpu_time_s=2.0))
    assert (result.status, result.score) == (Status.TIME_LIMIT, 0.0)
    assert sandbox.runs[0][0].limits.cpu_time_s == 2.0
    assert sandbox.runs[0][0].limits.wall_time_s == 5.0
    with pytest.raises(LimitError) as caught:
        await client.score(PROGRAM, ECHO, limits=LimitOverrides(wall_time_s=float("nan")))
    assert caught.value.field == "limits.wall_time_s"


async def test_run_and_info(over):
    client = await over(FakeSandbox(), max_cases=77)
    outcome = await client.run("print(input())", language="python", stdin="hello")
    assert (outcome.status, outcome.facts.stdout) == (Status.ACCEPTED, b"hello")
    info = await client.info()
    assert (info.backend, info.slots, info.max_cases) == ("fake", 2, 77)
    assert all(guarantee.holds for guarantee in info.guarantees)


async def test_a_suite_by_digest(over):
    client = await over(FakeSandbox())
    digest = await client.put_suite(ECHO)
    assert (await client.score(PROGRAM, suite_digest=digest)).score == 1.0
