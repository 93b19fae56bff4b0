"""Compilers have slots of their own: they do not take those of the runs."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from verifier.engine import Engine
from verifier.errors import SlotError
from verifier.testcases import load_suite
from verifier.testing import FakeSandbox
from verifier.types import (
    Checker,
    CompileFacts,
    Killer,
    Outcome,
    Program,
    RunFacts,
    RunTask,
    ScoreTask,
    Status,
)

PYTHON = "```python\nprint(input())\n```"
SUITE = load_suite({"inputs": ["1\n"], "outputs": ["1\n"]})


def cpp(number: int = 0) -> ScoreTask:
    return ScoreTask(f"```cpp\nint main() {{ return {number}; }}\n```", SUITE)


class Compiling:
    """A sandbox whose C++ compilers wait at a gate."""

    def __init__(self, *failures: Exception):
        self.gate = asyncio.Event()
        self.waiting = 0
        self.most = 0
        self.failures = list(failures)
        self.sandbox = FakeSandbox(compile_script=self)

    async def __call__(self, job):
        if not job.argv:
            return CompileFacts(ok=True, facts=RunFacts(exit_code=0), artifact=b"code")
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            await self.gate.wait()
        finally:
            self.waiting -= 1
        if self.failures:
            raise self.failures.pop(0)
        return CompileFacts(ok=True, facts=RunFacts(exit_code=0), artifact=b"main")


@pytest.fixture
async def engine_over():
    made = []

    async def make(sandbox, **options):
        engine = Engine(sandbox, **{"slots": 1, "compile_slots": 1, **options})
        await engine.start()
        made.append(engine)
        return engine

    yield make
    for engine in made:
        await engine.close()


async def until(condition):
    while not condition():
        await asyncio.sleep(0)


async def test_a_burst_of_compiles_leaves_the_runs_their_slots(engine_over):
    compiling = Compiling()
    engine = await engine_over(compiling.sandbox)
    burst = [asyncio.create_task(engine.score(cpp(n))) for n in range(5)]
    await until(lambda: compiling.waiting)
    for _ in range(3):
        assert (await engine.score(ScoreTask(PYTHON, SUITE))).score == 1.0
    assert engine.load().slots_idle == 1
    compiling.gate.set()
    assert [r.score for r in await asyncio.gather(*burst)] == [1.0] * 5
    assert compiling.most == 1


async def test_without_them_a_compile_takes_a_runs_slot(engine_over):
    compiling = Compiling()
    engine = await engine_over(compiling.sandbox, compile_slots=0)
    first = asyncio.create_task(engine.score(cpp()))
    await until(lambda: compiling.waiting)
    assert engine.load().slots_idle == 0
    second = asyncio.create_task(engine.score(ScoreTask(PYTHON, SUITE)))
    compiling.gate.set()
    assert (await first).score == (await second).score == 1.0
    assert len(compiling.sandbox.slots) == 1


async def test_they_are_opened_when_the_first_is_needed(engine_over):
    compiling = Compiling()
    compiling.gate.set()
    engine = await engine_over(compiling.sandbox, compile_slots=3)
    await engine.score(ScoreTask(PYTHON, SUITE))
    assert len(compiling.sandbox.slots) == 1
    await asyncio.gather(*(engine.score(cpp(n)) for n in range(3)))
    assert len(compiling.sandbox.slots) == 4


async def test_who_asked_first_may_go_away_while_they_open(engine_over):
    compiling = Compiling()
    compiling.gate.set()
    engine = await engine_over(compiling.sandbox)
    first = asyncio.create_task(engine.score(cpp(1)))
    second = asyncio.create_task(engine.score(cpp(2)))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).score == 1.0
    assert len(compiling.sandbox.slots) == 2


async def test_a_compilers_fault_is_tried_again_on_another_slot(engine_over):
    compiling = Compiling(SlotError("died"))
    compiling.gate.set()
    engine = await engine_over(compiling.sandbox)
    result = await engine.score(cpp())
    assert (result.outcome, result.score, engine.faults) == (Outcome.SCORED, 1.0, 1)
    worse = Compiling(SlotError("died"), SlotError("died"))
    worse.gate.set()
    engine = await engine_over(worse.sandbox)
    assert (await engine.score(cpp())).outcome is Outcome.INFRA_ERROR


async def test_slots_that_cannot_be_opened_are_no_verdict_and_tried_again(engine_over):
    compiling = Compiling()
    compiling.gate.set()
    engine = await engine_over(compiling.sandbox)
    opened, compiling.sandbox.open_slot = compiling.sandbox.open_slot, refuse
    assert (await engine.score(cpp())).outcome is Outcome.INFRA_ERROR
    compiling.sandbox.open_slot = opened
    assert (await engine.score(cpp())).score == 1.0


async def refuse():
    raise SlotError("no more")


async def test_a_cancelled_compile_frees_its_slot(engine_over):
    compiling = Compiling()
    engine = await engine_over(compiling.sandbox)
    first = asyncio.create_task(engine.score(cpp(1)))
    await until(lambda: compiling.waiting)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    compiling.gate.set()
    assert (await engine.score(cpp(2))).score == 1.0


async def test_a_run_compiles_there_too(engine_over):
    compiling = Compiling()
    engine = await engine_over(compiling.sandbox)
    task = RunTask(Program("cpp", b"int main(){}"), stdin=b"in")
    run = asyncio.create_task(engine.run(task))
    await until(lambda: compiling.waiting)
    assert engine.load().slots_idle == 1
    compiling.gate.set()
    assert (await run).status is Status.ACCEPTED


async def test_a_checker_is_compiled_beside_the_run_and_never_where_programs_are(engine_over):
    compiling = Compiling()
    compiling.gate.set()
    engine = await engine_over(compiling.sandbox)
    task = ScoreTask(
        PYTHON, SUITE, checker=Checker("int main(){}", language="cpp", style="testlib")
    )
    assert (await engine.score(task)).score == 1.0
    # The run's slot and its partner: no slot for compilers was opened.
    assert len(compiling.sandbox.slots) == 2


async def test_a_run_that_is_to_be_alone_waits_for_the_compilers():
    late = RunFacts(signal=9, killer=Killer.WALL, wall_time_s=21.0, run_delay_s=20.0)
    compiling = Compiling()
    order = []

    def script(job, data):
        order.append(("run", compiling.waiting))
        return late if len(order) == 1 else RunFacts(exit_code=0, stdout=data)

    compiling.sandbox._script = script
    engine = Engine(compiling.sandbox, slots=1, compile_slots=2)
    await engine.start()
    compiles = [asyncio.create_task(engine.score(cpp(n))) for n in range(2)]
    await until(lambda: compiling.waiting == 2)
    held_up = asyncio.create_task(engine.score(ScoreTask(PYTHON, SUITE)))
    await until(lambda: order)
    for _ in range(50):  # all that can happen happens
        await asyncio.sleep(0)
    assert order == [("run", 2)]
    compiling.gate.set()
    result = await held_up
    assert (result.score, result.cases[0].rerun) == (1.0, True)
    assert order[1] == ("run", 0)
    assert [r.score for r in await asyncio.gather(*compiles)] == [1.0, 1.0]
    await engine.close()


def starved(wall_time_s: float) -> CompileFacts:
    """A compiler that was ready to run for half of its time, and had no core."""
    facts = RunFacts(signal=9, killer=Killer.WALL, run_delay_s=wall_time_s / 2, cpu_time_s=0.1)
    return CompileFacts(ok=False, facts=facts)


class Starving:
    """C++ compilers get no core so often, then one."""

    def __init__(self, times: int):
        self.left = times
        self.sandbox = FakeSandbox(compile_script=self)

    async def __call__(self, job):
        if not job.argv:
            return CompileFacts(ok=True, facts=RunFacts(exit_code=0), artifact=b"code")
        if self.left:
            self.left -= 1
            return starved(job.limits.wall_time_s)
        return CompileFacts(ok=True, facts=RunFacts(exit_code=0), artifact=b"main")


@pytest.mark.parametrize("compile_slots", [0, 1])
@pytest.mark.parametrize("slots", [1, 2])
async def test_a_compiler_without_a_core_is_run_again_alone(engine_over, slots, compile_slots):
    engine = await engine_over(Starving(1).sandbox, slots=slots, compile_slots=compile_slots)
    result = await asyncio.wait_for(engine.score(cpp()), 10)
    assert result.outcome is Outcome.SCORED
    assert result.status is not Status.COMPILE_ERROR
    assert engine.reruns == 1


@pytest.mark.parametrize("compile_slots", [0, 1])
@pytest.mark.parametrize("slots", [1, 2])
async def test_equal_programs_behind_one_that_got_no_core(engine_over, slots, compile_slots):
    engine = await engine_over(Starving(1).sandbox, slots=slots, compile_slots=compile_slots)
    tasks = [engine.score(dataclasses.replace(cpp(), no_cache=True)) for _ in range(6)]
    results = await asyncio.wait_for(asyncio.gather(*tasks), 20)
    assert {result.outcome for result in results} == {Outcome.SCORED}
    assert Status.COMPILE_ERROR not in {result.status for result in results}


async def test_a_compiler_without_a_core_even_then_is_no_verdict(engine_over):
    engine = await engine_over(Starving(2).sandbox)
    result = await asyncio.wait_for(engine.score(cpp()), 10)
    assert (result.outcome, result.score) == (Outcome.INFRA_ERROR, None)
    assert "overloaded" in result.error


async def test_a_compiler_that_waits_for_something_else_is_the_programs(engine_over):
    def script(job):
        if not job.argv:
            return CompileFacts(ok=True, facts=RunFacts(exit_code=0), artifact=b"code")
        return CompileFacts(ok=False, facts=RunFacts(signal=9, killer=Killer.WALL, cpu_time_s=0.1))

    engine = await engine_over(FakeSandbox(compile_script=script))
    result = await engine.score(cpp())
    assert result.status is Status.COMPILE_ERROR
    assert engine.reruns == 0
