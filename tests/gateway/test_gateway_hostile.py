"""What must neither crash nor stall the gateway. After each, it still answers."""

from __future__ import annotations

import asyncio
import json

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from verifier.gateway.health import SERVICE
from verifier.v1 import verifier_pb2 as pb

Code = grpc.StatusCode


async def alive(running, request_of):
    answer = await running.stub.Score(request_of("alive"), timeout=60)
    assert answer.outcome == pb.OUTCOME_SCORED


async def test_a_message_of_100_mb_is_refused(serve, request_of):
    running = await serve()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.stub.Score(request_of(response=b"x" * 100_000_000))
    assert caught.value.code() is Code.RESOURCE_EXHAUSTED
    await alive(running, request_of)


async def test_a_message_of_100_mb_in_a_stream_is_refused(serve, request_of):
    running = await serve()
    call = running.stub.ScoreStream()
    await call.write(request_of(response=b"x" * 100_000_000))
    assert await call.code() is Code.RESOURCE_EXHAUSTED
    await alive(running, request_of)


async def test_a_million_cases_are_refused_and_others_are_served_meanwhile(serve, request_of):
    running = await serve()
    column = ["1"] * 1_000_000
    data = json.dumps({"inputs": column, "outputs": column}).encode()
    big = asyncio.ensure_future(running.stub.Score(request_of("big", ground_truth=data)))
    health = health_pb2_grpc.HealthStub(running.channel)
    answered = 0
    while not big.done():
        await health.Check(health_pb2.HealthCheckRequest(service=SERVICE))
        answered += 1
    answer = await big
    assert answer.outcome == pb.OUTCOME_INVALID_SUITE
    assert "100000" in answer.error.replace(",", "").replace("_", "")
    assert answered > 1
    await alive(running, request_of)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"[" * 5_000_000,
        b'{"a":' * 1_000_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"inputs": ["1"], "outputs": [' + b"[" * 50_000 + b"]" * 50_000 + b"]}",
        b'{"inputs": ["1"], "outputs": ["\xff\xfe"]}',
        b'{"inputs": ["\\ud800"], "outputs": ["1"',
        b"\x00" * 1000,
        b'"' * 1_000_000,
        b"\\" * 1_000_000,
    ],
    ids=lambda data: repr(data[:14]) + str(len(data)),
)
async def test_hostile_ground_truths_are_invalid_suites(serve, request_of, data):
    running = await serve()
    answer = await running.stub.Score(request_of(ground_truth=data), timeout=100)
    assert answer.outcome == pb.OUTCOME_INVALID_SUITE
    assert answer.error
    await alive(running, request_of)


async def test_invalid_utf8_in_a_response_is_scored(serve, request_of):
    running = await serve()
    answer = await running.stub.Score(request_of(response=b"\xff\xfe```python\n\x80\n```"))
    assert answer.outcome == pb.OUTCOME_SCORED


async def test_invalid_utf8_in_a_string_field_and_garbage_are_refused(serve, request_of):
    running = await serve()
    raw = running.channel.unary_unary(f"/{SERVICE}/Score")
    for payload in (b"\x0a\x02\xff\xfe", b"\xff" * 1000, b"\x2a\xff\xff\xff\xff\x0f"):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await raw(payload)
        assert caught.value.code() in (Code.INTERNAL, Code.INVALID_ARGUMENT, Code.UNKNOWN)
    await alive(running, request_of)


async def test_an_unknown_method_is_unimplemented(serve, request_of):
    running = await serve()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.channel.unary_unary(f"/{SERVICE}/Nope")(b"")
    assert caught.value.code() is Code.UNIMPLEMENTED


async def test_bytes_that_are_not_http2_do_no_harm(serve, request_of):
    running = await serve()
    host, _, port = running.address.rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET / HTTP/1.1\r\n\r\n" + b"\0" * 10_000)
    writer.close()
    await alive(running, request_of)
