"""Late answers: second requests, bounds on one sample, connections whose other end is gone."""

from __future__ import annotations

import asyncio
import socket

import pytest

from verifier.client import AsyncClient, RetryPolicy, ScoreCall
from verifier.client.hedge import HEDGE_TOKENS, hedged
from verifier.errors import DeadlineError, GatewayUnavailableError, InfraError, RequestError
from verifier.types import Outcome

# Later than an answer of a live gateway on a busy machine.
LATE_S = 0.5
TRUTH = {"inputs": ["1"], "outputs": ["1"]}


def calls(count, **fields):
    return [ScoreCall("r", TRUTH, request_id=f"s{i}", **fields) for i in range(count)]


@pytest.fixture
async def two(servers):
    """One gateway that never answers, and one that does."""
    stuck, live = await servers(2)
    stuck.scripted.script = lambda request, attempt: "read_timeout"
    return stuck, live


def client_of(*servers, **options):
    return AsyncClient([server.address for server in servers], timeout_s=60, **options)


# ---------------------------------------------------------------- hedging


async def test_it_is_off_by_default(two):
    stuck, live = two
    async with client_of(*two) as client:
        waiting = [asyncio.ensure_future(client.score("r", TRUTH)) for _ in range(8)]
        while len(stuck.scripted.requests) + len(live.scripted.requests) < 8:
            await asyncio.sleep(0.001)
        assert stuck.scripted.requests
        for call in waiting:
            call.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    assert len(stuck.scripted.requests) + len(live.scripted.requests) == 8


async def test_a_late_call_is_asked_elsewhere_and_the_first_is_cancelled(two):
    stuck, live = two
    async with client_of(*two, hedge_after_s=LATE_S) as client:
        results = await asyncio.gather(*(client.score("r", TRUTH) for _ in range(8)))
        assert [result.score for result in results] == [1.0] * 8
        assert len(live.scripted.requests) == 8
        assert stuck.scripted.stuck >= 1
        while stuck.scripted.let_go < stuck.scripted.stuck:
            await asyncio.sleep(0.001)


async def test_late_ones_of_a_batch_too_each_counted_once(two):
    stuck, live = two
    async with client_of(*two, hedge_after_s=LATE_S, max_in_flight=16) as client:
        results = await client.score_many(calls(16))
        assert [(r.request_id, r.score) for r in results] == [(f"s{i}", 1.0) for i in range(16)]
        pool = client._calls._loops.here().pool
        assert {gateway.in_flight for gateway in pool.gateways} == {0}
    assert 1 <= len(stuck.scripted.requests) <= HEDGE_TOKENS
    assert len(live.scripted.requests) == 16


async def test_second_requests_are_at_most_a_share(servers):
    """Where everything is late, hedging everything would double the load."""
    one, other = await servers(2)
    asked = []
    hold = asyncio.Event()

    def late(request, attempt):
        asked.append(request.request_id)

        async def reply():
            await hold.wait()
            return "ok"

        return reply

    one.scripted.script = other.scripted.script = late
    async with client_of(one, other, hedge_after_s=0.001) as client:
        batch = asyncio.ensure_future(client.score_many(calls(100)))
        budget = client._calls._hedges
        while len(asked) < 100 or budget.left >= 1:
            await asyncio.sleep(0.001)
        hold.set()
        assert all(result.score == 1.0 for result in await batch)
    assert 100 < len(asked) <= 100 + HEDGE_TOKENS + 0.1 * 100


async def test_there_is_none_to_the_same_gateway(server):
    server.scripted.script = lambda request, attempt: "read_timeout"
    async with AsyncClient(server.address, timeout_s=0.1, hedge_after_s=0.001) as client:
        with pytest.raises(DeadlineError):
            await client.score("r", TRUTH)
        (result,) = await client.score_many(calls(1))
        assert result.error.startswith("DeadlineError: ")
    assert len(server.scripted.requests) == 2


async def test_the_better_answer_of_two_wins():
    async def fails(error):
        raise error

    async def answers(value, gate=None):
        if gate is not None:
            await gate.wait()
        return value

    async def never():
        await asyncio.Event().wait()

    assert await hedged(answers(1), lambda: None, 60) == 1
    assert await hedged(never(), lambda: answers(2), 0) == 2
    gate = asyncio.Event()
    first = asyncio.ensure_future(
        hedged(answers(1, gate), lambda: fails(GatewayUnavailableError("other")), 0)
    )
    for _ in range(5):
        await asyncio.sleep(0)
    gate.set()
    assert await first == 1
    with pytest.raises(RequestError, match="mine"):
        await hedged(fails(RequestError("mine", "x")), never, 60)
    with pytest.raises(InfraError, match="first"):
        await hedged(fails(InfraError("first")), lambda: fails(GatewayUnavailableError("other")), 0)


# ---------------------------------------------------------------- bounds


@pytest.mark.parametrize("count", [1, 2])
async def test_one_of_64_that_is_never_answered_does_not_hold_the_others(servers, count):
    made = await servers(count)
    for server in made:
        server.scripted.script = lambda request, attempt: (
            "read_timeout" if request.request_id == "s17" else "ok"
        )
    async with client_of(*made) as client:
        results = await client.score_many(calls(64, deadline_s=0.3))
    late = results.pop(17)
    assert [result.score for result in results] == [1.0] * 63
    assert (late.outcome, late.score) == (Outcome.INFRA_ERROR, None)
    assert late.error == "DeadlineError: no answer within 0.3 s"
    # It was not sent again: it had no time left, and may be what is wrong.
    assert sum(server.scripted.attempts["s17"] for server in made) == 1


async def test_the_clients_own_bound_holds_where_a_call_has_none(server):
    server.scripted.script = lambda request, attempt: (
        "read_timeout" if request.request_id == "s1" else "ok"
    )
    async with AsyncClient(server.address, timeout_s=0.3) as client:
        results = await client.score_many(calls(4))
    assert [result.score for result in results] == [1.0, None, 1.0, 1.0]


async def test_a_connection_that_is_half_open_costs_its_calls_their_bound_and_no_more(servers):
    """Everything is sent, nothing comes back, and no reset either."""
    gone, live = await servers(2)
    policy = RetryPolicy(base_s=0.01)
    async with client_of(gone, live, retry=policy) as client:
        await asyncio.gather(*(client.info() for _ in range(16)))
        gone.proxy.deaf = True
        results = await client.score_many(calls(64, deadline_s=0.5))
        served = [result for result in results if result.outcome is Outcome.SCORED]
        assert len(results) == 64
        assert len(served) >= 16
        assert {r.error.partition(":")[0] for r in results if r not in served} == {"DeadlineError"}


async def test_a_silent_attempt_is_tried_at_the_other_one(two):
    policy = RetryPolicy(attempt_timeout_s=LATE_S, base_s=0.001)
    async with client_of(*two, retry=policy) as client:
        results = await asyncio.gather(*(client.score("r", TRUTH) for _ in range(8)))
    assert [result.score for result in results] == [1.0] * 8


async def test_a_gateway_that_is_slow_to_take_a_connection_is_there(server):
    """TLS, the other side of the world, a busy loop: 0.4 s, which was taken for gone once."""
    server.proxy.late_s = 0.4
    async with AsyncClient(server.address, timeout_s=60) as client:
        assert (await client.info()).slots == 3
        assert client.counts().set_aside == 0


async def test_a_listener_that_says_nothing_is_given_up(monkeypatch):
    from verifier.client import channel

    quick = [(key, 50 if "reconnect" in key else value) for key, value in channel._OPTIONS]
    monkeypatch.setattr(channel, "_OPTIONS", tuple(quick))
    policy = RetryPolicy(max_attempts=3, base_s=0.001)
    with socket.socket() as listener:
        # The kernel takes the connections; nobody ever reads them.
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        async with AsyncClient(address, timeout_s=60, retry=policy) as client:
            with pytest.raises(GatewayUnavailableError, match="timed out"):
                await client.info()
