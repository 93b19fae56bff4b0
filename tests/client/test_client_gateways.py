"""Several gateways as one: spread, failover, coming back, suites that are where they were put."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import grpc
import pytest
from grpc_health.v1 import health_pb2

from verifier.client import AsyncClient, Client, RetryPolicy, ScoreCall
from verifier.client.calls import Calls
from verifier.client.options import Options
from verifier.client.pool import Pool
from verifier.errors import GatewayUnavailableError, OverloadedError, SlotError, UnknownSuiteError
from verifier.types import Outcome
from verifier.v1 import verifier_pb2 as pb

TRUTH = {"inputs": ["1"], "outputs": ["1"]}
BIG = {"inputs": ["x" * 400_000], "outputs": ["y"]}
GONE = (grpc.StatusCode.UNAVAILABLE, "gone")
WAIT = RetryPolicy(base_s=0.01, max_s=0.05)


def calls(count, truth=TRUTH, **fields):
    return [ScoreCall("r", truth, request_id=f"s{i}", **fields) for i in range(count)]


def seen(server):
    return Counter(request.request_id for request in server.scripted.requests)


@pytest.fixture
async def connect():
    clients = []

    def make(servers, **options):
        settings = {"timeout_s": 60, "retry": WAIT, **options}
        clients.append(AsyncClient([server.address for server in servers], **settings))
        return clients[-1]

    yield make
    for client in clients:
        await client.close()


def pool_of(client) -> Pool:
    return client._calls._loops.here().pool


# ---------------------------------------------------------------- spread


async def test_a_batch_and_single_calls_are_spread(servers, connect):
    two = await servers(2)
    client = connect(two)
    results = await client.score_many(calls(200))
    assert [(r.request_id, r.score) for r in results] == [(f"s{i}", 1.0) for i in range(200)]
    assert all(50 <= len(server.scripted.requests) <= 150 for server in two)
    assert set((seen(two[0]) + seen(two[1])).values()) == {1}
    assert [server.scripted.streams for server in two] == [1, 1]
    await asyncio.gather(*(client.score("r", TRUTH) for _ in range(200)))
    assert sum(len(server.scripted.requests) for server in two) == 400
    assert all(100 <= len(server.scripted.requests) <= 300 for server in two)
    assert {gateway.in_flight for gateway in pool_of(client).gateways} == {0}


async def test_those_in_flight_are_bounded_over_all_gateways(servers, connect):
    two = await servers(2)
    client = connect(two, max_in_flight=6)
    results = await client.score_many(calls(100))
    assert all(result.score == 1.0 for result in results)
    assert sum(server.scripted.most_in_flight for server in two) <= 12
    assert max(server.scripted.most_in_flight for server in two) <= 6


def test_the_twin_has_it_too(threaded_server, dead_address):
    with Client(f"{dead_address},{threaded_server.address}", timeout_s=60, retry=WAIT) as client:
        assert [r.score for r in client.score_many(calls(20))] == [1.0] * 20
        assert client.score("r", TRUTH).score == 1.0


# ---------------------------------------------------------------- failover


async def test_a_gateway_that_dies_midway_costs_nothing(servers, connect):
    """Only what it had not answered is sent again; every call is answered once."""
    one, other = await servers(2)
    answered = set()
    hold = asyncio.Event()

    def dying(request, attempt):
        async def reply():
            if len(answered) == 20:
                one.proxy.refuse()
                hold.set()
            if hold.is_set():
                return await asyncio.Event().wait()
            answered.add(request.request_id)
            return "ok"

        return reply

    one.scripted.script = dying
    results = await connect([one, other], max_in_flight=16).score_many(calls(300))
    assert [(r.request_id, r.score) for r in results] == [(f"s{i}", 1.0) for i in range(300)]
    both = set(seen(one)) & set(seen(other))
    assert both
    assert len(both) <= 16 + 16
    assert max(seen(other).values()) == max(seen(one).values()) == 1
    assert set(seen(one)) | set(seen(other)) == {f"s{i}" for i in range(300)}


async def test_single_calls_go_to_the_other_one(servers, connect, no_sleep):
    one, other = await servers(2)
    one.scripted.script = lambda request, attempt: GONE
    client = connect([one, other])
    results = await asyncio.gather(
        *(client.score("r", TRUTH, request_id=f"s{i}") for i in range(64))
    )
    assert [result.score for result in results] == [1.0] * 64
    assert set(seen(other).values()) == {1}
    assert len(seen(other)) == 64


async def test_one_that_is_set_aside_gets_nothing_but_health_checks_until_it_serves(
    servers, connect
):
    one, other = await servers(2)
    one.health.status = health_pb2.HealthCheckResponse.NOT_SERVING
    one.scripted.script = lambda request, attempt: GONE
    client = connect([one, other])
    await client.score_many(calls(50))
    asked = len(one.scripted.requests)
    for _ in range(1000):
        await client.score("r", TRUTH)
        if one.health.checks >= 3:
            break
    assert one.health.checks >= 3
    assert len(one.scripted.requests) == asked
    one.scripted.script = lambda request, attempt: "ok"
    one.health.status = health_pb2.HealthCheckResponse.SERVING
    for _ in range(1000):
        await client.score("r", TRUTH)
        if len(one.scripted.requests) > asked:
            break
    assert len(one.scripted.requests) > asked


async def test_one_that_drains_is_left_alone_however_idle_it_looks(servers, connect, no_sleep):
    """It refuses at once, so by requests in flight it would look the best of all."""
    one, other = await servers(2)
    one.health.status = health_pb2.HealthCheckResponse.NOT_SERVING
    one.scripted.script = lambda request, attempt: SlotError("shutting down")
    results = await connect([one, other]).score_many(calls(300))
    assert [result.score for result in results] == [1.0] * 300
    assert len(one.scripted.requests) < 100


async def test_one_that_is_full_is_spared_for_as_long_as_it_asks(servers, connect):
    one, other = await servers(2)
    one.scripted.script = lambda request, attempt: OverloadedError("full", 3600)
    client = connect([one, other])
    results = await asyncio.gather(*(client.score("r", TRUTH) for _ in range(64)))
    assert [result.score for result in results] == [1.0] * 64
    before = len(one.scripted.requests)
    assert [r.score for r in await client.score_many(calls(64))] == [1.0] * 64
    await asyncio.gather(*(client.score("r", TRUTH) for _ in range(64)))
    assert len(one.scripted.requests) == before


async def test_all_are_tried_before_it_is_given_up(servers, connect, no_sleep):
    several = await servers(6)
    for server in several[:5]:
        server.proxy.refuse()
    client = connect(several)
    assert (await client.score("r", TRUTH)).score == 1.0
    several[5].proxy.refuse()
    with pytest.raises(GatewayUnavailableError):
        await client.score("r", TRUTH)
    results = await client.score_many(calls(8))
    assert {result.outcome for result in results} == {Outcome.INFRA_ERROR}


async def test_a_batch_goes_on_with_the_live_one_while_the_other_dies_again_and_again(
    servers, connect, no_sleep
):
    one, other = await servers(2)
    one.scripted.script = lambda request, attempt: GONE
    release = asyncio.Event()

    def slow(request, attempt):
        async def reply():
            await release.wait()
            return "ok"

        return reply

    other.scripted.script = slow
    batch = asyncio.ensure_future(connect([one, other]).score_many(calls(8)))
    while one.scripted.streams == 0 or len(seen(other)) < 8:
        await asyncio.sleep(0.001)
    release.set()
    assert [result.score for result in await batch] == [1.0] * 8


# ---------------------------------------------------------------- suites


def knows_after_upload(server):
    """A gateway that holds what was uploaded to it, and nothing else."""

    def script(request, attempt):
        if request.suite_digest and not server.scripted.uploads:
            return UnknownSuiteError("suite_digest", "not held here")
        return pb.ScoreResponse(request_id=request.request_id, outcome=pb.OUTCOME_SCORED, score=1.0)

    return script


@pytest.fixture
async def holding(servers):
    made = await servers(3)
    for server in made:
        server.scripted.script = knows_after_upload(server)
    return made


async def test_a_groups_suite_goes_to_one_gateway(holding, connect):
    client = connect(holding, max_in_flight=2)
    for group in range(6):
        truth = {**BIG, "outputs": [str(group)]}
        results = await client.score_many(calls(8, truth))
        assert [result.score for result in results] == [1.0] * 8
    uploads = [len(server.scripted.uploads) for server in holding]
    assert sum(uploads) == 6
    assert sum(len(server.scripted.requests) for server in holding) == 48
    for server in holding:
        assert len(server.scripted.requests) == 8 * len(server.scripted.uploads)


@pytest.mark.parametrize("way", ["one by one", "batch"])
async def test_after_a_failover_the_suite_goes_up_where_the_calls_go(holding, connect, way):
    client = connect(holding, max_in_flight=2)

    async def score(count):
        if way == "batch":
            return [r.score for r in await client.score_many(calls(count, BIG))]
        return [(await client.score("r", BIG)).score for _ in range(count)]

    assert await score(8) == [1.0] * 8
    (home,) = (server for server in holding if server.scripted.uploads)
    home.proxy.refuse()
    assert await score(8) == [1.0] * 8
    assert sum(len(server.scripted.uploads) for server in holding) == 2
    assert len(home.scripted.uploads) == 1


async def test_a_gateway_that_forgot_gets_it_again(holding, connect):
    client = connect(holding)
    await client.score("r", BIG)
    (home,) = (server for server in holding if server.scripted.uploads)
    home.scripted.uploads.clear()
    home.scripted.script = knows_after_upload(home)
    assert (await client.score("r", BIG)).score == 1.0
    assert len(home.scripted.uploads) == 1


async def test_a_suite_of_the_callers_own_is_put_everywhere(holding, connect):
    client = connect(holding)
    digest = await client.put_suite(BIG)
    assert [len(server.scripted.uploads) for server in holding] == [1] * 3
    assert json.loads(holding[2].scripted.uploads[0]) == BIG
    assert (await client.score("r", suite_digest=digest)).score == 1.0


@pytest.mark.parametrize("holder", [0, 1, 2])
async def test_a_digest_is_asked_for_where_it_is_known(holding, connect, holder):
    client = connect(holding)
    holding[holder].scripted.uploads.append(b"")
    assert (await client.score("r", suite_digest="e" * 64)).score == 1.0
    (result,) = await client.score_many([ScoreCall("r", suite_digest="e" * 64)])
    assert result.score == 1.0


async def test_a_digest_that_nobody_knows_is_the_callers_business(holding, connect):
    client = connect(holding)
    with pytest.raises(UnknownSuiteError):
        await client.score("r", suite_digest="e" * 64)
    (result,) = await client.score_many([ScoreCall("r", suite_digest="e" * 64)])
    assert result.error.startswith("UnknownSuiteError: ")


# ---------------------------------------------------------------- names


async def test_a_name_is_looked_up_again_when_an_address_goes(servers, monkeypatch, no_sleep):
    """Two addresses of one name, each on its own loopback address and one port."""
    from verifier.client import pool

    one, other = await servers(2)
    port = one.address.rpartition(":")[2]
    # The second gateway is at 127.0.0.2, at the first one's port.
    forward = await asyncio.start_server(other.proxy._serve, "127.0.0.2", int(port))
    book = {"gateways": ["127.0.0.1", "127.0.0.2"]}
    looked_up = []

    async def find(host, port):
        looked_up.append(host)
        return book[host]

    monkeypatch.setattr(pool, "LOOK_UP_AT_MOST_EVERY_S", 0.0)
    name = f"dns:///gateways:{port}"
    calls_ = Calls(name, Options(timeout_s=60))
    here = Pool([name], RetryPolicy(), calls_._uploads, find=find)
    calls_._loops._pool = lambda: here
    try:
        await calls_.perform("score_many", calls(60))
        assert len(looked_up) == 1
        assert seen(one)
        assert seen(other)
        # One goes, and its name has another address by now.
        forward.close()
        other.proxy.cut()
        book["gateways"] = ["127.0.0.1", "127.0.0.3"]
        forward = await asyncio.start_server(other.proxy._serve, "127.0.0.3", int(port))
        before = len(other.scripted.requests)
        for _ in range(20):
            results = await calls_.perform("score_many", calls(20))
            assert [result.score for result in results] == [1.0] * 20
            if len(other.scripted.requests) > before:
                break
        assert len(other.scripted.requests) > before
        assert {gateway.target for gateway in here.gateways} == {
            f"ipv4:127.0.0.1:{port}",
            f"ipv4:127.0.0.3:{port}",
        }
    finally:
        forward.close()
        await calls_.close()


@pytest.mark.parametrize("name", ["nowhere.invalid:1", f"{'x' * 70}.invalid:1", "a..b:1"])
async def test_a_name_that_cannot_be_looked_up_is_unavailable(no_sleep, name):
    async with AsyncClient(name, timeout_s=60) as client:
        with pytest.raises(GatewayUnavailableError):
            await client.info()


async def test_a_batch_whose_client_is_closed_begins_again(servers, connect):
    (server,) = await servers(1)
    server.scripted.script = lambda request, attempt: "read_timeout" if attempt == 1 else "ok"
    client = connect([server])
    batch = asyncio.ensure_future(client.score_many(calls(8)))
    while server.scripted.stuck < 8:
        await asyncio.sleep(0.001)
    await client.close()
    assert [result.score for result in await batch] == [1.0] * 8
