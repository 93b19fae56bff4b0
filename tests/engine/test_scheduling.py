"""Shares, turns and early stop in the engine, over a fake sandbox: the order is exact."""

from __future__ import annotations

import asyncio

import pytest

from verifier.engine import Engine
from verifier.engine.cores import Cores
from verifier.engine.pool import SlotPool
from verifier.engine.shares import TURN_S
from verifier.errors import DeadlineError
from verifier.testcases import load_suite
from verifier.testing import FakeSandbox
from verifier.types import Killer, LimitOverrides, RunFacts, ScorePolicy, ScoreTask, Status

RESPONSE = "```python\nprint(input())\n```"
LATE = RunFacts(signal=9, killer=Killer.CPU, cpu_time_s=10.0, wall_time_s=10.0)
TWO_HITS = ScorePolicy(max_time_limit_hits=2)
A, T, S = Status.ACCEPTED, Status.TIME_LIMIT, Status.SKIPPED


def suite(name, n):
    texts = [f"{name}{i}\n" for i in range(n)]
    return load_suite({"inputs": texts, "outputs": texts})


def task(name, n=1, **more):
    return ScoreTask(RESPONSE, suite(name, n), **more)


def right(data):
    return RunFacts(exit_code=0, stdout=data, wall_time_s=0.001)


class World:
    """An engine whose runs take as long as `costs` says, on a clock of its own."""

    def __init__(self, slots=1, **options):
        self.now = 0.0
        self.costs: dict[str, float] = {}
        self.order: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.begun: dict[str, asyncio.Event] = {}
        self.sandbox = FakeSandbox(self.script)
        self.engine = Engine(self.sandbox, slots=slots, **options)
        self.engine._shop.pool._clock = lambda: self.now

    async def script(self, job, data):
        name = data.decode().strip()
        self.order.append(name)
        if name in self.begun:
            self.begun[name].set()
        if name in self.gates:
            await self.gates[name].wait()
        self.now += self.costs.get(name, self.costs.get(name.rstrip("0123456789"), 0.0))
        return right(data)

    def gate(self, name):
        self.gates[name], self.begun[name] = asyncio.Event(), asyncio.Event()

    async def __aenter__(self):
        await self.engine.start()
        return self

    async def __aexit__(self, *exc):
        await self.engine.close()

    def submit(self, *args, **more):
        return asyncio.create_task(self.engine.score(task(*args, **more)))


async def test_a_request_of_higher_priority_waits_for_one_case():
    async with World() as world:
        world.gate("long3")
        long = world.submit("long", 30)
        await world.begun["long3"].wait()
        urgent = world.submit("urgent", priority=10)
        offline = world.submit("offline", priority=-1)
        while world.engine._shop.pool.waiting < 2:
            await asyncio.sleep(0)
        world.gates["long3"].set()
        for result in await asyncio.gather(long, urgent, offline):
            assert result.score == 1.0
        expected = [f"long{i}" for i in range(4)] + ["urgent0"]
        assert world.order == [*expected, *(f"long{i}" for i in range(4, 30)), "offline0"]


async def test_a_client_with_many_queued_does_not_hold_up_another():
    async with World() as world:
        world.costs = {"first": 0.5, "many": 0.5, "other": 0.5}
        world.gate("first0")
        tasks = [world.submit("first", client_id="many")]
        await world.begun["first0"].wait()
        tasks += [world.submit("many", client_id="many") for _ in range(30)]
        tasks += [world.submit("other", client_id="other") for _ in range(3)]
        while world.engine._shop.pool.waiting < 33:
            await asyncio.sleep(0)
        world.gates["first0"].set()
        await asyncio.gather(*tasks)
        assert world.order[:7] == ["first0"] + ["other0", "many0"] * 3
        assert world.order[7:] == ["many0"] * 27


async def test_long_suites_interleave_with_short_ones_of_the_same_client():
    async with World() as world:
        world.costs = {"long": TURN_S / 4}
        world.gate("long0")
        tasks = [world.submit("long", 10)]
        await world.begun["long0"].wait()
        tasks += [world.submit(f"short{x}", 2) for x in "ab"]
        while world.engine._shop.pool.waiting < 2:
            await asyncio.sleep(0)
        world.gates["long0"].set()
        for result in await asyncio.gather(*tasks):
            assert result.score == 1.0
        turn = ["long0", "long1", "long2", "long3"]
        short = ["shorta0", "shorta1", "shortb0", "shortb1"]
        assert world.order == [*turn, *short, *(f"long{i}" for i in range(4, 10))]


async def test_more_tasks_than_the_shop_holds_all_finish_and_a_late_one_leaves_its_line():
    async with World() as world:
        world.gate("first0")
        tasks = [world.submit("first")]
        await world.begun["first0"].wait()
        tasks += [world.submit(f"t{i}_", 2) for i in range(300)]
        late = world.submit("late", deadline_s=0.001)
        with pytest.raises(DeadlineError):
            await late
        assert 200 < world.engine._lobby.waiting < 300
        urgent = world.submit("urgent", priority=1)  # has places of its own
        while not world.engine._shop.pool._line.first().claim.priority:
            await asyncio.sleep(0)
        world.gates["first0"].set()
        assert {r.score for r in await asyncio.gather(urgent, *tasks)} == {1.0}
        assert world.order[:3] == ["first0", "urgent0", "t0_0"]
        assert "late0" not in world.order
        assert not world.engine._lobby._rooms


async def test_cases_are_dealt_out_like_cards():
    async with World(slots=2) as world:
        for index in range(4):
            world.gate(f"x{index}")
        scored = world.submit("x", 4)
        await world.begun["x0"].wait()
        await world.begun["x1"].wait()
        assert len(world.order) == 2
        for gate in world.gates.values():
            gate.set()
        assert (await scored).score == 1.0


async def test_a_slot_that_becomes_idle_takes_half_of_what_slow_cases_are_left():
    step, order = asyncio.Event(), []

    async def script(job, data):
        order.append(data)
        if data == b"busy0\n":
            await step.wait()
            return right(data)
        if len(order) == 3:  # the second of the slow ones: now the other slot becomes free
            step.set()
            while engine.load().slots_idle == 0:
                await asyncio.sleep(0)
        return RunFacts(exit_code=0, stdout=data, wall_time_s=1.0)

    sandbox = FakeSandbox(script)
    engine = Engine(sandbox, slots=2)
    await engine.start()
    busy = asyncio.create_task(engine.score(task("busy")))
    while not order:
        await asyncio.sleep(0)
    assert (await engine.score(task("x", 8))).score == 1.0
    await busy
    assert order[:3] == [b"busy0\n", b"x0\n", b"x1\n"]
    assert len(order) == 9
    assert [len(job.inputs) for job, _ in sandbox.runs] == [1, 8, 8, 3, 3, 3, 3, 1, 1]
    await engine.close()


async def test_a_slot_that_is_done_takes_half_of_what_another_has_left():
    async def script(job, data):
        slow = data in (b"x1\n", b"x3\n", b"x5\n", b"x7\n")
        while slow and len(sandbox.runs) < 6 and engine.load().slots_idle == 0:
            await asyncio.sleep(0)  # the quick half first
        return RunFacts(exit_code=0, stdout=data, wall_time_s=1.0 if slow else 0.001)

    sandbox = FakeSandbox(script)
    engine = Engine(sandbox, slots=2)
    await engine.start()
    assert (await engine.score(task("x", 8))).score == 1.0
    jobs = {id(job): tuple(job.inputs) for job, _ in sandbox.runs}
    assert (b"x0\n", b"x2\n", b"x4\n", b"x6\n") in jobs.values()
    assert (b"x5\n",) in jobs.values()
    assert len(sandbox.runs) == 8
    await engine.close()


@pytest.mark.parametrize("slots", [1, 2, 4])
async def test_an_endless_program_costs_as_many_limits_as_it_may_hit(slots):
    async def script(job, data):
        await asyncio.sleep(0)
        return LATE

    sandbox = FakeSandbox(script)
    engine = Engine(sandbox, slots=slots)
    await engine.start()
    result = await engine.score(task("x", 10, policy=TWO_HITS))
    assert [c.status for c in result.cases] == [T, T] + [S] * 8
    assert (result.score, result.status, result.passed) == (0.0, T, 0)
    assert (
        result.stopped == "stopped after case 1: 2 cases hit the time limit (max_time_limit_hits)"
    )
    if slots <= 2:
        assert len(sandbox.runs) - sandbox.killed == 2
    assert engine.load().slots_idle == slots
    await engine.close()


async def test_a_case_that_no_longer_matters_is_killed():
    never = asyncio.Event()

    async def script(job, data):
        if data == b"x0\n":
            while len(sandbox.runs) < 2:
                await asyncio.sleep(0)
            return LATE
        await never.wait()
        return right(data)

    sandbox = FakeSandbox(script)
    engine = Engine(sandbox, slots=2)
    await engine.start()
    policy = ScorePolicy(max_time_limit_hits=1)
    result = await engine.score(task("x", 4, policy=policy))
    assert [c.status for c in result.cases] == [T, S, S, S]
    assert sandbox.killed == 1
    assert engine.load().slots_idle == 2
    await engine.close()


@pytest.mark.parametrize("slots", [1, 2, 3])
async def test_what_comes_after_the_cut_counts_as_skipped_wherever_it_ran(slots):
    def script(job, data):
        return LATE if data in (b"x4\n", b"x7\n") else right(data)

    engine = Engine(FakeSandbox(script), slots=slots)
    await engine.start()
    result = await engine.score(task("x", 40, policy=TWO_HITS))
    assert [c.status for c in result.cases] == [A] * 4 + [T, A, A, T] + [S] * 32
    assert result.score == 6 / 40
    plain = await engine.score(task("x", 40))
    assert (plain.score, plain.stopped) == (38 / 40, "")
    await engine.close()


async def test_the_cpu_budget_of_a_response():
    def script(job, data):
        return RunFacts(exit_code=0, stdout=data, cpu_time_s=1.0)

    sandbox = FakeSandbox(script)
    engine = Engine(sandbox, slots=2)
    await engine.start()
    policy = ScorePolicy(total_cpu_time_s=2.5)
    result = await engine.score(task("x", 8, policy=policy, limits=LimitOverrides(cpu_time_s=5.0)))
    assert [c.status for c in result.cases] == [A, A, T, S, S, S, S, S]
    assert result.stopped.endswith("(total_cpu_time_s)")
    assert {job.limits.cpu_time_s for job, _ in sandbox.runs} == {2.5}
    await engine.close()


async def test_a_contended_time_limit_counts_only_after_it_was_run_alone():
    seen = []

    def script(job, data):
        seen.append(data)
        if data == b"x1\n" and seen.count(data) == 1:
            return RunFacts(signal=9, killer=Killer.WALL, run_delay_s=job.limits.wall_time_s)
        return LATE if data == b"x3\n" else right(data)

    engine = Engine(FakeSandbox(script), slots=2)
    await engine.start()
    policy = ScorePolicy(max_time_limit_hits=1)
    result = await engine.score(task("x", 6, policy=policy))
    assert [c.status for c in result.cases] == [A, A, A, T, S, S]
    assert [c.rerun for c in result.cases] == [False, True] + [False] * 4
    await engine.close()


async def test_slots_and_their_partners_are_spread_over_the_cores():
    allowed = {3, 5}
    sandbox = FakeSandbox()
    pool = SlotPool(sandbox, 3, recycle_after=1, pin=True, cores=Cores(lambda: allowed))
    await pool.start()
    assert sorted(slot.cpu for slot in sandbox.slots) == [3, 3, 5]
    slots = await pool.take(3)
    for slot in slots:
        assert (await pool.partner(slot)).cpu == slot.cpu
    allowed.remove(3)  # a cpuset became smaller: new slots go where they may
    for slot in slots:
        pool.give_back(slot)
    fresh = await pool.take(3)
    assert {slot.cpu for slot in fresh} == {5}
    for slot in fresh:
        pool.give_back(slot)
    await pool.close()
    free = SlotPool(FakeSandbox(), 1)
    await free.start()
    (slot,) = await free.take()
    assert slot.cpu is None
    free.give_back(slot)
    await free.close()


@pytest.mark.parametrize(("slots", "pinned"), [(4, True), (3, True), (2, False), (9, True)])
async def test_few_slots_on_many_cores_are_left_to_the_kernel(slots, pinned, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2, 3})
    sandbox = FakeSandbox()
    for pin in (True, False):
        engine = Engine(sandbox, slots=slots, pin_slots=pin)
        await engine.start()
        assert {slot.cpu is not None for slot in sandbox.slots[-slots:]} == {pinned and pin}
        await engine.close()
