"""Start, health, HTTP, draining, signals."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from verifier.config import Settings
from verifier.errors import BackendError, ConfigError
from verifier.gateway import Gateway
from verifier.gateway.health import SERVICE
from verifier.types import Outcome, Result
from verifier.v1 import verifier_pb2_grpc as rpc

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def health(channel, service=SERVICE):
    stub = health_pb2_grpc.HealthStub(channel)
    answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), wait_for_ready=True)
    return answer.status


async def http_get(address, path):
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2]


async def test_health_and_reflection_are_served(serve):
    running = await serve()
    assert await health(running.channel, "") == SERVING
    assert await health(running.channel) == SERVING
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await health(running.channel, "nope")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    stub = reflection_pb2_grpc.ServerReflectionStub(running.channel)
    call = stub.ServerReflectionInfo()
    await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
    answer = await call.read()
    names = {service.name for service in answer.list_services_response.service}
    assert {SERVICE, "grpc.health.v1.Health"} <= names
    await call.done_writing()


async def test_http_says_healthy_and_ready(serve):
    running = await serve(http="127.0.0.1:0")
    assert await http_get(running.http, "/healthz") == (200, b"ok\n")
    assert await http_get(running.http, "/readyz") == (200, b'{"ready":true}')
    assert (await http_get(running.http, "/etc/passwd"))[0] == 404


async def test_while_the_engine_warms_up_nothing_is_accepted(serve, request_of, unused_engine):
    warm = asyncio.Event()
    unused_engine.on_start = warm.wait
    gateway = Gateway(unused_engine, Settings(grpc="127.0.0.1:0", http="127.0.0.1:0"))
    starting = asyncio.ensure_future(gateway.start())
    try:
        while gateway.bound is None:
            await asyncio.sleep(0)
        async with grpc.aio.insecure_channel(gateway.bound.grpc) as channel:
            assert await health(channel) == NOT_SERVING
            assert (await http_get(gateway.bound.http, "/healthz"))[0] == 200
            assert (await http_get(gateway.bound.http, "/readyz"))[0] == 503
            with pytest.raises(grpc.aio.AioRpcError, match="starting"):
                await rpc.VerifierStub(channel).Score(request_of())
            warm.set()
            await starting
            assert await health(channel) == SERVING
            assert (await rpc.VerifierStub(channel).Score(request_of())).score == 1.0
    finally:
        warm.set()
        await gateway.stop(0)


async def test_an_engine_that_cannot_start_frees_everything(unused_engine):
    async def fail():
        raise BackendError("no slots")

    unused_engine.on_start = fail
    gateway = Gateway(unused_engine, Settings(grpc="127.0.0.1:0", http="127.0.0.1:0"))
    with pytest.raises(BackendError):
        await gateway.start()
    assert unused_engine.closed
    with pytest.raises(ConnectionRefusedError):
        await http_get(gateway.bound.http, "/healthz")


async def test_a_port_in_use_is_a_clear_error(serve, unused_engine):
    running = await serve(http="127.0.0.1:0")
    for settings in (
        Settings(grpc=running.address),
        Settings(grpc="127.0.0.1:0", http=running.http),
    ):
        with pytest.raises(ConfigError, match="cannot listen"):
            await Gateway(unused_engine, settings).start()


async def test_unix_sockets_work(tmp_path, unused_engine, request_of):
    gateway = Gateway(unused_engine, Settings(grpc=f"unix:{tmp_path}/s"))
    bound = await gateway.start()
    async with grpc.aio.insecure_channel(bound.grpc) as channel:
        assert (await rpc.VerifierStub(channel).Score(request_of())).score == 1.0
    await gateway.stop(0)


async def test_draining_refuses_new_work_and_finishes_the_old(serve, request_of):
    running = await serve(http="127.0.0.1:0")
    gate = asyncio.Event()

    async def wait(task):
        await gate.wait()
        return Result(Outcome.SCORED, score=0.25, request_id=task.request_id)

    running.engine.on_score = wait
    unary = asyncio.ensure_future(running.stub.Score(request_of("unary")))
    stream = running.stub.ScoreStream()
    await stream.write(request_of("streamed"))
    watch = health_pb2_grpc.HealthStub(running.channel).Watch(
        health_pb2.HealthCheckRequest(service=SERVICE)
    )
    assert (await watch.read()).status == SERVING
    while running.engine.running < 2:
        running.engine.entered.clear()
        await running.engine.entered.wait()
    stopping = asyncio.ensure_future(running.gateway.stop(60))
    assert (await watch.read()).status == NOT_SERVING
    assert (await http_get(running.http, "/readyz"))[0] == 503
    with pytest.raises(grpc.aio.AioRpcError, match="shutting down") as caught:
        await running.stub.Score(request_of("late"))
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    await stream.write(request_of("late"))
    late = await stream.read()
    assert (late.request_id, late.error_code) == ("late", grpc.StatusCode.UNAVAILABLE.value[0])
    gate.set()
    assert (await unary).score == 0.25
    assert (await stream.read()).score == 0.25
    await stopping
    assert running.engine.closed
    assert running.engine.cancelled == 0


async def test_an_idle_stream_does_not_hold_the_shutdown(serve, request_of):
    running = await serve()
    stream = running.stub.ScoreStream()
    await stream.write(request_of("a"))
    assert (await stream.read()).score == 1.0
    await running.gateway.stop(60)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stream.read()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("how", ["no grace", "hurry"])
async def test_work_that_does_not_end_is_killed(serve, request_of, how):
    running = await serve()

    async def hang(task):
        await asyncio.Event().wait()

    running.engine.on_score = hang
    unary = asyncio.ensure_future(running.stub.Score(request_of()))
    stream = running.stub.ScoreStream()
    await stream.write(request_of("a"))
    while running.engine.running < 2:
        running.engine.entered.clear()
        await running.engine.entered.wait()
    if how == "hurry":
        stopping = asyncio.ensure_future(running.gateway.stop(1000))
        await running.gateway._admission.draining.wait()
        running.gateway.hurry()
        await stopping
    else:
        await running.gateway.stop(0)
    assert running.engine.cancelled == 2
    with pytest.raises(grpc.aio.AioRpcError):
        await unary


SCRIPT = textwrap.dedent("""
    import asyncio, sys
    from verifier.config import Settings
    from verifier.gateway import serve
    sys.path.insert(0, sys.argv[1])
    from conftest import StubEngine

    async def main():
        engine = StubEngine()
        async def hang(task):
            print("working", flush=True)
            await asyncio.Event().wait()
        engine.on_score = hang
        await serve(Settings(grpc="127.0.0.1:0", http="127.0.0.1:0"), engine=engine)
        print("closed", engine.closed, "cancelled", engine.cancelled, flush=True)

    asyncio.run(main())
""")


@pytest.fixture
def process():
    here = str(Path(__file__).parent)
    started = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, here],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    yield started
    started.kill()
    started.communicate()


def test_a_signal_drains_and_ends_the_process(process):
    line = process.stdout.readline()
    assert line.startswith("grpc listening on 127.0.0.1:")
    assert not line.strip().endswith(":0")
    assert process.stdout.readline().startswith("http listening on 127.0.0.1:")
    process.send_signal(signal.SIGTERM)
    rest, errors = process.communicate(timeout=60)
    assert "draining" in rest
    assert "closed True cancelled 0" in rest
    assert (process.returncode, errors) == (0, "")


def test_a_second_signal_stops_now(process, request_of):
    address = process.stdout.readline().split()[-1]
    process.stdout.readline()
    with grpc.insecure_channel(address) as channel:
        call = rpc.VerifierStub(channel).Score.future(request_of())
        assert process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline().startswith("draining")
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
        assert "stopping now" in rest
        assert "closed True cancelled 1" in rest
        with pytest.raises(grpc.RpcError):
            call.result(timeout=60)
    assert process.returncode == 0


async def test_stopping_twice_is_fine(serve):
    running = await serve()
    await running.gateway.stop(0)
    await running.gateway.stop(10)
    assert running.engine.closed
