"""What a client and a probe see while the backend is down."""

from __future__ import annotations

import asyncio

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.gateway.test_gateway_lifecycle import NOT_SERVING, SERVING, http_get
from verifier.client.retry import Backoff, RetryPolicy
from verifier.errors import BackendDownError
from verifier.wire.status import error_from_code, error_from_status


async def seen(channel, status):
    """Watch until health says so."""
    stub = health_pb2_grpc.HealthStub(channel)
    async for answer in stub.Watch(health_pb2.HealthCheckRequest(service="")):
        if answer.status == status:
            return


async def test_a_backend_that_is_down_is_not_serving_and_says_why(serve):
    running = await serve(http="127.0.0.1:0")
    breaker = running.engine.breaker
    breaker.failed("the Docker engine is gone")
    await seen(running.channel, NOT_SERVING)
    code, body = await http_get(running.http, "/readyz")
    assert (code, b"the Docker engine is gone" in body) == (503, True)
    assert (await http_get(running.http, "/healthz"))[0] == 200  # nobody should restart the gateway
    while not breaker.probe():
        await asyncio.sleep(breaker.wait_s())
    breaker.probed()
    await seen(running.channel, SERVING)
    assert (await http_get(running.http, "/readyz"))[0] == 200


async def test_a_refusal_while_it_is_down_says_when_to_come_back(serve, request_of):
    running = await serve()

    def down(task):
        raise BackendDownError("no engine", 2.5)

    running.engine.on_score = down
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await running.stub.Score(request_of())
    refused = caught.value
    assert refused.code() is grpc.StatusCode.UNAVAILABLE
    error = error_from_status(refused.code(), refused.details(), refused.trailing_metadata())
    assert isinstance(error, BackendDownError)
    assert error.retry_after_s == 2.5
    assert Backoff(RetryPolicy(), rng=lambda: 0.0).wait_s(1, error) == 2.5


async def test_so_does_one_in_a_stream(serve, request_of):
    running = await serve()

    def down(task):
        raise BackendDownError("no engine", 2.5)

    running.engine.on_score = down
    call = running.stub.ScoreStream()
    await call.write(request_of("a"))
    answer = await call.read()
    error = error_from_code(answer.error_code, answer.error, answer.retry_after_s)
    assert (answer.request_id, error.retry_after_s) == ("a", 2.5)
    await call.done_writing()
