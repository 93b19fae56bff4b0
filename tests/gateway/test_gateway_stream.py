"""The bidirectional stream: out of order, bounded, refusals as answers, nothing left behind."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from verifier.config import Settings
from verifier.errors import OverloadedError
from verifier.gateway.admission import Admission
from verifier.gateway.service import Service
from verifier.gateway.stream import ScoreSession
from verifier.gateway.suites import SuiteStore
from verifier.types import Outcome, Result
from verifier.v1 import verifier_pb2 as pb

Code = grpc.StatusCode


class Gates:
    """Holds each task until its request id is released."""

    def __init__(self):
        self.events = {}

    def of(self, request_id):
        return self.events.setdefault(request_id, asyncio.Event())

    async def __call__(self, task):
        await self.of(task.request_id).wait()
        return Result(Outcome.SCORED, score=0.5, request_id=task.request_id)


async def test_answers_come_out_of_order(serve, request_of):
    running = await serve()
    gates = running.engine.on_score = Gates()
    call = running.stub.ScoreStream()
    for name in ("a", "b", "c"):
        await call.write(request_of(name))
    for name in ("c", "a", "b"):
        gates.of(name).set()
        answer = await call.read()
        assert (answer.request_id, answer.score) == (name, 0.5)
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF
    assert await call.code() is Code.OK


async def test_a_refused_request_is_an_answer_and_the_stream_goes_on(serve, request_of):
    running = await serve()
    call = running.stub.ScoreStream()
    for request, code, text in (
        (
            request_of("bad", limits={"cpu_time_s": -1.0}),
            Code.INVALID_ARGUMENT,
            "limits.cpu_time_s",
        ),
        (request_of("check", checker={}), Code.INVALID_ARGUMENT, "checker.source"),
        (request_of("digest", suite_digest="0" * 64), Code.FAILED_PRECONDITION, "PutSuite"),
        (request_of(""), Code.INVALID_ARGUMENT, "request_id"),
    ):
        await call.write(request)
        answer = await call.read()
        assert answer.request_id == request.request_id
        assert answer.outcome == pb.OUTCOME_INFRA_ERROR
        assert answer.error_code == code.value[0]
        assert text in answer.error
    await call.write(request_of("good"))
    answer = await call.read()
    assert (answer.request_id, answer.error_code, answer.score) == ("good", 0, 1.0)
    await call.write(request_of("broken", ground_truth=b"{"))
    answer = await call.read()
    assert (answer.outcome, answer.error_code) == (pb.OUTCOME_INVALID_SUITE, 0)
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF


async def test_an_id_that_is_in_flight_is_refused_and_free_again_later(serve, request_of):
    running = await serve()
    gates = running.engine.on_score = Gates()
    call = running.stub.ScoreStream()
    await call.write(request_of("a"))
    await call.write(request_of("a"))
    refused = await call.read()
    assert (refused.request_id, refused.error_code) == ("a", Code.INVALID_ARGUMENT.value[0])
    assert "in flight" in refused.error
    gates.of("a").set()
    assert (await call.read()).score == 0.5
    await call.write(request_of("a"))
    assert (await call.read()).score == 0.5
    call.cancel()


async def test_errors_and_bugs_of_the_engine_concern_one_request(serve, request_of, caplog):
    running = await serve()

    def fail(task):
        raise OverloadedError("full", 3.0) if task.request_id == "a" else ZeroDivisionError

    running.engine.on_score = fail
    call = running.stub.ScoreStream()
    await call.write(request_of("a"))
    answer = await call.read()
    assert (answer.error_code, answer.retry_after_s) == (Code.RESOURCE_EXHAUSTED.value[0], 3.0)
    await call.write(request_of("b"))
    answer = await call.read()
    assert answer.error_code == Code.UNAVAILABLE.value[0]
    assert "ZeroDivisionError" in answer.error
    call.cancel()


async def test_nothing_is_read_while_the_stream_is_full(serve, request_of):
    running = await serve(stream_in_flight=2)
    gates = running.engine.on_score = Gates()
    call = running.stub.ScoreStream()
    names = [str(i) for i in range(8)]
    for name in names:
        await call.write(request_of(name))
    await call.done_writing()
    got = []
    for name in names:
        gates.of(name).set()
        got.append((await call.read()).request_id)
    assert sorted(got) == names
    assert running.engine.most_running == 2
    assert await call.read() is grpc.aio.EOF


async def test_a_full_queue_is_said_per_request(serve, request_of):
    running = await serve(max_queue=1)
    gates = running.engine.on_score = Gates()
    call = running.stub.ScoreStream()
    await call.write(request_of("a"))
    await call.write(request_of("b"))
    answer = await call.read()
    assert (answer.request_id, answer.error_code) == ("b", Code.RESOURCE_EXHAUSTED.value[0])
    assert answer.retry_after_s > 0
    gates.of("a").set()
    assert (await call.read()).request_id == "a"
    call.cancel()


@pytest.mark.parametrize("how", ["cancel", "disconnect"])
async def test_a_client_that_goes_away_takes_its_work_with_it(serve, request_of, how):
    running = await serve()
    running.engine.on_score = Gates()
    call = running.stub.ScoreStream()
    for name in ("a", "b", "c"):
        await call.write(request_of(name))
    while running.engine.running < 3:
        running.engine.entered.clear()
        await running.engine.entered.wait()
    if how == "cancel":
        call.cancel()
    else:
        await running.channel.close()
    while running.engine.cancelled < 3:
        running.engine.cancelled_event.clear()
        await asyncio.wait_for(running.engine.cancelled_event.wait(), 10)
    assert running.engine.running == 0
    await asyncio.wait_for(running.gateway._admission.wait_idle(), 10)


async def test_items_carry_their_own_deadline(serve, request_of):
    running = await serve()
    call = running.stub.ScoreStream(timeout=50)
    await call.write(request_of("a", deadline_s=5))
    await call.read()
    await call.write(request_of("b"))
    await call.read()
    first, second = (task.deadline_s for task in running.engine.tasks)
    assert 4 < first < 6
    assert 40 < second < 51
    call.cancel()


class NeverRead:
    """An RPC whose client takes no answers: writes wait for ever."""

    def __init__(self):
        self.writes = 0

    def time_remaining(self):
        return None

    async def write(self, message):
        self.writes += 1
        await asyncio.Event().wait()


def service_of(engine, **settings):
    admission = Admission(100, 10_000_000)
    admission.open()
    return Service(engine, Settings(**settings), admission, SuiteStore(1_000_000))


async def test_a_client_that_never_reads_holds_a_bounded_number(unused_engine, request_of):
    pulled = 0

    async def requests():
        nonlocal pulled
        while True:
            pulled += 1
            yield request_of(str(pulled))

    context = NeverRead()
    session = ScoreSession(service_of(unused_engine, stream_in_flight=4), requests(), context)
    serving = asyncio.ensure_future(session.serve())
    for _ in range(200):
        await asyncio.sleep(0)
    assert (pulled, context.writes, len(session._items)) == (4, 1, 4)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert unused_engine.running == 0
