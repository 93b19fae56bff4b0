"""Who gets a slot, and what happens to one that failed."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from verifier.engine.pool import SlotPool
from verifier.errors import BackendError
from verifier.testing import FakeSandbox


async def opened(size=2, **options):
    sandbox = FakeSandbox(**options)
    await sandbox.start()
    pool = SlotPool(sandbox, size)
    await pool.start()
    return pool


async def test_slots_are_granted_in_order_and_by_priority():
    pool = await opened(1)
    (held,) = await pool.take()
    order = []

    async def want(name, priority):
        (slot,) = await pool.take(1, priority)
        order.append(name)
        pool.give_back(slot)

    waiting = [asyncio.create_task(want(n, p)) for n, p in (("a", 0), ("b", 0), ("urgent", 5))]
    while pool.waiting < 3:
        await asyncio.sleep(0)
    pool.give_back(held)
    await asyncio.gather(*waiting)
    assert order == ["urgent", "a", "b"]
    await pool.close()


async def test_a_group_of_all_is_of_those_that_there_are():
    """Slots that come and go by themselves may be another gateway's: they do not hold the line."""
    pool = await opened(2)
    pool._elastic = SimpleNamespace(partners_wanted=0)
    lost, held = await pool.take(2)
    closed = asyncio.Event()
    pool._sandbox.open_slot = closed.wait  # none comes for now
    lost._healthy = False
    pool.give_back(lost)
    group = asyncio.create_task(pool.take(2))
    behind = asyncio.create_task(pool.take())
    while pool.waiting < 2:
        await asyncio.sleep(0)
    pool.give_back(held)
    (slot,) = await asyncio.wait_for(group, 5)
    pool.give_back(slot)
    pool.give_back(*await asyncio.wait_for(behind, 5))
    await pool.close()


async def test_a_group_is_granted_whole_and_is_not_starved():
    pool = await opened(2)
    (first,) = await pool.take()
    group = asyncio.create_task(pool.take(2))
    while not pool.waiting:
        await asyncio.sleep(0)
    assert pool.try_take() is None  # one is idle, but the group is in line for it
    single = asyncio.create_task(pool.take())
    while pool.waiting < 2:
        await asyncio.sleep(0)
    pool.give_back(first)
    slots = await group
    assert len(slots) == 2
    assert not single.done()
    for slot in slots:
        pool.give_back(slot)
    pool.give_back(*await single)
    await pool.close()


async def test_a_group_bigger_than_the_pool_is_refused():
    pool = await opened(2)
    with pytest.raises(BackendError, match="3 slots"):
        await pool.take(3)
    await pool.close()


async def test_a_waiter_that_is_cancelled_takes_nothing_with_it():
    pool = await opened(1)
    (held,) = await pool.take()
    waiter = asyncio.create_task(pool.take())
    while not pool.waiting:
        await asyncio.sleep(0)
    pool.give_back(held)  # granted, and cancelled before it could run
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert pool.idle == 1
    await pool.close()


async def test_a_dead_slot_is_replaced():
    pool = await opened(1)
    (slot,) = await pool.take()
    await slot.close()
    pool.give_back(slot)
    (fresh,) = await pool.take()
    assert fresh.healthy
    assert fresh.name != slot.name
    pool.give_back(fresh)
    await pool.close()


async def test_slots_are_recycled():
    sandbox = FakeSandbox()
    await sandbox.start()
    pool = SlotPool(sandbox, 1, recycle_after=2)
    await pool.start()
    names = []
    for _ in range(4):
        (slot,) = await pool.take()
        names.append(slot.name)
        pool.give_back(slot)
    assert names[0] == names[1] != names[2] == names[3]
    await pool.close()


async def test_closing_fails_who_waits():
    pool = await opened(1)
    (held,) = await pool.take()
    waiter = asyncio.create_task(pool.take())
    while not pool.waiting:
        await asyncio.sleep(0)
    await pool.close()
    with pytest.raises(BackendError):
        await waiter
    pool.give_back(held)
    with pytest.raises(BackendError):
        await pool.take()
