"""Calls that end early on a real sandbox: the program is killed, its slot is free for the next."""

from __future__ import annotations

import asyncio
import uuid

import grpc
import grpc.aio
import psutil
import pytest

from verifier.engine import Engine
from verifier.v1 import verifier_pb2 as pb
from verifier.v1 import verifier_pb2_grpc as rpc

pytestmark = pytest.mark.timeout(120)

# Far above what it takes (benchmarks/cancellation.py measures that): it says "at all".
AT_ALL_S = 60


def endless(name):
    """A program that gives itself a name which can be seen from outside."""
    return f"import ctypes\nctypes.CDLL(None).prctl(15, b{name!r})\nwhile True: pass".encode()


def names():
    return {process.info["name"] for process in psutil.process_iter(["name"])}


async def runs(name):
    """Wait until a process of this name is there."""
    while name not in names():
        await asyncio.sleep(0.01)


async def gone(name):
    """Wait until there is none."""
    while name in names():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("how", ["cancel", "deadline", "stream", "client"])
async def test_what_nobody_waits_for_is_killed(serve, request_of, namespaces, how):
    sandbox = namespaces()
    engine = Engine(sandbox, slots=1, pin_slots=False, accept=frozenset(sandbox.accepted))
    running = await serve(engine=engine)
    name = "e" + uuid.uuid4().hex[:14]
    program = endless(name)
    response = b"```python\n" + program + b"\n```"
    if how == "cancel":
        call = running.stub.Run(pb.RunRequest(source=pb.Source(language="python", source=program)))
        await asyncio.wait_for(runs(name), AT_ALL_S)
        call.cancel()
    elif how == "deadline":
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await running.stub.Score(request_of(response=response), timeout=2.0)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    else:
        channel = grpc.aio.insecure_channel(
            running.address, options=(("grpc.use_local_subchannel_pool", 1),)
        )
        call = rpc.VerifierStub(channel).ScoreStream()
        await call.write(request_of(response=response))
        await asyncio.wait_for(runs(name), AT_ALL_S)
        if how == "stream":
            call.cancel()
        await channel.close()
    # The only slot is free for the next one.
    answer = await running.stub.Score(request_of("next"), timeout=AT_ALL_S)
    assert answer.score == 1.0
    await asyncio.wait_for(gone(name), AT_ALL_S)
    assert running.gateway._admission.requests == 0


async def test_the_deadline_counts_while_a_request_waits_in_line(serve, request_of):
    running = await serve()
    times = []

    async def wait(task):
        times.append(task.deadline_s)
        await asyncio.Event().wait()

    running.engine.on_score = wait
    for request in (request_of(), request_of(deadline_s=500)):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await running.stub.Score(request, timeout=0.2)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    call = running.stub.ScoreStream(timeout=0.2)
    await call.write(request_of())
    assert await call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert all(0 < left < 1 for left in times)  # not the 500 that the request has
    while running.engine.running:
        await asyncio.sleep(0)
    assert running.engine.cancelled == len(times)
    assert running.gateway._admission.requests == 0
