"""A long queue of one client, and another that goes first."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator

import grpc.aio

from benchmarks.bench.gateways import Gateway
from benchmarks.bench.lab import Lab, warm
from benchmarks.bench.values import Check, NotMeasuredError, Row, Series, number, percentile
from benchmarks.bench.work import ONE_CASE, distinct, fenced
from verifier.client import AsyncClient
from verifier.types import Result
from verifier.v1 import verifier_pb2 as pb
from verifier.v1 import verifier_pb2_grpc as rpc

MB = 1e6
QUEUE_MB, QUEUE_CASES = 100.0, 10.0
CASE_CPU_S = 0.02
BURN = f"""import time
while time.process_time() < {CASE_CPU_S}:
    pass
print(sum(map(int, input().split())))
"""
PROSE = "The input has two numbers, and their sum is asked for. " * 36 + "\n"  # 2 kB
NOTE = (
    f"each queued response has {len(PROSE):,} bytes of prose and one case of {CASE_CPU_S} s CPU; "
    "so has each priority request, which another client sends one after the other; the time of a "
    "running case is the median wall time of theirs"
)
HEAVY_QUEUE = {"max_queue": 30_000, "stream_in_flight": 30_000}
PRIORITY = 10


async def queue(lab: Lab) -> list[Row]:
    """A long queue of one client, and requests of another that go first."""
    count = lab.options.sizes.queued
    try:
        gateway = lab.fresh_gateway(lab.options.backends[0], **HEAVY_QUEUE)
        async with gateway, AsyncClient(gateway.target, client_id="first") as client:
            await warm(client)
            series, facts = await _queued(gateway, client, count, lab.options.sizes.asked)
        grown = (float(str(facts["queued_bytes"])) - float(str(facts["idle_bytes"]))) / MB
        waited = series[2].median / series[0].median
        checks: tuple[Check, ...] = (
            Check("memory", f"{number(grown)} MB over idle", grown <= QUEUE_MB),
            Check("priority p99", f"{number(waited)} running cases", waited <= QUEUE_CASES),
        )
    except NotMeasuredError as reason:
        series, facts, checks = (), {}, (Check("", "", None, str(reason)),)
    return [
        Row(
            key="queue",
            work=f"{count:,} queued responses",
            target=f"<= {QUEUE_MB:g} MB over idle; p99 of a priority request <= "
            f"{QUEUE_CASES:g} running cases",
            checks=checks,
            series=series,
            notes=(NOTE,),
            facts=facts,
        )
    ]


async def _queued(
    gateway: Gateway, client: AsyncClient, count: int, asked: int
) -> tuple[tuple[Series, ...], dict[str, object]]:
    """Times of a case and of the priority requests, and the gateway's memory."""
    idle = gateway.rss_bytes()
    sent = asyncio.Event()

    async def requests() -> AsyncIterator[pb.ScoreRequest]:
        truth = json.dumps(ONE_CASE).encode()
        for index in range(count):
            yield pb.ScoreRequest(
                request_id=str(index),
                client_id="second",
                response=(PROSE + fenced(distinct(BURN))).encode(),
                ground_truth=truth,
                no_cache=True,
            )
        # The iterator is asked for more once the last one is written.
        sent.set()
        await asyncio.Event().wait()

    async with grpc.aio.insecure_channel(gateway.target) as channel:
        stream = rpc.VerifierStub(channel).ScoreStream(requests())
        answered = 0

        async def read() -> None:
            nonlocal answered
            async for message in stream:
                assert not message.error_code, message.error
                answered += 1

        reader = asyncio.create_task(read())
        try:
            waiting = asyncio.create_task(sent.wait())
            await asyncio.wait((waiting, reader), return_when=asyncio.FIRST_COMPLETED)
            if reader.done():
                reader.result()
            queued, left = gateway.rss_bytes(), count - answered
            results = [await _asked(client) for _ in range(asked)]
            still = count - answered
        finally:
            stream.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            waiting.cancel()
    facts: dict[str, object] = {
        "idle_bytes": idle,
        "queued_bytes": queued,
        "peak_bytes": gateway.peak_bytes(),
        "queued_then": left,
        "queued_at_the_end": still,
    }
    ms = [took * 1000 for took, _ in results]
    running = statistics.median(result.cases[0].wall_time_s for _, result in results)
    return (
        Series("a running case", "ms", (running * 1000,)),
        Series("priority requests", "ms", tuple(ms)),
        Series("priority requests, p99", "ms", (percentile(ms, 99),)),
    ), facts


async def _asked(client: AsyncClient) -> tuple[float, Result]:
    """Seconds of one priority request, and its result."""
    start = time.perf_counter()
    result = await client.score(
        PROSE + fenced(distinct(BURN)), ONE_CASE, priority=PRIORITY, no_cache=True
    )
    took = time.perf_counter() - start
    assert result.score == 1.0, result
    return took, result
