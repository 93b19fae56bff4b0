"""The engine over a fake sandbox: outcomes, faults, deadlines, order."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from verifier.engine import Engine, make_sandbox
from verifier.errors import (
    BackendError,
    ConfigError,
    DeadlineError,
    LimitError,
    OverloadedError,
    RequestError,
    SlotError,
)
from verifier.testcases import load_suite
from verifier.testing import FakeSandbox
from verifier.types import (
    CompileFacts,
    Killer,
    LimitOverrides,
    Outcome,
    Program,
    RunFacts,
    RunTask,
    ScorePolicy,
    ScoreTask,
    Status,
)

RESPONSE = "```python\nprint(input())\n```"


def suite(n=3, **more):
    return load_suite(
        {"inputs": [f"{i}\n" for i in range(n)], "outputs": [f"{i}\n" for i in range(n)], **more}
    )


async def engine_over(sandbox, **options):
    engine = Engine(sandbox, **{"slots": 2, **options})
    await engine.start()
    return engine


async def test_scored():
    engine = await engine_over(FakeSandbox())
    result = await engine.score(ScoreTask(RESPONSE, suite(), request_id="r"))
    assert (result.outcome, result.score, result.status) == (Outcome.SCORED, 1.0, Status.ACCEPTED)
    assert (result.passed, result.total, result.request_id) == (3, 3, "r")
    assert [c.index for c in result.cases] == [0, 1, 2]
    await engine.close()


async def test_first_failure_names_the_status_and_the_rest_still_counts():
    def script(job, data):
        if data == b"1\n":
            return RunFacts(signal=9, killer=Killer.CPU)
        if data == b"2\n":
            return RunFacts(exit_code=3)
        return RunFacts(exit_code=0, stdout=data)

    engine = await engine_over(FakeSandbox(script))
    result = await engine.score(ScoreTask(RESPONSE, suite(4)))
    assert [c.status for c in result.cases] == [
        Status.ACCEPTED,
        Status.TIME_LIMIT,
        Status.RUNTIME_ERROR,
        Status.ACCEPTED,
    ]
    assert (result.score, result.status) == (0.5, Status.TIME_LIMIT)
    strict = await engine.score(ScoreTask(RESPONSE, suite(4), policy=ScorePolicy("all_or_nothing")))
    assert strict.score == 0.0
    await engine.close()


async def test_no_code_and_compile_error_are_scores():
    broken = CompileFacts(ok=False, facts=RunFacts(exit_code=1), message="SyntaxError: no")
    engine = await engine_over(FakeSandbox(compile_script=lambda job: broken))
    nothing = await engine.score(ScoreTask("I do not know.", suite()))
    assert (nothing.score, nothing.status, [c.status for c in nothing.cases]) == (
        0.0,
        Status.NO_CODE,
        [Status.NO_CODE] * 3,
    )
    wrong = await engine.score(ScoreTask(RESPONSE, suite()))
    assert (wrong.score, wrong.status, wrong.cases[2].message) == (
        0.0,
        Status.COMPILE_ERROR,
        "SyntaxError: no",
    )
    await engine.close()


async def test_one_fault_is_retried_on_another_slot():
    sandbox = FakeSandbox(fail_runs=[2])
    engine = await engine_over(sandbox, slots=1)
    result = await engine.score(ScoreTask(RESPONSE, suite(3)))
    assert (result.outcome, result.score) == (Outcome.SCORED, 1.0)
    assert engine.faults == 1
    assert len({s.name for s in sandbox.slots}) >= 2
    await engine.close()


async def test_two_faults_are_no_score():
    engine = await engine_over(FakeSandbox(fail_runs=range(1, 20)))
    result = await engine.score(ScoreTask(RESPONSE, suite(3)))
    assert (result.outcome, result.score, result.status) == (Outcome.INFRA_ERROR, None, None)
    assert result.error
    await engine.close()


async def test_a_compile_fault_is_retried_and_then_no_score():
    calls = []

    def script(job):
        calls.append(1)
        if len(calls) == 1:
            raise SlotError("died")
        return CompileFacts(ok=True, facts=RunFacts(exit_code=0), artifact=b"x")

    engine = await engine_over(FakeSandbox(compile_script=script), slots=1)
    assert (await engine.score(ScoreTask(RESPONSE, suite(1)))).score == 1.0

    def always(job):
        raise SlotError("died")

    worse = await engine_over(FakeSandbox(compile_script=always), slots=1)
    result = await worse.score(ScoreTask(RESPONSE, suite(1)))
    assert (result.outcome, result.score) == (Outcome.INFRA_ERROR, None)
    await engine.close()
    await worse.close()


async def test_a_missing_toolchain_is_no_verdict():
    engine = await engine_over(FakeSandbox(toolchains={"python": "3"}))
    result = await engine.score(ScoreTask("```cpp\nint main(){}\n```", suite(1), language="cpp"))
    assert result.outcome is Outcome.INFRA_ERROR
    assert "cpp" in result.error
    await engine.close()


async def test_a_long_suite_uses_all_idle_slots_and_keeps_order():
    used = set()

    async def script(job, data):
        used.add(asyncio.current_task())
        await asyncio.sleep(0)
        return RunFacts(exit_code=0, stdout=data)

    engine = await engine_over(FakeSandbox(script), slots=4)
    result = await engine.score(ScoreTask(RESPONSE, suite(100)))
    assert result.score == 1.0
    assert [c.index for c in result.cases] == list(range(100))
    assert len(used) > 1
    assert engine.load().slots_idle == 4
    await engine.close()


async def test_many_tasks_at_once_finish_and_give_slots_back():
    engine = await engine_over(FakeSandbox(), slots=3)
    results = await asyncio.gather(
        *(engine.score(ScoreTask(RESPONSE, suite(7), request_id=str(i))) for i in range(50))
    )
    assert {r.request_id for r in results} == {str(i) for i in range(50)}
    assert {r.score for r in results} == {1.0}
    load = engine.load()
    assert (load.queued, load.running, load.slots_idle) == (0, 0, 3)
    await engine.close()


async def test_a_full_queue_is_refused_at_once():
    gate = asyncio.Event()
    engine = await engine_over(FakeSandbox(compile_gate=gate), max_queue=2, slots=1)
    waiting = [asyncio.create_task(engine.score(ScoreTask(RESPONSE, suite(1)))) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError):
        await engine.score(ScoreTask(RESPONSE, suite(1)))
    gate.set()
    assert [r.score for r in await asyncio.gather(*waiting)] == [1.0, 1.0]
    await engine.close()


async def test_a_passed_deadline_kills_and_frees():
    never = asyncio.Event()
    sandbox = FakeSandbox(hang_runs={1: never})
    engine = await engine_over(sandbox, slots=1)
    with pytest.raises(DeadlineError):
        await engine.score(ScoreTask(RESPONSE, suite(1), deadline_s=0.01))
    assert sandbox.killed
    assert (await engine.score(ScoreTask(RESPONSE, suite(1)))).score == 1.0
    await engine.close()


async def test_a_cancelled_task_kills_its_program_and_frees_its_slots():
    never = asyncio.Event()
    sandbox = FakeSandbox(hang_runs={1: never, 2: never})
    engine = await engine_over(sandbox, slots=2)
    task = asyncio.create_task(engine.score(ScoreTask(RESPONSE, suite(8))))
    while len(sandbox.runs) < 2:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sandbox.killed == 2
    assert (await engine.score(ScoreTask(RESPONSE, suite(1)))).score == 1.0
    assert engine.load().slots_idle == 2
    await engine.close()


async def test_a_contended_wall_kill_is_run_again_alone():
    runs = []

    def script(job, data):
        runs.append(data)
        if runs.count(data) == 1 and data == b"1\n":
            return RunFacts(signal=9, killer=Killer.WALL, run_delay_s=job.limits.wall_time_s / 2)
        return RunFacts(exit_code=0, stdout=data)

    engine = await engine_over(FakeSandbox(script))
    result = await engine.score(ScoreTask(RESPONSE, suite(3)))
    assert result.score == 1.0
    assert [c.rerun for c in result.cases] == [False, True, False]
    sleeper = await engine_over(
        FakeSandbox(lambda job, data: RunFacts(signal=9, killer=Killer.WALL))
    )
    plain = await sleeper.score(ScoreTask(RESPONSE, suite(1)))
    assert (plain.status, plain.cases[0].rerun) == (Status.TIME_LIMIT, False)
    await engine.close()
    await sleeper.close()


async def test_reruns_that_change_nothing_come_to_an_end():
    """A program may keep its own processes waiting for a core, and then sleep."""

    def waits(job, data):
        return RunFacts(signal=9, killer=Killer.WALL, run_delay_s=job.limits.wall_time_s / 2)

    engine = await engine_over(FakeSandbox(waits))
    result = await engine.score(ScoreTask(RESPONSE, suite(30)))
    assert {c.status for c in result.cases} == {Status.TIME_LIMIT}
    assert [c.rerun for c in result.cases] == [True, True] + [False] * 28
    assert engine.reruns == 2
    await engine.close()


async def test_a_batch_that_gets_on_is_not_given_up():
    """Three slots in a row die under one batch, each at a later case."""
    sandbox = FakeSandbox(fail_runs={2, 4, 6})
    engine = await engine_over(sandbox, slots=1)
    result = await engine.score(ScoreTask(RESPONSE, suite(8)))
    assert (result.outcome, result.score) == (Outcome.SCORED, 1.0)
    assert engine.faults == 3
    await engine.close()


async def test_a_slot_that_wants_to_be_replaced_is_no_fault():
    """Its answers are good: a run has left memory behind that the kernel has not freed."""
    sandbox = FakeSandbox(tire_runs={5, 20})
    engine = await engine_over(sandbox, slots=1)
    result = await engine.score(ScoreTask(RESPONSE, suite(40)))
    assert (result.score, engine.faults) == (1.0, 0)
    assert len(sandbox.slots) == 3
    await engine.close()


async def test_all_or_nothing_stops_early_and_says_the_same_on_any_number_of_slots():
    def script(job, data):
        wrong = data in (b"5\n", b"30\n")
        return RunFacts(exit_code=0, stdout=b"no" if wrong else data)

    seen = set()
    for slots in (1, 2, 4):
        sandbox = FakeSandbox(script)
        engine = await engine_over(sandbox, slots=slots)
        result = await engine.score(
            ScoreTask(RESPONSE, suite(60), policy=ScorePolicy("all_or_nothing"))
        )
        seen.add((result.score, result.status, tuple(c.status for c in result.cases)))
        assert len(sandbox.runs) < 60 or slots == 4
        await engine.close()
    ((score, status, statuses),) = seen
    assert (score, status) == (0.0, Status.WRONG_ANSWER)
    assert statuses == (Status.ACCEPTED,) * 5 + (Status.WRONG_ANSWER,) + (Status.SKIPPED,) * 54


async def test_subtasks_and_the_scores_of_no_answer():
    def script(job, data):
        return RunFacts(exit_code=0, stdout=b"x" if data == b"1\n" else data)

    engine = await engine_over(FakeSandbox(script))
    grouped = suite(4, groups=["a", "a", "b", "b"], weights=[1, 1, 3, 3])
    result = await engine.score(ScoreTask(RESPONSE, grouped, policy=ScorePolicy("subtasks")))
    assert result.score == 0.75
    policy = ScorePolicy(no_code=-0.5, compile_error=-0.25, empty_output=-0.125)
    none = await engine.score(ScoreTask("no idea", suite(2), policy=policy))
    assert (none.score, none.status) == (-0.5, Status.NO_CODE)
    await engine.close()
    broken = CompileFacts(ok=False, facts=RunFacts(exit_code=1))
    other = await engine_over(FakeSandbox(compile_script=lambda job: broken))
    assert (await other.score(ScoreTask(RESPONSE, suite(2), policy=policy))).score == -0.25
    await other.close()
    silent = await engine_over(FakeSandbox(lambda job, data: RunFacts(exit_code=0)))
    assert (await silent.score(ScoreTask(RESPONSE, suite(2), policy=policy))).score == -0.125
    assert (await silent.score(ScoreTask(RESPONSE, suite(2)))).score == 0.0
    await silent.close()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"limits": LimitOverrides(cpu_time_s=0.0)}, "limits.cpu_time_s"),
        ({"limits": LimitOverrides(cpu_time_s=float("nan"))}, "limits.cpu_time_s"),
        ({"limits": LimitOverrides(memory_bytes=1 << 60)}, "limits.memory_bytes"),
        ({"extraction_policy": "best"}, "extraction_policy"),
        ({"policy": ScorePolicy("best")}, "score_policy.name"),
        ({"language": "klingon"}, "language"),
        ({"suite": dataclasses.replace(suite(1), fn_name="f" * 2000)}, "suite.fn_name"),
    ],
)
async def test_wrong_fields_are_named(change, field):
    engine = await engine_over(FakeSandbox())
    with pytest.raises(RequestError) as caught:
        await engine.score(ScoreTask(**{"response": RESPONSE, "suite": suite(1), **change}))
    assert caught.value.field == field
    if field.startswith("limits"):
        assert isinstance(caught.value, LimitError)
    await engine.close()


async def test_run_without_judging():
    engine = await engine_over(FakeSandbox())
    done = await engine.run(RunTask(Program("python", b"print(input())"), stdin=b"hi"))
    assert (done.status, done.facts.stdout) == (Status.ACCEPTED, b"hi")
    with pytest.raises(RequestError):
        await engine.run(RunTask())
    with pytest.raises(RequestError):
        await engine.run(RunTask(argv=("a", "b\0")))
    with pytest.raises(RequestError, match="limit"):
        await engine.run(RunTask(argv=("a", "b" * 40_000)))
    await engine.close()


async def test_a_closed_engine_says_so():
    engine = Engine(FakeSandbox())
    with pytest.raises(BackendError):
        await engine.score(ScoreTask(RESPONSE, suite(1)))


def test_backends_by_name():
    with pytest.raises(ConfigError, match="did you mean 'namespaces'"):
        make_sandbox("namespace")
    with pytest.raises(ConfigError, match="--allow-unsafe"):
        make_sandbox("process")
    with pytest.raises(ConfigError, match="no guarantee 'nope'"):
        make_sandbox("namespaces", accept=["nope"])
    assert make_sandbox("process", allow_unsafe=True).name == "process"


@pytest.mark.parametrize(
    ("ground_truth", "kind"),
    [
        ({"fn_name": "f", "inputs": ["1"], "outputs": ["1"]}, "call"),
        ({"assert_case": ["assert f(1) == 1"]}, "assert"),
    ],
)
async def test_an_answer_in_a_language_that_its_tests_are_not_for_is_none(ground_truth, kind):
    """Nobody asked for it: were it a fault, an answer could choose to have no score."""
    sandbox = FakeSandbox(toolchains={"ruby": "3", "python": "3"})
    engine = await engine_over(sandbox)
    task = ScoreTask("```ruby\ndef f(a) = a\n```", load_suite(ground_truth))
    result = await engine.score(task)
    assert (result.outcome, result.status, result.score) == (Outcome.SCORED, Status.NO_CODE, 0.0)
    assert result.extraction.reason == f"{kind} suites are not for ruby"
    asked = await engine.score(dataclasses.replace(task, language="ruby"))
    assert asked.outcome is Outcome.INFRA_ERROR
    assert f"{kind} suites are not implemented for ruby" in asked.error
    await engine.close()
