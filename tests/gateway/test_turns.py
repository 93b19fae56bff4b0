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


@pytest.mark.parametrize(("quiet_s", "many"), [(1e9, 0), (1e-4, 0), (1e9, 2)])
async def test_calls_that_come_in_go_first_within_a_bound(monkeypatch, quiet_s, many):
    monkeypatch.setattr(module, "_QUIET_S", quiet_s)
    monkeypatch.setattr(module, "_MANY", many)
    turns, given = Turns(), []

    async def come(name):
        await turns.take(0)
        given.append(name)

    turns.came()
    tasks = [asyncio.create_task(come(name)) for name in "abc"]
    if quiet_s < 1 or many:  # nothing else comes, or few wait: all of them get their turns
        await asyncio.gather(*tasks)
        return
    for _ in range(20):
        await asyncio.sleep(0)
    assert given == ["a"]
    for _ in range(module._MOST_CALLS):
        turns.came()
    turns._next(asyncio.get_running_loop())  # the timer, which is not to be waited for
    for _ in range(20):
        await asyncio.sleep(0)
    assert given == ["a", "b"]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
