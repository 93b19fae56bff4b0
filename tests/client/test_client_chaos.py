"""Three gateways that come, go, refuse and hang by a seed: every answer once, and right."""

from __future__ import annotations

import asyncio
import random

import grpc
import pytest

from verifier.client import AsyncClient, RetryPolicy, ScoreCall
from verifier.errors import OverloadedError, SlotError
from verifier.v1 import verifier_pb2 as pb

TRUTH = {"inputs": ["1"], "outputs": ["1"]}
BIG = {"inputs": ["x" * 300_000], "outputs": ["y"]}
BATCH, SINGLE = 200, 40
# Nothing may be given up here: what is tested is that nothing is lost on the way.
POLICY = RetryPolicy(max_attempts=1000, base_s=0.001, max_s=0.01, budget=100_000)


def score_of(request_id):
    return int(request_id[1:]) % 7 / 7


def right(request):
    return pb.ScoreResponse(
        request_id=request.request_id,
        outcome=pb.OUTCOME_SCORED,
        score=score_of(request.request_id),
    )


def moody(rng):
    """Mostly right answers, in another order; sometimes a refusal, or the stream's end."""

    def script(request, attempt):
        draw = rng.random()
        if draw < 0.02:
            return grpc.StatusCode.UNAVAILABLE, "going"
        if draw < 0.05:
            return SlotError("slot died")
        if draw < 0.10:
            return OverloadedError("full", 0.001)

        async def later():
            for _ in range(rng.randrange(5)):
                await asyncio.sleep(0)
            return right(request)

        return later

    return script


async def disturb(servers, rng, over):
    """One gateway after the other goes and comes back; never all of them for good."""
    while not over.is_set():
        victim = rng.choice(servers)
        if rng.random() < 0.5:
            victim.proxy.cut()
        else:
            victim.proxy.refuse()
            await asyncio.sleep(rng.random() * 0.02)
            await victim.proxy.listen()
        await asyncio.sleep(rng.random() * 0.02)


@pytest.mark.parametrize("hedge_after_s", [None, 0.005])
@pytest.mark.parametrize("seed", range(3))
async def test_every_answer_once_and_right(servers, seed, hedge_after_s):
    rng = random.Random(seed)
    three = await servers(3)
    over = asyncio.Event()
    for server in three:
        server.scripted.script = moody(rng)
    chaos = asyncio.create_task(disturb(three, rng, over))
    client = AsyncClient(
        [server.address for server in three],
        timeout_s=60,
        retry=POLICY,
        hedge_after_s=hedge_after_s,
        max_in_flight=64,
    )
    async with client:
        calls = [
            ScoreCall("r", BIG if i % 10 == 0 else TRUTH, request_id=f"s{i}") for i in range(BATCH)
        ]
        results = await client.score_many(calls)
        counts = client.counts()
        singles = await asyncio.gather(
            *(client.score("r", TRUTH, request_id=f"s{i}") for i in range(SINGLE))
        )
        over.set()
        await chaos
        pool = client._calls._loops.here().pool
        assert {gateway.in_flight for gateway in pool.gateways} == {0}
    assert [result.request_id for result in results] == [f"s{i}" for i in range(BATCH)]
    assert [result.error for result in results if result.score is None] == []
    assert [result.score for result in results] == [score_of(f"s{i}") for i in range(BATCH)]
    assert counts.answered == BATCH
    assert [result.score for result in singles] == [score_of(f"s{i}") for i in range(SINGLE)]
