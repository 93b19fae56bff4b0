"""What one client may hold: counted alone, and over real RPCs."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from hypothesis import given
from hypothesis import strategies as st

from verifier.errors import OverloadedError
from verifier.gateway.admission import Admission
from verifier.gateway.quotas import Quota, Quotas
from verifier.types import Outcome, Result
from verifier.v1 import verifier_pb2 as pb


def opened(max_requests=10, max_bytes=1000, **quota):
    admission = Admission(max_requests, max_bytes, Quota(**quota))
    admission.open()
    return admission


def test_a_client_over_its_requests_is_refused_and_others_are_not():
    admission = opened(requests=2)
    with admission.admit(1, "a"), admission.admit(1, "a"):
        with pytest.raises(
            OverloadedError, match=r"quota of client 'a'.*2 of 2 requests"
        ) as caught:
            admission.admit(1, "a")
        assert caught.value.retry_after_s > 0
        with admission.admit(1, "b"):
            assert admission.requests == 3
    with admission.admit(1, "a"):
        assert admission.quotas.held("a") == (1, 1)
    assert len(admission.quotas) == 0


def test_a_client_over_its_bytes_is_refused():
    admission = opened(held_bytes=100)
    with admission.admit(60, "a") as ticket:
        with pytest.raises(OverloadedError, match="60 of 100 bytes"):
            admission.admit(41, "a")
        assert admission.held_bytes == 60
        with pytest.raises(OverloadedError):
            ticket.grow(41)
        ticket.grow(40)
        ticket.shrink(10)
        assert admission.quotas.held("a") == (1, 10)
        assert admission.held_bytes == 10
        with admission.admit(90, "a"):
            pass
    assert admission.held_bytes == 0


def test_one_request_alone_is_let_in_whatever_its_size():
    admission = opened(held_bytes=10)
    with admission.admit(999, "a"), pytest.raises(OverloadedError):
        admission.admit(1, "a")


def test_a_quota_of_ones_own_goes_before_the_default():
    admission = opened(requests=1)
    own = Quota(requests=2)
    with admission.admit(1, "a", own), admission.admit(1, "a", own) as ticket:
        with pytest.raises(OverloadedError, match="2 of 2"):
            admission.admit(1, "a", own)
        ticket.shrink(0)
    with admission.admit(1, "b"), pytest.raises(OverloadedError, match="1 of 1"):
        admission.admit(1, "b")


def test_what_is_refused_by_the_whole_queue_counts_for_nobody():
    admission = opened(max_requests=1)
    with admission.admit(1, "a"):
        with pytest.raises(OverloadedError, match="queue is full"):
            admission.admit(1, "b")
        assert admission.quotas.held("b") == (0, 0)
    admission = opened(max_bytes=10)
    with admission.admit(9, "a"):
        with pytest.raises(OverloadedError, match="queue is full"):
            admission.admit(9, "b")
        assert admission.quotas.held("b") == (0, 0)


def test_smaller_bounds_leave_what_was_admitted():
    admission = opened()
    with admission.admit(500, "a"):
        admission.resize(1, 10, Quota(requests=1))
        with pytest.raises(OverloadedError, match="queue is full"):
            admission.admit(1, "b")
    with admission.admit(5, "b"):
        assert admission.requests == 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.booleans())))
def test_counts_never_drift(steps):
    quotas = Quotas(Quota(requests=3, held_bytes=100), 1.0)
    held: list[tuple[str, int]] = []
    for client, size, leave in steps:
        if leave and held:
            quotas.give_back(*held.pop(0))
        else:
            try:
                quotas.take(client, size)
            except OverloadedError:
                continue
            held.append((client, size))
        for name in "abc":
            sizes = [s for c, s in held if c == name]
            assert quotas.held(name) == (len(sizes), sum(sizes))
            assert len(sizes) <= 3
            assert len(sizes) < 2 or sum(sizes) <= 100


async def test_over_grpc_the_quota_is_named_with_the_time_to_come_back(serve, request_of):
    running = await serve(max_client_requests=1)
    gate = asyncio.Event()

    async def wait(task):
        await gate.wait()
        return Result(Outcome.SCORED, score=1.0, request_id=task.request_id)

    running.engine.on_score = wait
    first = asyncio.ensure_future(running.stub.Score(request_of("1", client_id="a")))
    await running.engine.entered.wait()
    with pytest.raises(grpc.aio.AioRpcError, match="quota of client 'a'") as caught:
        await running.stub.Score(request_of("2", client_id="a"))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    retry = error_details_pb2.RetryInfo()
    assert any(detail.Unpack(retry) for detail in rpc_status.from_call(caught.value).details)
    assert retry.retry_delay.ToNanoseconds() > 0
    stream = running.stub.ScoreStream()
    await stream.write(request_of("3", client_id="a"))
    refused = await stream.read()
    assert refused.error_code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    assert "quota" in refused.error
    assert refused.retry_after_s > 0
    other = asyncio.ensure_future(running.stub.Score(request_of("4", client_id="b")))
    gate.set()
    assert (await first).outcome == pb.OUTCOME_SCORED
    assert (await other).outcome == pb.OUTCOME_SCORED
    stream.cancel()
