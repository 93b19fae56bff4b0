"""A pool whose slots come and go by themselves."""

from __future__ import annotations

import asyncio

import pytest

from verifier.engine.pool import SlotPool
from verifier.errors import SlotError


class Slot:
    def __init__(self, name, sandbox):
        self.name, self.sandbox = name, sandbox
        self.healthy = True

    async def close(self):
        self.healthy = False
        self.sandbox.open.discard(self)
        self.sandbox.freed.set()

    async def compile(self, job): ...

    def run(self, job): ...


class Elastic:
    """So many slots and helpers, and who waits for one."""

    name = "elastic"
    memory_ceiling = 1 << 40
    partners_wanted = 0
    held = ()

    def __init__(self, slots, helpers=0):
        self.slot_count, self.helpers = slots, helpers
        self.open = set()
        self.freed = asyncio.Event()
        self.made = 0

    def on_slot_count(self, changed): ...

    async def start(self): ...

    async def close(self): ...

    async def guarantees(self):
        return ()

    async def toolchains(self):
        return {}

    async def packages(self):
        return {}

    def count(self, kind):
        return sum(slot.name.startswith(kind) for slot in self.open)

    def make(self, kind):
        self.made += 1
        slot = Slot(f"{kind}{self.made}", self)
        self.open.add(slot)
        return slot

    async def open_slot(self, cpu=None):
        if self.count("slot") >= self.slot_count:
            raise SlotError("all are taken")
        return self.make("slot")

    async def open_partner(self, cpu=None):
        self.partners_wanted += 1
        try:
            while self.count("helper") >= self.helpers:
                self.freed.clear()
                await self.freed.wait()
            return self.make("helper")
        finally:
            self.partners_wanted -= 1


async def started(sandbox):
    pool = SlotPool(sandbox, 1)
    await pool.start()
    pool.resize(sandbox.slot_count)
    while pool.idle < sandbox.slot_count:
        await asyncio.sleep(0)
    return pool


async def test_it_grows_and_shrinks():
    sandbox = Elastic(2)
    pool = await started(sandbox)
    sandbox.slot_count = 5
    pool.resize(5)
    while pool.idle < 5:
        await asyncio.sleep(0)
    sandbox.slot_count = 1
    pool.resize(1)
    assert pool.idle == 1
    while len(sandbox.open) > 1:
        await asyncio.sleep(0)
    await pool.close()
    assert not sandbox.open


async def test_one_that_died_idle_goes_first_and_is_not_handed_out():
    sandbox = Elastic(3)
    pool = await started(sandbox)
    dead = next(iter(sandbox.open))
    dead.healthy = False
    sandbox.slot_count = 2
    pool.resize(2)
    async with pool.group(2) as slots:
        assert dead not in slots
    assert pool.idle == 2
    await pool.close()


async def test_slots_in_use_are_not_taken_away_but_not_kept_either():
    sandbox = Elastic(2)
    pool = await started(sandbox)
    one, other = await pool.take(2)
    sandbox.slot_count = 1
    pool.resize(1)
    assert one.healthy
    assert other.healthy
    pool.give_back(one)
    pool.give_back(other)
    assert pool.idle == 1
    while len(sandbox.open) > 1:
        await asyncio.sleep(0)
    await pool.close()


async def test_who_waits_for_all_gets_all_that_are_left():
    sandbox = Elastic(3)
    pool = await started(sandbox)
    (held,) = await pool.take(1)
    waiting = asyncio.create_task(pool.take(3))
    await asyncio.sleep(0)
    sandbox.slot_count = 2
    pool.resize(2)
    pool.give_back(held)
    slots = await asyncio.wait_for(waiting, 5)
    assert len(slots) == 2
    for slot in slots:
        pool.give_back(slot)
    await pool.close()


@pytest.mark.parametrize("idle_has_it", [True, False])
async def test_a_helper_is_let_go_where_another_waits_for_it(idle_has_it):
    sandbox = Elastic(2, helpers=1)
    pool = await started(sandbox)
    one, other = await pool.take(2)
    first = await pool.partner(one)
    if idle_has_it:
        pool.give_back(one)
        assert first.healthy  # nobody waits: it stays with its slot
    asked = asyncio.create_task(pool.partner(other))
    while not sandbox.partners_wanted:
        await asyncio.sleep(0)
    if not idle_has_it:
        pool.give_back(one)
    second = await asyncio.wait_for(asked, 5)
    assert second is not first
    assert not first.healthy
    await pool.close()
