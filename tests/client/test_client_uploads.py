"""Big ground truths travel once, through real gateways."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc

import pytest

from verifier.client import AsyncClient, ScoreCall
from verifier.config import Settings
from verifier.engine import Engine
from verifier.errors import RequestError, UnknownSuiteError
from verifier.gateway import Gateway
from verifier.testing import FakeSandbox
from verifier.types import Outcome
from verifier.v1 import verifier_pb2 as pb

MB = 1024 * 1024
RESPONSE = "```python\nprint(input())\n```"


def truth(size: int, marker: str = "a", **more: object) -> str:
    half = marker * (size // 2)
    return json.dumps({"inputs": [half + "\n"], "outputs": [half + "\n"], **more})


def group(ground_truth: object, count: int = 16, **fields: object) -> list[ScoreCall]:
    return [
        ScoreCall(f"```python\nprint(input())  # {i}\n```", ground_truth, **fields)
        for i in range(count)
    ]


@pytest.fixture
async def gateway():
    """Starts gateways over a sandbox that echoes."""
    started = []

    async def make(**settings):
        made = Gateway(Engine(FakeSandbox(), slots=2), Settings(grpc="127.0.0.1:0", **settings))
        bound = await made.start()
        started.append(made)
        made.address = bound.grpc
        return made

    yield make
    for made in started:
        await made.stop(0)


@pytest.fixture
async def connect():
    clients = []

    def make(address, **options):
        clients.append(AsyncClient(address, timeout_s=60, **options))
        return clients[-1]

    yield make
    for client in clients:
        await client.close()


async def score_many(client, calls):
    return await client.score_many(calls)


async def score_each(client, calls):
    return await asyncio.gather(
        *(
            client.score(
                call.response,
                call.ground_truth,
                ground_truth_format=call.ground_truth_format,
                fn_name=call.fn_name,
            )
            for call in calls
        )
    )


WAYS = pytest.mark.parametrize("way", [score_many, score_each])


@WAYS
async def test_12_mb_for_16_responses_cross_the_wire_once(gateway, connect, proxy_to, way):
    served = await gateway()
    proxy = await proxy_to(served.address)
    client = connect(proxy.address)
    text = truth(12 * MB)
    results = await way(client, group(text))
    assert [(r.outcome, r.score) for r in results] == [(Outcome.SCORED, 1.0)] * 16
    assert len(text) < proxy.bytes_up < len(text) * 1.02
    before = proxy.bytes_up
    await way(client, group(text))
    assert proxy.bytes_up - before < 100_000


async def test_the_gateway_holds_at_most_two_copies(gateway, connect):
    served = await gateway()
    client = connect(served.address)
    await client.score_many(group(truth(1000)))
    text = truth(12 * MB)
    calls = group(text)
    gc.collect()
    tracemalloc.start()
    try:
        await client.score_many(calls)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(text) * 0.9 < held < 2 * len(text)


@WAYS
async def test_a_small_one_goes_along(server, connect, way):
    client = connect(server.address)
    await way(client, group(truth(1000), 3))
    assert server.scripted.uploads == []
    assert all(request.ground_truth for request in server.scripted.requests)


@WAYS
async def test_none_is_uploaded_where_that_is_switched_off(server, connect, way):
    client = connect(server.address, upload_above_bytes=None)
    await way(client, group(truth(MB), 3))
    assert server.scripted.uploads == []


@WAYS
@pytest.mark.parametrize("kind", [str, bytes, dict])
async def test_what_changes_the_reading_is_another_upload(server, connect, way, kind):
    client = connect(server.address)
    text = truth(MB)
    given = {str: text, bytes: text.encode(), dict: json.loads(text)}[kind]
    for fields in ({}, {"fn_name": "f"}, {"ground_truth_format": "prime"}, {}):
        await way(client, group(given, 3, **fields))
    assert [json.loads(upload) for upload in server.scripted.uploads] == [json.loads(text)] * 3
    assert {request.suite_digest for request in server.scripted.requests} == {"d" * 64}


@WAYS
async def test_what_the_gateway_forgot_is_uploaded_again_once(gateway, connect, proxy_to, way):
    served = await gateway()
    proxy = await proxy_to(served.address)
    client = connect(proxy.address)
    text = truth(2 * MB)
    await way(client, group(text))
    served._suites._budget = 0
    served._suites._evict()
    served._suites._budget = 100 * MB
    before = proxy.bytes_up
    results = await way(client, group(text))
    assert [r.score for r in results] == [1.0] * 16
    assert len(text) < proxy.bytes_up - before < len(text) * 1.1


@WAYS
async def test_a_gateway_that_never_knows_gets_it_along(server, connect, way):
    # As several gateways behind one name look, which do not share their suites.
    refusal = UnknownSuiteError("suite_digest", "not held here: upload it with PutSuite")

    def script(request, attempt):
        if request.suite_digest:
            return refusal
        return pb.ScoreResponse(request_id=request.request_id, outcome=pb.OUTCOME_SCORED, score=0.5)

    server.scripted.script = script
    client = connect(server.address)
    results = await way(client, group(truth(MB), 3))
    assert [r.score for r in results] == [0.5] * 3
    # One upload after each round of refusals, not one for each request.
    assert len(server.scripted.uploads) == 2


@WAYS
async def test_a_digest_of_the_callers_own_is_its_own_business(server, connect, way):
    server.scripted.script = lambda request, attempt: UnknownSuiteError(
        "suite_digest", "not held here"
    )
    client = connect(server.address)
    if way is score_many:
        (result,) = await client.score_many([ScoreCall(RESPONSE, suite_digest="e" * 64)])
        assert result.error.startswith("UnknownSuiteError")
    else:
        with pytest.raises(UnknownSuiteError):
            await client.score(RESPONSE, suite_digest="e" * 64)
    assert server.scripted.uploads == []


@WAYS
async def test_a_broken_one_is_answered_as_a_small_one_is(gateway, connect, way):
    served = await gateway()
    client = connect(served.address)
    small, big = ({"inputs": ["x" * size], "outputs": []} for size in (10, MB))
    expected = await way(client, group(small, 1))
    found = await way(client, group(big, 4))
    assert {r.outcome for r in found} == {Outcome.INVALID_SUITE}
    assert {r.error for r in found} == {expected[0].error}


@WAYS
async def test_one_over_the_memory_of_the_gateway_is_scored_all_the_same(gateway, connect, way):
    served = await gateway(suite_store_bytes=MB)
    client = connect(served.address)
    results = await way(client, group(truth(3 * MB), 4))
    assert [r.score for r in results] == [1.0] * 4


async def test_one_over_the_size_of_an_upload_is_refused_and_says_which(gateway, connect):
    served = await gateway(max_suite_bytes=MB, max_message_bytes=MB)
    client = connect(served.address)
    with pytest.raises(RequestError, match="message"):
        await client.score(RESPONSE, truth(3 * MB))
    (result,) = await client.score_many([ScoreCall(RESPONSE, truth(3 * MB))])
    assert result.outcome is Outcome.INFRA_ERROR
    assert "message" in result.error


async def test_others_go_first_while_one_is_uploaded(server, connect):
    small_ones_done = asyncio.Event()

    def script(request, attempt):
        if len(server.scripted.requests) == 6:
            small_ones_done.set()
        return "ok"

    server.scripted.script = script
    server.scripted.before_upload = small_ones_done.wait
    client = connect(server.address)
    results = await client.score_many(group(truth(MB), 2) + group(truth(100), 6))
    assert [r.score for r in results] == [1.0] * 8
    assert [bool(r.suite_digest) for r in server.scripted.requests] == [False] * 6 + [True] * 2


async def test_a_deadline_covers_the_upload(server, connect):
    gate = asyncio.Event()

    server.scripted.before_upload = gate.wait
    client = connect(server.address)
    (result,) = await client.score_many([ScoreCall(RESPONSE, truth(MB), deadline_s=0.05)])
    assert result.error.startswith("DeadlineError")
    gate.set()


async def test_one_caller_gone_leaves_the_upload_to_the_others(server, connect):
    entered, gate = asyncio.Event(), asyncio.Event()

    async def slow():
        entered.set()
        await gate.wait()

    server.scripted.before_upload = slow
    client = connect(server.address)
    text = truth(MB)
    first = asyncio.create_task(client.score(RESPONSE, text))
    await entered.wait()
    second = asyncio.create_task(client.score(RESPONSE, text))
    await asyncio.sleep(0)
    first.cancel()
    gate.set()
    assert (await second).score == 1.0
    assert len(server.scripted.uploads) == 1
