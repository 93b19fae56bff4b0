"""Cores, early stop and load, with real programs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from verifier.engine import Engine
from verifier.testcases import load_suite
from verifier.types import LimitOverrides, Program, RunTask, ScorePolicy, ScoreTask, Status

WHERE = b"import os\nprint(sorted(os.sched_getaffinity(0)))"
# 0.4 s of CPU by its own clock, however long that takes.
BUSY = (
    "```python\nimport time\n# {}\nwhile time.process_time() < 0.4:\n    pass\nprint(input())\n```"
)
ENDLESS = "```python\nwhile True:\n    pass\n```"


def echo(n):
    return load_suite({"inputs": ["1\n"] * n, "outputs": ["1\n"] * n})


@pytest.fixture
async def engine_of(sandbox_of):
    made = []

    async def make(**options):
        made.append(Engine(sandbox_of(), **{"slots": 2, **options}))
        await made[-1].start()
        return made[-1]

    yield make
    for engine in made:
        await engine.close()


@pytest.mark.parametrize("pin", [True, False])
async def test_programs_run_on_the_core_of_their_slot(engine_of, pin):
    cores = sorted(os.sched_getaffinity(0))
    engine = await engine_of(slots=len(cores), pin_slots=pin)
    tasks = [
        engine.run(RunTask(program=Program("python", WHERE + b"\n# %d" % i))) for i in range(8)
    ]
    seen = {outcome.facts.stdout.decode().strip() for outcome in await asyncio.gather(*tasks)}
    assert seen <= {str([core]) for core in cores} if pin else seen == {str(cores)}


async def test_an_endless_program_costs_two_limits(engine_of):
    engine = await engine_of()
    policy = ScorePolicy(max_time_limit_hits=2)
    limits = LimitOverrides(cpu_time_s=0.3, wall_time_s=20.0)
    result = await engine.score(ScoreTask(ENDLESS, echo(10), policy=policy, limits=limits))
    assert [c.status for c in result.cases] == [Status.TIME_LIMIT] * 2 + [Status.SKIPPED] * 8
    assert 0.6 <= result.timing.cpu_time_s <= 0.9
    assert engine.load().slots_idle == 2
    after = await engine.score(ScoreTask("```python\nprint(input())\n```", echo(4)))
    assert after.score == 1.0


async def test_a_run_that_no_longer_matters_is_killed_and_its_slot_is_clean(engine_of):
    engine = await engine_of()
    program = """```python
import time
if input() == "late":
    while True:
        pass
time.sleep(60)
```"""
    suite = load_suite({"inputs": ["late\n"] + ["x\n"] * 3, "outputs": ["1\n"] * 4})
    policy = ScorePolicy(max_time_limit_hits=1)
    limits = LimitOverrides(cpu_time_s=0.2, wall_time_s=100.0)
    task = ScoreTask(program, suite, policy=policy, limits=limits, deadline_s=50.0)
    result = await engine.score(task)  # else it would miss its deadline
    assert [c.status for c in result.cases] == [Status.TIME_LIMIT] + [Status.SKIPPED] * 3
    assert engine.faults == 0
    after = await engine.score(ScoreTask("```python\nprint(input())\n```", echo(4)))
    assert after.score == 1.0


@pytest.fixture
def hogs():
    burners = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(4)]
    yield
    for burner in burners:
        burner.kill()
        burner.wait()


async def test_load_does_not_make_programs_late(engine_of, hogs):
    """40 of them, ten times: benchmarks/load_invariance.py."""
    engine = await engine_of()
    limits = LimitOverrides(cpu_time_s=3.0)
    results = await asyncio.gather(
        *(engine.score(ScoreTask(BUSY.format(i), echo(1), limits=limits)) for i in range(6))
    )
    assert [r.status for r in results] == [Status.ACCEPTED] * 6
