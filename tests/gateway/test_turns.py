"""One request is taken in per turn of the loop."""

from __future__ import annotations

import asyncio
import itertools

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
    # Turns are left free between two, so that the loop takes new calls in.
    assert all(later - earlier > 1 for earlier, later in itertools.pairwise(when[1:]))
    assert len(set(when)) == len(when)
    await asyncio.gather(*tasks, return_exceptions=True)
    # With nobody in line it is given at once.
    await asyncio.sleep(0)
    await asyncio.wait_for(turns.take(0), 1)
