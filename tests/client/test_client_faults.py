"""The field reports of kind "client", each against a scripted server on a real socket.

The ones about a fallback are scoring's. The reports' sources are named where a test stands for one.
"""

from __future__ import annotations

import asyncio
import time

import grpc
import pytest

from verifier.client import AsyncClient, RetryPolicy, ScoreCall
from verifier.errors import (
    BackendError,
    DeadlineError,
    GatewayUnavailableError,
    OverloadedError,
    RequestError,
)
from verifier.types import Outcome

TRUTH = {"inputs": ["2 3\n", "10 -4\n"], "outputs": ["5\n", "6\n"]}
PROGRAM = "```python\na, b = map(int, input().split())\nprint(a + b)\n```"


@pytest.fixture
async def client(server):
    async with AsyncClient(server.address, timeout_s=60) as made:
        yield made


def calls(count, **fields):
    return [ScoreCall(PROGRAM, TRUTH, request_id=f"s{i}", **fields) for i in range(count)]


# ---------------------------------------------------------------- one call


async def test_504_504_ok(server, client, no_sleep):
    """verl sandbox_fusion; PrimeIntellect-ai/prime#405."""
    server.scripted.script = lambda request, attempt: ["504", "504", "ok"]
    result = await client.score(PROGRAM, TRUTH, request_id="a")
    assert (result.score, result.passed, result.total) == (1.0, 2, 2)
    assert server.scripted.attempts["a"] == 3


async def test_read_timeout_then_ok(server, no_sleep):
    """verl-project/verl#3478."""
    server.scripted.script = lambda request, attempt: ["read_timeout", "ok"]
    policy = RetryPolicy(attempt_timeout_s=0.3)
    async with AsyncClient(server.address, timeout_s=60, retry=policy) as client:
        result = await client.score(PROGRAM, TRUTH, request_id="a")
    assert result.score == 1.0
    assert (server.scripted.attempts["a"], server.scripted.stuck) == (2, 1)


async def test_429_with_retry_after_waits_at_least_that(server, client, pauses):
    """rynfar/meridian#901; huggingface/open-r1#546."""
    server.scripted.script = lambda request, attempt: ["429;retry-after=1", "ok"]
    assert (await client.score(PROGRAM, TRUTH, request_id="a")).score == 1.0
    assert server.scripted.attempts["a"] == 2
    assert len(pauses) == 1
    assert 1.0 <= pauses[0] <= 1.1


async def test_a_connection_reset_after_the_headers_is_tried_again(server, client, no_sleep):
    """bytedance/SandboxFusion#67."""
    server.scripted.script = lambda request, attempt: ["reset_after_headers", "ok"]
    assert (await client.score(PROGRAM, TRUTH, request_id="a")).score == 1.0
    assert server.scripted.attempts["a"] == 2
    assert server.proxy.connections == 2


async def test_attempts_are_bounded_and_the_last_error_is_raised(server, client, no_sleep):
    for error in (BackendError("engine gone"), OverloadedError("full", 0.1)):
        server.scripted.attempts.clear()
        server.scripted.script = lambda request, attempt, error=error: error
        with pytest.raises(type(error), match=str(error)):
            await client.score(PROGRAM, TRUTH, request_id="a")
        assert server.scripted.attempts["a"] == 4


async def test_a_call_ends_at_its_deadline(server, client):
    server.scripted.script = lambda request, attempt: "read_timeout"
    with pytest.raises(DeadlineError):
        await client.score(PROGRAM, TRUTH, request_id="a", deadline_s=0.2)
    assert server.scripted.attempts["a"] == 1


async def test_a_message_that_is_too_big_is_not_sent_again(server, client, no_sleep):
    refusal = (grpc.StatusCode.RESOURCE_EXHAUSTED, "Received message larger than max (9 vs. 4)")
    server.scripted.script = lambda request, attempt: refusal
    with pytest.raises(RequestError, match="larger than max"):
        await client.score(PROGRAM, TRUTH, request_id="a")
    assert server.scripted.attempts["a"] == 1


async def test_a_batch_against_a_dead_gateway_comes_back_as_infra_errors(dead_address, no_sleep):
    async with AsyncClient(dead_address, timeout_s=60) as client:
        results = await client.score_many(calls(256))
    assert len(results) == 256
    assert {result.outcome for result in results} == {Outcome.INFRA_ERROR}
    assert all(result.error.startswith("GatewayUnavailableError: ") for result in results)
    assert [result.request_id for result in results] == [f"s{i}" for i in range(256)]


# ---------------------------------------------------------------- a batch


async def test_results_are_in_order_whatever_the_order_of_the_answers(server, client):
    gate = asyncio.Event()

    def script(request, attempt):
        async def wait():
            if request.request_id == "s0":
                await gate.wait()
            elif request.request_id == "s19":
                gate.set()
            return "ok"

        return wait

    server.scripted.script = script
    results = await client.score_many(calls(20))
    assert [result.request_id for result in results] == [f"s{i}" for i in range(20)]
    assert all(result.score == 1.0 for result in results)
    assert server.scripted.streams == 1
    assert await client.score_many([]) == []


async def test_one_stuck_sample_does_not_hold_the_rest(server, client):
    """verl-project/verl#6673; datacurve-ai/deep-swe#1; areal-project/AReaL#548."""
    server.scripted.script = lambda request, attempt: (
        "read_timeout" if request.request_id == "s5" else "ok"
    )
    batch = calls(8)
    batch[5] = ScoreCall(PROGRAM, TRUTH, request_id="s5", deadline_s=0.3)
    results = await client.score_many(batch)
    assert [result.score for result in results] == [1.0] * 5 + [None] + [1.0] * 2
    assert results[5].outcome is Outcome.INFRA_ERROR
    assert results[5].error.startswith("DeadlineError: ")
    # The gateway was told, so that it frees the slot too.
    sent = next(r for r in server.scripted.requests if r.request_id == "s5")
    assert 0.2 < sent.deadline_s < 0.31


async def test_a_stream_that_dies_midway_resends_only_what_is_unfinished(server, client, no_sleep):
    """bytedance/SandboxFusion#67, for a batch: a connection reset halfway."""
    answered, seen = [], set()

    def script(request, attempt):
        seen.add(request.request_id)

        async def reply():
            if request.request_id == "s7" and attempt == 1:
                while len(answered) < 7 or len(seen) < 10:
                    await asyncio.sleep(0)
                return "cut"
            if request.request_id not in ("s7", "s8", "s9") or attempt > 1:
                answered.append(request.request_id)
                return "ok"
            return await asyncio.Event().wait()

        return reply

    server.scripted.script = script
    results = await client.score_many(calls(10))
    assert [result.score for result in results] == [1.0] * 10
    assert server.scripted.streams == 2
    assert server.proxy.connections == 2
    for name in ("s7", "s8", "s9"):
        assert server.scripted.attempts[name] == 2
    # An answer may have been on the wire when it was cut; at least what was read is not sent again.
    assert sum(server.scripted.attempts.values()) <= 20


async def test_a_gateway_that_shuts_down_is_left_for_the_next_try(server, client, no_sleep):
    gone = (grpc.StatusCode.UNAVAILABLE, "the gateway is shutting down")
    server.scripted.script = lambda request, attempt: (
        gone if request.request_id == "s3" and attempt == 1 else "ok"
    )
    results = await client.score_many(calls(6))
    assert all(result.score == 1.0 for result in results)
    assert server.scripted.streams == 2


async def test_a_refusal_of_one_is_tried_again_and_concerns_no_other(server, client, no_sleep):
    def script(request, attempt):
        if request.request_id == "s1":
            return [OverloadedError("full", 0.5), "ok"]
        if request.request_id == "s2":
            return OverloadedError("full", 0.5)
        if request.request_id == "s3":
            return RequestError("limits.cpu_time_s", "too much")
        return "ok"

    server.scripted.script = script
    results = await client.score_many(calls(6))
    assert [result.score for result in results] == [1.0, 1.0, None, None, 1.0, 1.0]
    assert results[2].error.startswith("OverloadedError: full")
    assert results[3].error.startswith("RequestError: limits.cpu_time_s")
    attempts = server.scripted.attempts
    assert [attempts[f"s{i}"] for i in range(6)] == [1, 2, 4, 1, 1, 1]
    assert server.scripted.streams == 1


async def test_a_call_that_cannot_be_sent_concerns_no_other(server, client):
    batch = calls(3)
    batch[1] = ScoreCall(PROGRAM, request_id="s1")
    results = await client.score_many(batch)
    assert [result.score for result in results] == [1.0, None, 1.0]
    assert results[1].error.startswith("RequestError: ground_truth")


async def test_a_call_above_the_gateways_bound_is_held_back(server, client):
    server.scripted.max_message_bytes = 2_000_000
    batch = calls(3)
    batch[1] = ScoreCall("x" * 3_000_000, TRUTH)
    batch[2] = ScoreCall("x" * 1_500_000, TRUTH)
    results = await client.score_many(batch)
    assert [result.score for result in results] == [1.0, None, 1.0]
    assert "put_suite" in results[1].error


async def test_ids_that_are_missing_or_double_are_told_apart(server, client):
    batch = [ScoreCall(PROGRAM, TRUTH, request_id=name) for name in ("", "a", "a", "", "a#2")]
    results = await client.score_many(batch)
    assert [result.request_id for result in results] == ["", "a", "a", "", "a#2"]
    assert len(server.scripted.attempts) == 5
    assert all(result.score == 1.0 for result in results)


async def test_those_in_flight_are_bounded(server):
    async with AsyncClient(server.address, timeout_s=60, max_in_flight=5) as client:
        results = await client.score_many(calls(50))
    assert all(result.score == 1.0 for result in results)
    assert 1 <= server.scripted.most_in_flight <= 5


async def test_a_stream_that_dies_each_time_is_given_up(server, client, no_sleep):
    gone = (grpc.StatusCode.UNAVAILABLE, "gone")
    server.scripted.script = lambda request, attempt: gone
    results = await client.score_many(calls(8))
    assert all(result.error.startswith("GatewayUnavailableError: ") for result in results)
    assert server.scripted.streams == 4


async def test_cancelling_a_batch_ends_its_stream(server, client):
    server.scripted.script = lambda request, attempt: "read_timeout"
    batch = asyncio.ensure_future(client.score_many(calls(4)))
    while server.scripted.stuck < 4:
        await asyncio.sleep(0.01)
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    assert (await client.info()).slots == 3


async def test_the_testing_switch_really_switches(dead_address, no_sleep):
    policy = RetryPolicy(base_s=3600, max_s=3600)
    began = time.monotonic()
    async with AsyncClient(dead_address, timeout_s=None, retry=policy) as client:
        with pytest.raises(GatewayUnavailableError):
            await client.info()
    assert time.monotonic() - began < 60
