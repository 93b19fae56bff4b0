"""How many calls may be open: over that, a refusal that says when to come back."""

from __future__ import annotations

import asyncio
import contextlib

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from verifier.types import Outcome, Result
from verifier.v1 import verifier_pb2 as pb


async def test_too_many_open_calls_are_refused_and_probes_are_not(serve, request_of):
    running = await serve(max_queue=1)
    streams = []
    for number in range(2 * 1 + 64):
        stream = running.stub.ScoreStream()
        await stream.write(request_of(str(number)))
        assert (await stream.read()).score == 1.0
        streams.append(stream)
    with pytest.raises(grpc.aio.AioRpcError, match="66 calls are open") as caught:
        await running.stub.Score(request_of())
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    retry = error_details_pb2.RetryInfo()
    assert any(detail.Unpack(retry) for detail in rpc_status.from_call(caught.value).details)
    health = health_pb2_grpc.HealthStub(running.channel)
    assert (await health.Check(health_pb2.HealthCheckRequest())).status == 1
    await streams[0].done_writing()
    assert await streams[0].code() is grpc.StatusCode.OK
    assert (await running.stub.Score(request_of())).score == 1.0
    for stream in streams:
        stream.cancel()


async def test_a_call_without_a_message_is_refused(serve):
    running = await serve()
    call = running.channel.stream_unary("/verifier.v1.Verifier/Score")
    with pytest.raises(grpc.aio.AioRpcError, match="message: missing") as caught:
        await call(iter(()))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_full_queue_refuses_before_anything_of_the_message_came(serve, request_of):
    running = await serve(max_queue=1)
    leave = asyncio.Event()

    async def wait(task):
        await leave.wait()
        return Result(Outcome.INFRA_ERROR, error="x")

    running.engine.on_score = wait
    first = asyncio.ensure_future(running.stub.Score(request_of()))
    await running.engine.entered.wait()
    for method in ("Score", "Run", "PutSuite"):
        call = running.channel.stream_unary(f"/verifier.v1.Verifier/{method}")()  # sends nothing
        assert await call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        retry = error_details_pb2.RetryInfo()
        assert any(
            detail.Unpack(retry) for detail in (await rpc_status.aio.from_call(call)).details
        )
    # What is no request is answered, and one of a stream is refused in it.
    assert (await running.stub.GetInfo(pb.GetInfoRequest())).version
    stream = running.stub.ScoreStream()
    await stream.write(request_of("a"))
    answer = await stream.read()
    assert (answer.request_id, answer.error_code) == (
        "a",
        grpc.StatusCode.RESOURCE_EXHAUSTED.value[0],
    )
    stream.cancel()
    leave.set()
    await first


async def test_probes_have_a_bound_of_their_own(serve, request_of, monkeypatch):
    from verifier.gateway import calls

    monkeypatch.setattr(calls, "_MAX_PROBES", 3)
    running = await serve()
    health = health_pb2_grpc.HealthStub(running.channel)
    watching = [health.Watch(health_pb2.HealthCheckRequest()) for _ in range(3)]
    for watch in watching:
        assert (await watch.read()).status == 1
    with pytest.raises(grpc.aio.AioRpcError, match="3 calls are open"):
        await health.Check(health_pb2.HealthCheckRequest())
    assert (await running.stub.Score(request_of())).score == 1.0
    for watch in watching:
        watch.cancel()
    served = None
    while served is None:  # until the gateway has heard of it
        with contextlib.suppress(grpc.aio.AioRpcError):
            served = await health.Check(health_pb2.HealthCheckRequest())
    assert served.status == 1
