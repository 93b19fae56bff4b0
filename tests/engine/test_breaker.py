"""When a backend is not asked any more, when it is again, and what the pool does meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from verifier.engine import Engine
from verifier.engine.breaker import Breaker, Rule, State
from verifier.engine.patience import patiently
from verifier.engine.pool import SlotPool
from verifier.errors import BackendDownError, BackendError
from verifier.testing import FakeSandbox
from verifier.types import Case, RunFacts, ScoreTask, Suite, SuiteKind

RULE = Rule(failures=3, window_s=10.0, open_s=1.0, max_open_s=4.0)

# A step: ("fail"), ("work"), ("wait", seconds), ("probe", what it answers), ("probed", problem).
# After it: the state, and the seconds until the probe.
SCRIPTS = {
    "too few failures": (["fail", "fail"], State.CLOSED, 0.0),
    "failures in a row": (["fail", "fail", "fail"], State.OPEN, 1.0),
    "a success between": (["fail", "fail", "work", "fail", "fail"], State.CLOSED, 0.0),
    "failures far apart": (["fail", "fail", ("wait", 11.0), "fail"], State.CLOSED, 0.0),
    "old ones go, new ones count": (
        ["fail", ("wait", 11.0), "fail", "fail", "fail"], State.OPEN, 1.0,
    ),
    "no probe while closed": ([("probe", False)], State.CLOSED, 0.0),
    "no probe before its time": (
        ["fail"] * 3 + [("wait", 0.5), ("probe", False)], State.OPEN, 0.5,
    ),
    "one probe": (
        ["fail"] * 3 + [("wait", 1.0), ("probe", True), ("probe", False)], State.HALF_OPEN, 0.0,
    ),
    "the probe works": (
        ["fail"] * 3 + [("wait", 1.0), ("probe", True), ("probed", "")], State.CLOSED, 0.0,
    ),
    "the probe fails": (
        ["fail"] * 3 + [("wait", 1.0), ("probe", True), ("probed", "no")], State.OPEN, 2.0,
    ),
    "waits are bounded": (
        ["fail"] * 3 + [("wait", 9.0), ("probe", True), ("probed", "no")] * 5, State.OPEN, 4.0,
    ),
    "an old slot's success does not close it": (
        ["fail"] * 3 + ["work", ("wait", 1.0), ("probe", True), "work"], State.HALF_OPEN, 0.0,
    ),
    "echoes do not lengthen it": (["fail"] * 9, State.OPEN, 1.0),
    "a success after it closed starts anew": (
        ["fail"] * 3 + [("wait", 1.0), ("probe", True), ("probed", ""), "fail", "fail"],
        State.CLOSED, 0.0,
    ),
    "it opens again for the first time's wait": (
        ["fail"] * 3 + [("wait", 1.0), ("probe", True), ("probed", "no"), ("wait", 2.0)]
        + [("probe", True), ("probed", "")] + ["fail"] * 3, State.OPEN, 1.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_states(name):
    steps, state, wait_s = SCRIPTS[name]
    now = [0.0]
    breaker = Breaker(RULE, clock=lambda: now[0], rng=lambda: 1.0)
    for step in steps:
        match step:
            case "fail":
                breaker.failed("broken")
            case "work":
                breaker.worked()
            case ("wait", seconds):
                now[0] += seconds
            case ("probe", answer):
                assert breaker.probe() is answer
            case ("probed", problem):
                breaker.probed(problem)
    assert breaker.state is state
    assert breaker.wait_s() == pytest.approx(wait_s)
    assert bool(breaker.reason) is (state is not State.CLOSED)


def test_waits_are_drawn_from_the_upper_half_of_their_bound():
    for dice, wait_s in ((0.0, 0.5), (0.5, 0.75), (1.0, 1.0)):
        breaker = Breaker(RULE, clock=lambda: 0.0, rng=lambda dice=dice: dice)
        for _ in range(3):
            breaker.failed("broken")
        assert breaker.wait_s() == pytest.approx(wait_s)
        assert breaker.retry_after_s() > breaker.wait_s()


def test_who_watches_hears_of_each_change():
    breaker, seen = Breaker(Rule(failures=1, open_s=0.0)), []
    breaker.watch(lambda: seen.append(breaker.state))
    breaker.failed("x")
    breaker.failed("x")
    assert breaker.probe()
    breaker.probed("still")
    assert breaker.probe()
    breaker.probed()
    assert seen == [State.OPEN, State.HALF_OPEN, State.OPEN, State.HALF_OPEN, State.CLOSED]
    assert breaker.opened == 1


# ---------------------------------------------------------------- the pool behind it


class Gate:
    """A backend that opens no slot while it is shut."""

    def __init__(self, sandbox):
        self.sandbox, self.shut, self.tries = sandbox, False, 0
        self.opens = sandbox.open_slot
        sandbox.open_slot = self.open_slot

    async def open_slot(self, cpu=None):
        self.tries += 1
        if self.shut:
            raise BackendError("no engine")
        return await self.opens(cpu)


async def opened(script=None, rule=Rule(failures=2, open_s=1e-3)):  # noqa: B008 - frozen
    sandbox = FakeSandbox(script)
    gate = Gate(sandbox)
    await sandbox.start()
    pool = SlotPool(sandbox, 2, breaker=Breaker(rule))
    await pool.start()
    return pool, gate


async def until(condition):
    while not condition():
        await asyncio.sleep(0)


async def test_a_backend_that_opens_no_slot_opens_the_breaker_and_comes_back():
    pool, gate = await opened()
    held = await pool.take(2)
    waiting = asyncio.create_task(pool.take())
    await until(lambda: pool.waiting)
    gate.shut = True
    for slot in held:
        await slot.close()
        pool.give_back(slot)
    with pytest.raises(BackendDownError, match="no engine") as refused:  # who waited
        await waiting
    assert refused.value.retry_after_s > 0
    with pytest.raises(BackendDownError):  # who comes now
        await pool.take()
    tries = gate.tries
    await until(lambda: gate.tries > tries + 3)  # it is probed, again and again
    gate.shut = False
    await until(lambda: pool.breaker.closed)
    slots = await pool.take(2)
    assert all(slot.healthy for slot in slots)
    for slot in slots:
        pool.give_back(slot)
    await pool.close()
    assert gate.sandbox.open_slots == 0


async def test_a_probe_that_opens_a_slot_which_answers_wrong_does_not_close_it():
    answer = [b"nonsense"]

    def script(job, data):
        return RunFacts(exit_code=0, stdout=answer[0] or data)

    pool, gate = await opened(script)
    gate.sandbox.scripted = False
    tries = gate.tries
    pool.breaker.failed("one")
    pool.breaker.failed("two")
    await until(lambda: gate.tries > tries + 2)
    assert not pool.breaker.closed
    assert "nonsense" in pool.breaker.reason
    answer[0] = b""
    await until(lambda: pool.breaker.closed)
    assert pool.idle == 2  # the probe's slot was one too many
    await until(lambda: gate.sandbox.open_slots == 2)
    await pool.close()


async def test_what_is_no_error_of_ours_does_not_end_a_replacement():
    pool, gate = await opened(rule=Rule(failures=9, open_s=1e-3))
    opens, raised = gate.opens, []

    async def threadless(cpu=None):
        if not raised:
            raised.append(1)
            raise RuntimeError("can't start new thread")
        return await opens(cpu)

    gate.opens = threadless
    (slot,) = await pool.take()
    await slot.close()
    pool.give_back(slot)
    both = await pool.take(2)
    assert raised
    for slot in both:
        pool.give_back(slot)
    await pool.close()


async def test_a_slot_that_cannot_be_closed_is_replaced_all_the_same():
    pool, gate = await opened()
    (slot,) = await pool.take()

    async def stuck():
        slot.closed = True
        raise BackendError("no engine")

    slot.close = stuck
    slot._healthy = False
    pool.give_back(slot)
    both = await pool.take(2)
    assert slot not in both
    for slot in both:
        pool.give_back(slot)
    await pool.close()
    assert gate.sandbox.open_slots == 0


async def test_a_slot_that_dies_while_it_is_idle_is_replaced_at_once():
    pool, gate = await opened(rule=Rule(failures=9))
    told = {}
    opens = gate.opens

    async def watched(cpu=None):
        slot = await opens(cpu)
        slot.watch = lambda gone: told.__setitem__(slot, gone)
        return slot

    gate.opens = watched
    for _ in range(2):  # the first two cannot be watched: they are found dead when they are wanted
        await gate.sandbox.slots[_].close()
    both = await pool.take(2)
    assert all(slot.healthy for slot in both)
    for slot in both:
        pool.give_back(slot)
    victim = both[0]
    await victim.close()
    told[victim]()
    await until(lambda: pool.idle == 2)
    assert pool.replaced == 3
    assert gate.sandbox.open_slots == 2
    await pool.close()


# ---------------------------------------------------------------- the engine


def task():
    suite = Suite(SuiteKind.STDIN, (Case(stdin=b"a", expected=b"a"),))
    return ScoreTask("```python\nprint(input())\n```", suite)


async def test_an_engine_whose_backend_is_down_refuses_at_once_and_gives_no_verdict():
    sandbox = FakeSandbox()
    engine = Engine(sandbox, slots=1)
    await engine.start()
    assert (await engine.score(task())).score == 1.0
    gate = Gate(sandbox)
    gate.shut = True
    while engine.breaker.closed:
        engine.breaker.failed("the engine is gone")
    with pytest.raises(BackendDownError) as refused:
        await engine.score(task())
    assert refused.value.retry_after_s > 0
    assert engine.load().queued == 0
    await engine.close()


async def test_who_has_no_client_waits_for_the_backend_and_not_for_ever():
    errors = [BackendDownError("no engine", 1e-3), BackendDownError("no engine", 1e-3)]

    async def work():
        if errors:
            raise errors.pop()
        return "done"

    assert await patiently(work) == "done"
    errors[:] = [BackendDownError("no engine", 2.0)]
    with pytest.raises(BackendDownError):
        await patiently(work, patience_s=1.0)
