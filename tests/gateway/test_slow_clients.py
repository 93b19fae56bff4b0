"""Clients that take nothing, or send half: what they hold is counted, bounded, and given back."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from tests.gateway.http2_client import Http2Client
from verifier.config import Settings
from verifier.gateway import Gateway
from verifier.gateway.writing import hang_up
from verifier.types import CaseResult, Outcome, Result, RunFacts, RunOutcome, Status
from verifier.v1 import verifier_pb2 as pb
from verifier.v1 import verifier_pb2_grpc as rpc

EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
LATE = grpc.StatusCode.DEADLINE_EXCEEDED.value[0]
# Over HTTP/2's first window of 64 KB.
BIG = 60_000


@pytest.fixture
async def connect():
    clients = []

    async def to(address):
        clients.append(await Http2Client.connect(address))
        return clients[-1]

    yield to
    for client in clients:
        client.close()


def big_answer(task):
    cases = tuple(
        CaseResult(index=i, status=Status.WRONG_ANSWER, exit_code=0, stdout=b"x" * BIG)
        for i in range(4)
    )
    return Result(Outcome.SCORED, score=0.0, cases=cases, total=4, request_id=task.request_id)


async def nothing_held(gateway):
    """Wait until it is so: what is let go is let go in the loop's next turns."""
    admission = gateway._admission
    while admission.requests or admission.held_bytes or len(admission.quotas):
        await asyncio.sleep(0)


async def alive(running, request_of):
    running.engine.on_score = lambda task: Result(Outcome.SCORED, score=1.0)
    assert (await running.stub.Score(request_of("alive"))).score == 1.0


async def test_a_stream_whose_client_never_reads_is_ended(serve, request_of, connect):
    running = await serve(write_timeout_s=0.2, stream_in_flight=4)
    endless = asyncio.Event()

    async def answer(task):
        if task.request_id == "endless":
            await endless.wait()
        return big_answer(task)

    running.engine.on_score = answer
    client = await connect(running.address)
    call = client.call("ScoreStream")
    for name in ("endless", "1", "2", "3", "4", "5"):
        message = request_of(name, excerpt_bytes=BIG).SerializeToString()
        client.send(call, message)
    await client.until_closed()
    assert client.data_bytes <= 65_536
    await running.engine.cancelled_event.wait()
    assert running.engine.most_running <= 4
    assert len(running.engine.tasks) == 4  # what waits to be written keeps its place
    await nothing_held(running.gateway)
    await alive(running, request_of)


@pytest.mark.parametrize("method", ["Score", "Run"])
async def test_a_unary_answer_that_nobody_takes_is_counted_and_given_up(
    serve, request_of, connect, method
):
    running = await serve(write_timeout_s=0.2)
    running.engine.on_score = big_answer
    running.engine.on_run = lambda task: RunOutcome(
        Status.ACCEPTED, RunFacts(exit_code=0, stdout=b"x" * 4 * BIG)
    )
    client = await connect(running.address)
    request = (
        request_of("1", excerpt_bytes=BIG)
        if method == "Score"
        else pb.RunRequest(argv=pb.Argv(args=["x"]), excerpt_bytes=1 << 20)
    )
    client.send(client.call(method), request.SerializeToString())
    while not client.data_bytes:
        assert await client.next()
    assert running.gateway._admission.held_bytes > 2 * BIG
    assert running.gateway._admission.requests == 0
    await client.until_closed()
    await nothing_held(running.gateway)
    await alive(running, request_of)


async def test_answers_that_wait_leave_no_room_for_more(serve, request_of, connect):
    running = await serve(max_queue_bytes=1 << 20)
    running.engine.on_score = big_answer
    clients = [await connect(running.address) for _ in range(5)]
    for client in clients:
        request = request_of("1", excerpt_bytes=BIG)
        client.send(client.call("Score"), request.SerializeToString())
        while not client.data_bytes and not client.trailers:
            assert await client.next()
    gate = asyncio.Event()

    async def wait(task):
        await gate.wait()
        return Result(Outcome.SCORED, score=1.0)

    running.engine.on_score = wait
    running.engine.entered.clear()
    first = asyncio.ensure_future(running.stub.Score(request_of("alone")))
    await running.engine.entered.wait()
    with pytest.raises(grpc.aio.AioRpcError, match="queue is full") as caught:
        await running.stub.Score(request_of("more"))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    for client in clients:
        client.close()
    gate.set()
    await first
    await nothing_held(running.gateway)
    await alive(running, request_of)


async def test_on_a_unix_socket_the_work_ends_and_one_answer_stays(
    unused_engine, request_of, connect, tmp_path
):
    unused_engine.on_score = big_answer
    settings = Settings(grpc=f"unix:{tmp_path}/s", write_timeout_s=0.2, stream_in_flight=2)
    gateway = Gateway(unused_engine, settings)
    bound = await gateway.start()
    try:
        client = await connect(bound.grpc)
        call = client.call("ScoreStream")
        for name in "1234":
            client.send(call, request_of(name, excerpt_bytes=BIG).SerializeToString())
        while not client.data_bytes:
            assert await client.next()
        await nothing_held(gateway)
        assert not client.closed
        async with grpc.aio.insecure_channel(bound.grpc) as channel:
            unused_engine.on_score = lambda task: Result(Outcome.SCORED, score=1.0)
            assert (await rpc.VerifierStub(channel).Score(request_of())).score == 1.0
    finally:
        await gateway.stop(0)


@pytest.mark.parametrize("method", ["Score", "Run", "GetInfo"])
async def test_half_a_message_is_not_waited_for(serve, request_of, connect, method):
    running = await serve(receive_timeout_s=0.1)
    client = await connect(running.address)
    call = client.call(method)
    client.send(call, b"x" * 1000, size=50_000_000)
    code, message = await client.status(call)
    assert code == LATE
    assert "did not arrive" in message
    assert running.engine.tasks == []
    await alive(running, request_of)


async def test_half_an_upload_is_not_waited_for(serve, request_of, connect):
    running = await serve(receive_timeout_s=0.1)
    client = await connect(running.address)
    call = client.call("PutSuite")
    client.send(call, pb.PutSuiteRequest(chunk=b'{"inputs": ').SerializeToString())
    code, message = await client.status(call)
    assert code == LATE
    assert "next piece" in message
    await nothing_held(running.gateway)
    await alive(running, request_of)


async def test_an_idle_stream_is_ended_and_a_busy_one_is_not(serve, request_of):
    running = await serve(stream_idle_s=0.1)
    gate = asyncio.Event()

    async def wait(task):
        await gate.wait()
        return Result(Outcome.SCORED, score=1.0, request_id=task.request_id)

    running.engine.on_score = wait
    busy, idle = running.stub.ScoreStream(), running.stub.ScoreStream()
    await busy.write(request_of("1"))
    await running.engine.entered.wait()
    with pytest.raises(grpc.aio.AioRpcError, match="idle") as caught:
        await idle.read()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    gate.set()
    assert (await busy.read()).score == 1.0


async def test_a_message_of_a_gigabyte_is_refused_at_its_head(serve, request_of, connect):
    running = await serve()
    for method in ("Score", "ScoreStream", "PutSuite", "Run"):
        client = await connect(running.address)
        call = client.call(method)
        client.send(call, b"", size=1_000_000_000)  # and never sends it
        code, message = await client.status(call)
        assert code == EXHAUSTED
        assert "larger than max" in message
    assert running.engine.tasks == []
    await alive(running, request_of)


@pytest.mark.parametrize("peer", ["unix:", "unix:/x", "ipv4:127.0.0.1:1", "ipv6:%5B::1%5D:1", ""])
def test_a_peer_that_is_not_connected_is_nobody(peer):
    assert not hang_up(peer)
