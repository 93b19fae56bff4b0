"""One request is taken in per turn of the loop, and calls that come in go first."""

from __future__ import annotations

import asyncio

import pytest

from verifier.gateway import turns as module
from verifier.gateway.turns import Turns


async def test_one_per_turn_and_higher_priorities_first():
    turns, order = Turns(), []
    loop_turns = 0

    async def come(name, priority):
        await turns.take(priority)
        order.append((name, loop_turns))

    tasks = [
        asyncio.create_task(come(name, priority))
        for name, priority in (("a", 0), ("b", 0), ("gone", 0), ("c", -1), ("urgent", 10))
    ]
    await asyncio.sleep(0)
    tasks[2].cancel()
    while len(order) < 4:
        loop_turns += 1
        await asyncio.sleep(0)
    names, when = zip(*order, strict=True)
    assert names == ("a", "urgent", "b", "c")
    assert len(set(when)) == len(when)
    await asyncio.gather(*tasks, return_exceptions=True)
    # With nobody in line it is given at once.
    await asyncio.sleep(0)
    await asyncio.wait_for(turns.take(0), 1)


@pytest.mark.parametrize(
    ("quiet_s", "held", "priority"), [(1e-4, 99, 0), (1e9, module._MANY, 0), (1e9, 99, 1)]
)
async def test_turns_are_given_while_no_call_comes_or_few_are_held_or_to_priority(
    monkeypatch, quiet_s, held, priority
):
    monkeypatch.setattr(module, "_QUIET_S", quiet_s)
    turns = Turns(lambda: held)
    turns.came()
    await asyncio.gather(*(turns.take(priority) for _ in range(3)))


async def test_calls_that_come_in_go_first_within_a_bound(monkeypatch):
    monkeypatch.setattr(module, "_QUIET_S", 1e9)
    turns, given = Turns(lambda: 99), []

    async def come(name):
        await turns.take(0)
        given.append(name)

    turns.came()
    tasks = [asyncio.create_task(come(name)) for name in "abc"]
    for calls in (0, module._MOST_CALLS - 1, module._MOST_CALLS):
        for _ in range(calls):
            turns.came()
        turns._next(asyncio.get_running_loop())  # the timer, which is not to be waited for
        for _ in range(20):
            await asyncio.sleep(0)
    assert given == ["a", "b"]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
