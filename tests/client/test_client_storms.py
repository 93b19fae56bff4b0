"""A gateway that is not there, or says so: how often it is asked, by all calls together."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from verifier.client import AsyncClient, RetryPolicy, ScoreCall
from verifier.client.budget import Budget
from verifier.errors import BackendError, GatewayUnavailableError, OverloadedError
from verifier.types import Outcome

TRUTH = {"inputs": ["1"], "outputs": ["1"]}
STORM = 256


@pytest.fixture
async def closing():
    """A listener that takes every connection and closes it; how many there were."""
    taken = []

    class Closing(asyncio.Protocol):
        def connection_made(self, transport):
            taken.append(1)
            transport.abort()

    server = await asyncio.get_running_loop().create_server(Closing, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", taken
    server.close()


async def each(client, count=STORM):
    return await asyncio.gather(
        *(client.score("r", TRUTH) for _ in range(count)), return_exceptions=True
    )


async def in_batches(client, count=STORM):
    batches = await asyncio.gather(
        *(client.score_many([ScoreCall("r", TRUTH)]) for _ in range(count))
    )
    return [result for batch in batches for result in batch]


@pytest.mark.parametrize("way", [each, in_batches])
async def test_256_calls_to_a_dead_server_dial_it_a_few_times(closing, no_sleep, way):
    """THUDM/slime#1582."""
    address, taken = closing
    async with AsyncClient(address, timeout_s=60, max_in_flight=STORM) as client:
        results = await way(client)
        for result in results:
            assert isinstance(result, GatewayUnavailableError) or result.outcome is (
                Outcome.INFRA_ERROR
            )
        # One connection that all calls shared, and one for each health check that they shared.
        # Each for itself, they would be a thousand.
        assert 1 <= len(taken) <= 16


async def test_256_refused_connections_are_all_told(dead_address, no_sleep):
    async with AsyncClient(dead_address, timeout_s=60) as client:
        results = await each(client)
    assert {type(result) for result in results} == {GatewayUnavailableError}


@pytest.mark.parametrize("way", [each, in_batches])
async def test_256_calls_that_are_turned_away_share_a_budget(server, no_sleep, way):
    """RPCs at a real server: the calls, and at most the budget on top; without it, four times."""
    gone = (grpc.StatusCode.UNAVAILABLE, "no backend behind this proxy")
    server.scripted.script = lambda request, attempt: gone
    policy = RetryPolicy(budget=40)
    async with AsyncClient(
        server.address, timeout_s=60, max_in_flight=STORM, retry=policy
    ) as client:
        await way(client)
    # Batches that find the gateway set aside wait before they send anything.
    assert (STORM if way is each else 1) <= len(server.scripted.requests) <= STORM + 40


async def test_all_loops_and_threads_share_the_budget(server, no_sleep):
    server.scripted.script = lambda request, attempt: BackendError("no engine")
    policy = RetryPolicy(budget=10)
    client = AsyncClient(server.address, timeout_s=60, retry=policy)

    async def on_its_own_loop():
        try:
            return await each(client, 16)
        finally:
            await client.close()

    def on_its_own_thread():
        asyncio.run(on_its_own_loop())

    await asyncio.gather(*(asyncio.to_thread(on_its_own_thread) for _ in range(4)))
    assert 64 <= len(server.scripted.requests) <= 64 + 10


async def test_answers_fill_the_budget_again(server, no_sleep):
    server.scripted.script = lambda request, attempt: (
        BackendError("no engine") if request.request_id == "bad" else "ok"
    )
    policy = RetryPolicy(budget=2, budget_share=0.5)
    async with AsyncClient(server.address, timeout_s=60, retry=policy) as client:

        async def bad():
            before = server.scripted.attempts["bad"]
            with pytest.raises(BackendError):
                await client.score("r", TRUTH, request_id="bad")
            return server.scripted.attempts["bad"] - before

        assert [await bad(), await bad()] == [3, 1]
        for _ in range(2):
            await client.score("r", TRUTH)
        assert [await bad(), await bad()] == [2, 1]


async def test_a_refusal_as_overloaded_costs_nothing_of_the_budget(server, no_sleep):
    server.scripted.script = lambda request, attempt: [OverloadedError("full", 0.0), "ok"]
    policy = RetryPolicy(budget=1)
    async with AsyncClient(server.address, timeout_s=60, retry=policy) as client:
        results = await asyncio.gather(
            *(client.score("r", TRUTH, request_id=str(i)) for i in range(20))
        )
    assert [result.score for result in results] == [1.0] * 20


async def test_who_comes_after_one_that_gave_up_does_not_wait(closing):
    """The circuit: until the next health check is due, calls fail at once."""
    address, taken = closing
    # Nobody lives to see the second wait: a call that began one would be in this test for an hour.
    policy = RetryPolicy(max_attempts=2, base_s=3600, max_s=3600)
    async with AsyncClient(address, timeout_s=60, retry=policy) as client:
        pool = client._calls._loops.here().pool
        await pool.refresh()
        (gateway,) = pool.gateways
        first = asyncio.ensure_future(client.score("r", TRUTH))
        while not gateway.aside:
            await asyncio.sleep(0)
        first.cancel()
        pool.gave_up()
        before = len(taken)
        results = await each(client, 64)
        assert all("it is asked again in" in str(result) for result in results)
        (result,) = await client.score_many([ScoreCall("r", TRUTH)])
        assert result.error.startswith("GatewayUnavailableError: ")
        assert len(taken) == before
        # The check is due: all wait for this one, and none makes another.
        gateway.due = 0.0
        await each(client, 64)
        assert len(taken) == before + 1


async def test_the_first_call_after_the_gateway_is_back_is_served(servers, no_sleep):
    (server,) = await servers(1)
    async with AsyncClient(server.address, timeout_s=60) as client:
        server.proxy.refuse()
        assert {type(result) for result in await each(client, 8)} == {GatewayUnavailableError}
        await server.proxy.listen()
        assert (await client.score("r", TRUTH)).score == 1.0


async def test_calls_that_wait_go_on_when_the_gateway_is_back(servers):
    """A restart that the waits outlast costs no call, and no fallback."""
    (server,) = await servers(1)
    policy = RetryPolicy(max_attempts=50, base_s=0.01, max_s=0.05)
    async with AsyncClient(server.address, timeout_s=60, retry=policy) as client:
        await client.info()
        server.proxy.refuse()
        calls = [asyncio.ensure_future(client.score("r", TRUTH)) for _ in range(32)]
        batch = asyncio.ensure_future(client.score_many([ScoreCall("r", TRUTH)] * 32))
        pool = client._calls._loops.here().pool
        while max(gateway.failures for gateway in pool.gateways) < 3:
            await asyncio.sleep(0.001)
        await server.proxy.listen()
        assert [result.score for result in await asyncio.gather(*calls)] == [1.0] * 32
        assert [result.score for result in await batch] == [1.0] * 32
        assert len(server.scripted.requests) == 64


async def test_those_who_wait_go_on_at_once_when_it_answers_another(servers):
    """As a stream does that was open all the time."""
    (server,) = await servers(1)
    policy = RetryPolicy(max_attempts=3, base_s=3600, max_s=3600)
    async with AsyncClient(server.address, timeout_s=60, retry=policy) as client:
        server.proxy.refuse()
        waiting = asyncio.ensure_future(client.score("r", TRUTH))
        pool = client._calls._loops.here().pool
        while pool._reviving is None:
            await asyncio.sleep(0)
        await server.proxy.listen()
        for gateway in pool.gateways:
            pool.answered(gateway)
        assert (await waiting).score == 1.0


def test_a_budget_is_bounded_both_ways():
    budget = Budget(2, 0.5)
    assert [budget.take() for _ in range(3)] == [True, True, False]
    for _ in range(100):
        budget.earn()
    assert [budget.take() for _ in range(3)] == [True, True, False]
    budget.earn()
    assert not budget.take()


async def test_one_with_little_time_does_not_end_the_patience_of_others(servers):
    (server,) = await servers(1)
    policy = RetryPolicy(max_attempts=3, base_s=3600, max_s=3600)
    async with AsyncClient(server.address, timeout_s=60, retry=policy) as client:
        server.proxy.refuse()
        with pytest.raises(GatewayUnavailableError):
            await client.score("r", TRUTH, deadline_s=0.05)
        patient = asyncio.ensure_future(client.score("r", TRUTH))
        for _ in range(50):
            await asyncio.sleep(0)
        # It waits for the next check, where an open circuit would have failed it.
        assert not patient.done()
        patient.cancel()
