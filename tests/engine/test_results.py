"""Equal programs against equal suites run once, and nothing else is shared."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from verifier.engine import Engine
from verifier.engine.results import CaseVerdicts, ResultCache, result_key
from verifier.errors import DeadlineError, SlotError
from verifier.testcases import load_suite
from verifier.testing import FakeSandbox
from verifier.types import (
    CaseResult,
    Checker,
    Comparator,
    CompileFacts,
    Interactor,
    Killer,
    LimitOverrides,
    Limits,
    Outcome,
    Program,
    RunFacts,
    ScorePolicy,
    ScoreTask,
    Status,
)

RESPONSE = "```python\nprint(input())\n```"
LIMITS = Limits()
DATA = {"inputs": ["1\n", "2\n"], "outputs": ["1\n", "2\n"]}
SUITE = load_suite(DATA)
TASK = ScoreTask(RESPONSE, SUITE)


class Runs:
    """A sandbox's script that counts, and waits at a gate."""

    def __init__(self, facts=None):
        self.count = 0
        self.facts = facts
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, job, data):
        self.count += 1
        await self.gate.wait()
        return self.facts or RunFacts(exit_code=0, cpu_time_s=0.01, stdout=data)


@pytest.fixture
async def engine_with():
    made = []

    async def make(script, **options):
        sandbox = FakeSandbox(script)
        options.setdefault("result_cache_bytes", 1_000_000)
        engine = Engine(sandbox, slots=options.pop("slots", 2), **options)
        await engine.start()
        made.append(engine)
        return engine

    yield make
    for engine in made:
        await engine.close()


async def until(condition):
    while not condition():
        await asyncio.sleep(0)


# ---------------------------------------------------------------- through the engine


async def test_the_second_answer_is_the_first_one_and_says_so(engine_with):
    runs = Runs()
    engine = await engine_with(runs)
    first = await engine.score(dataclasses.replace(TASK, request_id="a"))
    # Another text around the same program: how it was extracted is its own.
    other = "Well.\n" + RESPONSE
    second = await engine.score(dataclasses.replace(TASK, response=other, request_id="b"))
    assert runs.count == 2
    assert (first.cached, second.cached) == (False, True)
    assert second.cases == tuple(dataclasses.replace(c, queue_s=0.0) for c in first.cases)
    assert (second.score, second.status, second.request_id) == (1.0, Status.ACCEPTED, "b")
    assert (second.timing.queue_s, second.timing.compile_s) == (0.0, 0.0)
    assert second.timing.cpu_time_s == first.timing.cpu_time_s > 0


@pytest.mark.parametrize(
    "change",
    [
        {"no_cache": True},
        {"suite": load_suite({**DATA, "deterministic": False})},
        {"suite": load_suite({**DATA, "outputs": ["1\n", "3\n"]})},
        {"response": "```python\nprint(input() )\n```"},
        {"limits": LimitOverrides(cpu_time_s=5.0)},
        {"comparator": Comparator("exact")},
        {"policy": ScorePolicy("all_or_nothing")},
        {"excerpt_bytes": 1},
    ],
)
async def test_anything_else_runs(engine_with, change):
    runs = Runs()
    engine = await engine_with(runs)
    await engine.score(TASK)
    result = await engine.score(dataclasses.replace(TASK, **change))
    assert (runs.count, result.cached) == (4, False)


@pytest.mark.parametrize(
    "task",
    [
        dataclasses.replace(TASK, no_cache=True),
        dataclasses.replace(TASK, suite=load_suite({**DATA, "deterministic": False})),
    ],
)
async def test_what_is_not_to_be_cached_is_neither_read_nor_kept_nor_shared(engine_with, task):
    runs = Runs()
    engine = await engine_with(runs)
    await engine.score(task)
    runs.gate.clear()
    both = [asyncio.create_task(engine.score(task)) for _ in range(2)]
    await until(lambda: runs.count == 4)
    runs.gate.set()
    assert not any(r.cached for r in await asyncio.gather(*both))
    assert len(engine._results) == 0


async def test_it_is_off_unless_it_has_a_budget(engine_with):
    runs = Runs()
    engine = await engine_with(runs, result_cache_bytes=0)
    for _ in range(2):
        assert not (await engine.score(TASK)).cached
    assert runs.count == 4


async def test_equal_requests_in_flight_run_once(engine_with):
    runs = Runs()
    runs.gate.clear()
    engine = await engine_with(runs)
    tasks = [asyncio.create_task(engine.score(TASK)) for _ in range(16)]
    await until(lambda: runs.count)
    runs.gate.set()
    results = await asyncio.gather(*tasks)
    assert runs.count == 2
    assert sum(r.cached for r in results) == 15
    assert {r.score for r in results} == {1.0}


async def test_the_leader_cancelled_is_not_the_others_end(engine_with):
    runs = Runs()
    runs.gate.clear()
    engine = await engine_with(runs, slots=1)
    leader = asyncio.create_task(engine.score(TASK))
    await until(lambda: runs.count)
    followers = [asyncio.create_task(engine.score(TASK)) for _ in range(3)]
    await asyncio.sleep(0)
    leader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leader
    runs.gate.set()
    results = await asyncio.gather(*followers)
    assert [r.score for r in results] == [1.0] * 3
    assert sum(r.cached for r in results) == 2
    assert runs.count == 1 + 2


async def test_the_leaders_deadline_is_its_own(engine_with):
    runs = Runs()
    runs.gate.clear()
    engine = await engine_with(runs, slots=1)
    leader = asyncio.create_task(engine.score(dataclasses.replace(TASK, deadline_s=1e-3)))
    await until(lambda: runs.count)
    follower = asyncio.create_task(engine.score(TASK))
    with pytest.raises(DeadlineError):
        await leader
    runs.gate.set()
    assert (await follower).score == 1.0


async def test_a_follower_cancelled_leaves_the_leader_alone(engine_with):
    runs = Runs()
    runs.gate.clear()
    engine = await engine_with(runs)
    leader = asyncio.create_task(engine.score(TASK))
    await until(lambda: runs.count)
    follower = asyncio.create_task(engine.score(TASK))
    await asyncio.sleep(0)
    follower.cancel()
    with pytest.raises(asyncio.CancelledError):
        await follower
    runs.gate.set()
    assert (await leader).score == 1.0
    assert runs.count == 2


async def test_a_fault_of_the_leader_makes_the_follower_run_itself():
    # The leader's first run fails, and the retry; then the machinery is well again.
    gate = asyncio.Event()
    count = 0

    async def script(job, data):
        nonlocal count
        count += 1
        await gate.wait()
        if count <= 2:
            raise SlotError("died")
        return RunFacts(exit_code=0, stdout=data)

    engine = Engine(FakeSandbox(script), slots=1, result_cache_bytes=10**6)
    await engine.start()
    one = load_suite({"inputs": ["1\n"], "outputs": ["1\n"]})
    leader = asyncio.create_task(engine.score(ScoreTask(RESPONSE, one)))
    await until(lambda: count)
    follower = asyncio.create_task(engine.score(ScoreTask(RESPONSE, one)))
    await asyncio.sleep(0)
    gate.set()
    assert (await leader).outcome is Outcome.INFRA_ERROR
    second = await follower
    assert (second.outcome, second.score, second.cached) == (Outcome.SCORED, 1.0, False)
    await engine.close()


async def test_a_higher_priority_does_not_wait_behind_a_lower_one(engine_with):
    runs = Runs()
    runs.gate.clear()
    engine = await engine_with(runs)
    tasks = [
        asyncio.create_task(engine.score(dataclasses.replace(TASK, priority=p))) for p in (0, 10)
    ]
    await until(lambda: runs.count == 2)  # one of each
    runs.gate.set()
    assert not any(r.cached for r in await asyncio.gather(*tasks))


@pytest.mark.parametrize(
    ("facts", "cached"),
    [
        (RunFacts(exit_code=1, cpu_time_s=0.1), True),
        (RunFacts(signal=11, cpu_time_s=0.1), True),
        (RunFacts(signal=9, killer=Killer.CPU, cpu_time_s=10.01, wall_time_s=10.2), True),
        (RunFacts(signal=9, killer=Killer.MEMORY, oom_kills=1), True),
        # Asleep until the wall clock: perhaps it waited for something.
        (RunFacts(signal=9, killer=Killer.WALL, cpu_time_s=0.1, wall_time_s=21.0), False),
        # Held up by others, and again alone.
        (
            RunFacts(
                signal=9, killer=Killer.WALL, cpu_time_s=9, wall_time_s=21.0, run_delay_s=11.0
            ),
            False,
        ),
    ],
)
async def test_what_the_wall_clock_ended_has_another_chance(engine_with, facts, cached):
    engine = await engine_with(Runs(facts))
    first = await engine.score(TASK)
    second = await engine.score(TASK)
    assert first.status is second.status is not None
    assert second.cached is cached


async def test_a_compile_error_is_kept_and_a_killed_compiler_is_not():
    for facts, cached in (
        (RunFacts(exit_code=1), True),
        (RunFacts(signal=9, killer=Killer.CPU), False),
    ):
        broken = CompileFacts(ok=False, facts=facts, message="no")
        sandbox = FakeSandbox(compile_script=lambda job, broken=broken: broken)
        engine = Engine(sandbox, slots=1, result_cache_bytes=10**6)
        await engine.start()
        results = [await engine.score(TASK) for _ in range(2)]
        assert [r.status for r in results] == [Status.COMPILE_ERROR] * 2
        assert [r.compile.message for r in results] == ["no"] * 2
        assert results[1].cached is cached
        await engine.close()


# ---------------------------------------------------------------- the cache itself


def verdicts(size: int = 0) -> CaseVerdicts:
    return CaseVerdicts((CaseResult(0, Status.ACCEPTED, stdout=bytes(size)),), None)


async def test_the_budget_holds_and_the_oldest_goes():
    cache = ResultCache(5000)

    async def ask(name: str, size: int = 1000) -> bool:
        async def run_now():
            return verdicts(size)

        return (await cache.get(name, LIMITS, 0, run_now)).cached

    for name in "abc":
        assert not await ask(name)
    assert await ask("a")
    assert not await ask("d")  # b is the oldest now
    assert await ask("a")
    assert await ask("d")
    assert not await ask("b")
    assert cache.size_bytes <= 5000
    assert not await ask("huge", 10_000)
    assert not await ask("huge", 10_000)
    assert cache.size_bytes <= 5000
    assert len(cache) >= 2


async def test_thousands_of_cases_cost_their_data():
    cache = ResultCache(10**6)
    many = CaseVerdicts(
        tuple(
            CaseResult(i, Status.ACCEPTED, cpu_time_s=i / 7, memory_bytes=9_000_000 + i)
            for i in range(5000)
        ),
        None,
    )

    async def run_now():
        return many

    await cache.get("k", LIMITS, 0, run_now)
    assert cache.size_bytes < 100 * 5000
    found = await cache.get("k", LIMITS, 0, run_now)
    assert (found.cases, found.cached) == (many.cases, True)


def test_the_key_has_all_that_decides():
    program = Program("python", b"x")

    def of(task=TASK, program=program, limits=LIMITS, environment=("namespaces", "python 3.11")):
        return result_key(task, program, limits, environment)

    def with_(**fields):
        return of(dataclasses.replace(TASK, **fields))

    keys = [
        of(),
        of(program=Program("python", b"x ")),
        of(program=Program("cpp", b"x")),
        of(limits=Limits(processes=1)),
        of(environment=("docker", "python 3.11")),
        of(environment=("namespaces", "python 3.12")),
        of(environment=("namespacespython 3.11",)),
        with_(suite=load_suite({**DATA, "fn_name": "f"})),
        with_(comparator=Comparator("float")),
        with_(comparator=Comparator("float", abs_tol=1.0)),
        with_(checker=Checker("def check(a, b, c): return True")),
        with_(interactor=Interactor("int main(){}")),
        with_(policy=ScorePolicy("first_n")),
        with_(policy=ScorePolicy("first_n", n=3)),
        with_(excerpt_bytes=7),
    ]
    assert len(set(keys)) == len(keys)
    same = [
        with_(request_id="r", client_id="c", priority=9, deadline_s=3.0),
        with_(response="something else", extraction_policy="first"),
        of(program=dataclasses.replace(program, extraction=None)),
    ]
    assert set(same) == {of()}
