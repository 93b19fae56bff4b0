"""Hundreds of requests at once against a small queue (benchmarks/admission_burst.py: 10,000)."""

from __future__ import annotations

import asyncio

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from verifier.engine import Engine
from verifier.gateway.admission import Admission
from verifier.testing import FakeSandbox
from verifier.types import RunFacts

REQUESTS = 1000
QUEUE = 100


async def test_each_is_answered_or_told_when_to_come_back(serve, request_of, monkeypatch):
    most = {"requests": 0, "bytes": 0}
    admit = Admission.admit

    def watched(self, *given):
        ticket = admit(self, *given)
        most["requests"] = max(most["requests"], self.requests)
        most["bytes"] = max(most["bytes"], self.held_bytes)
        return ticket

    monkeypatch.setattr(Admission, "admit", watched)
    gate = asyncio.Event()

    async def echo(job, data):
        await gate.wait()  # until all that do not fit were refused
        return RunFacts(exit_code=0, stdout=data, stdout_bytes=len(data))

    engine = Engine(FakeSandbox(echo), slots=2, max_queue=QUEUE)
    refusals: list[grpc.aio.AioRpcError] = []
    running = await serve(engine=engine, max_queue=QUEUE, max_queue_bytes=1 << 20)

    async def ask(number):
        """Whether it was answered."""
        try:
            answer = await running.stub.Score(request_of(str(number)))
        except grpc.aio.AioRpcError as error:
            refusals.append(error)
            if len(refusals) == REQUESTS - QUEUE:
                gate.set()
            return False
        assert (answer.request_id, answer.score) == (str(number), 1.0)
        return True

    left = list(range(REQUESTS))
    while left:
        done = await asyncio.gather(*(ask(number) for number in left))
        assert any(done)
        left = [number for number, answered in zip(left, done, strict=True) if not answered]
    assert len(refusals) >= REQUESTS - QUEUE
    for error in refusals:
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        retry = error_details_pb2.RetryInfo()
        assert any(detail.Unpack(retry) for detail in rpc_status.from_call(error).details)
        assert retry.retry_delay.ToNanoseconds() > 0
    assert most["requests"] == QUEUE
    assert most["bytes"] <= 1 << 20
    assert running.gateway._admission.requests == 0
