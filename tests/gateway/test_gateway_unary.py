"""Unary RPCs over a real socket: answers, refusals by field, and what each error becomes."""

from __future__ import annotations

import asyncio
import math

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from verifier import errors
from verifier.gateway.turns import Turns
from verifier.types import (
    CaseResult,
    Checker,
    CompileFacts,
    Interactor,
    Killer,
    LimitOverrides,
    Outcome,
    Result,
    RunFacts,
    RunOutcome,
    ScorePolicy,
    Status,
    Timing,
    Trust,
)
from verifier.v1 import verifier_pb2 as pb
from verifier.wire import convert as values

Code = grpc.StatusCode


async def refused(call):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


def details(error, kind):
    for detail in rpc_status.from_call(error).details:
        found = kind()
        if detail.Unpack(found):
            return found
    return None


async def test_a_response_is_scored(serve, request_of):
    running = await serve()
    answer = await running.stub.Score(request_of("a1", client_id="c", priority=3, language="py"))
    assert (answer.request_id, answer.outcome, answer.score) == ("a1", pb.OUTCOME_SCORED, 1.0)
    assert (answer.passed, answer.total, len(answer.cases)) == (2, 2, 2)
    assert answer.suite_digest == running.engine.tasks[0].suite.digest
    assert answer.versions["python"] == "3.11.2"
    task = running.engine.tasks[0]
    assert (task.client_id, task.priority, task.language) == ("c", 3, "py")
    assert task.deadline_s is None


async def test_a_checker_and_an_interactor_reach_the_engine(serve, request_of):
    running = await serve()
    tasks = running.engine.tasks
    given = Checker(b"x", "cpp", "testlib", (("a.h", b"1"),), ("y",), LimitOverrides(1.0), 5.0)
    await running.stub.Score(request_of(checker=values.helper_to_pb(given)))
    assert (tasks[-1].checker, tasks[-1].interactor) == (given, None)
    given = Interactor(b"x", "python", "kattis", args=("y",))
    await running.stub.Score(request_of(interactor=values.helper_to_pb(given)))
    assert (tasks[-1].checker, tasks[-1].interactor) == (None, given)
    # What is not said is what a data set would mean.
    for message, expected in (
        ({"source": b"x"}, Checker(b"x")),
        ({"source": b"x", "language": "c++"}, Checker(b"x", "c++", "testlib")),
        ({"source": b"x", "style": "script"}, Checker(b"x", "python", "script")),
    ):
        await running.stub.Score(request_of(checker=message, interactor={"source": b"y"}))
        assert (tasks[-1].checker, tasks[-1].interactor) == (expected, Interactor(b"y"))


async def test_everything_in_a_result_crosses_the_wire(serve, request_of):
    running = await serve()
    running.engine.on_score = lambda task: Result(
        Outcome.SCORED,
        score=0.5,
        status=Status.RUNTIME_ERROR,
        passed=1,
        total=2,
        cases=(
            CaseResult(0, Status.ACCEPTED, 0.1, 0.2, 0.3, 4096, 0, None, b"\xff", b"", 1, 0),
            CaseResult(1, Status.RUNTIME_ERROR, signal=9, message="lone \ud800", points=0.25),
        ),
        compile=CompileFacts(ok=True, facts=RunFacts(cpu_time_s=1.5), cached=True, message="warn"),
        timing=Timing(1, 2, 3, 4, 5),
        trust=Trust.IN_PROCESS,
        cached=True,
        stopped="stopped after case 1",
    )
    answer = await running.stub.Score(request_of())
    first, second = answer.cases
    assert (first.stdout, first.exit_code, first.HasField("signal")) == (b"\xff", 0, False)
    assert (second.signal, second.HasField("exit_code"), second.points) == (9, False, 0.25)
    assert second.message == "lone ?"
    assert (answer.trust, answer.cached) == (pb.TRUST_IN_PROCESS, True)
    assert (answer.compile.ok, answer.compile.cached) == (True, True)
    assert (answer.compile.cpu_time_s, answer.compile.message) == (1.5, b"warn")
    assert answer.timing.total_s == 5
    assert values.result_from_pb(answer).stopped == answer.stopped == "stopped after case 1"


async def test_the_deadline_of_the_rpc_goes_to_the_engine(serve, request_of):
    running = await serve()
    await running.stub.Score(request_of(), timeout=50)
    await running.stub.Score(request_of(deadline_s=7), timeout=50)
    await running.stub.Score(request_of(deadline_s=70), timeout=50)
    first, second, third = (task.deadline_s for task in running.engine.tasks)
    assert 40 < first < 51
    assert 6 < second < 8
    assert 40 < third < 51


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"limits": {"cpu_time_s": 0.0}}, "limits.cpu_time_s"),
        ({"limits": {"cpu_time_s": -1.0}}, "limits.cpu_time_s"),
        ({"limits": {"cpu_time_s": math.nan}}, "limits.cpu_time_s"),
        ({"limits": {"wall_time_s": math.inf}}, "limits.wall_time_s"),
        ({"limits": {"cpu_time_s": 1e9}}, "limits.cpu_time_s"),
        ({"limits": {"memory_bytes": 0}}, "limits.memory_bytes"),
        ({"limits": {"memory_bytes": 2**63}}, "limits.memory_bytes"),
        ({"limits": {"processes": 2**31}}, "limits.processes"),
        ({"language": "klingon"}, "language"),
        ({"extraction_policy": "best"}, "extraction_policy"),
        ({"ground_truth_format": "csv"}, "ground_truth_format"),
        ({"comparator": {"name": "vibes"}}, "comparator.name"),
        ({"comparator": {"name": "lines", "abs_tol": math.nan}}, "comparator.abs_tol"),
        ({"comparator": {"name": "lines", "rel_tol": -1.0}}, "comparator.rel_tol"),
        ({"checker": {"language": "python"}}, "checker.source"),
        ({"checker": {"source": b"x", "style": "best"}}, "checker.style"),
        ({"checker": {"source": b"x", "limits": {"cpu_time_s": 1e9}}}, "checker.limits.cpu_time_s"),
        ({"interactor": {"source": b"x", "language": "klingon"}}, "interactor.language"),
        ({"score_policy": {"name": "best_of"}}, "score_policy.name"),
        ({"score_policy": {"total_cpu_time_s": -1.0}}, "score_policy.total_cpu_time_s"),
        ({"score_policy": {"total_cpu_time_s": math.inf}}, "score_policy.total_cpu_time_s"),
        ({"excerpt_bytes": 2**31}, "excerpt_bytes"),
        ({"deadline_s": 0.0}, "deadline_s"),
        ({"deadline_s": math.nan}, "deadline_s"),
        ({"client_id": "c" * 1000}, "client_id"),
        ({"ground_truth": None}, "ground_truth"),
    ],
)
async def test_a_wrong_field_is_refused_by_name(serve, request_of, fields, field):
    running = await serve()
    error = await refused(running.stub.Score(request_of(**fields)))
    assert error.code() is Code.INVALID_ARGUMENT
    assert error.details().startswith(f"{field}: ")
    violation = details(error, error_details_pb2.BadRequest).field_violations[0]
    assert violation.field == field
    assert running.engine.tasks == []


async def test_an_early_stop_reaches_the_engine(serve, request_of):
    running = await serve()
    bounds = {"max_time_limit_hits": 2, "total_cpu_time_s": 2.5}
    await running.stub.Score(request_of(score_policy={"name": "pass_rate", **bounds}))
    (task,) = running.engine.tasks
    assert task.policy == ScorePolicy(**bounds)


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (errors.RequestError("argv", "no"), Code.INVALID_ARGUMENT),
        (errors.LimitError("limits.processes", "no"), Code.INVALID_ARGUMENT),
        (errors.UnimplementedError("no"), Code.UNIMPLEMENTED),
        (errors.DeadlineError("late"), Code.DEADLINE_EXCEEDED),
        (errors.BackendError("gone"), Code.UNAVAILABLE),
        (errors.SlotError("gone"), Code.UNAVAILABLE),
        (errors.ConfigError("wrong"), Code.UNAVAILABLE),
        (ZeroDivisionError("a bug of ours"), Code.UNAVAILABLE),
    ],
)
async def test_errors_of_the_engine_become_statuses(serve, request_of, raised, code, caplog):
    running = await serve()

    def fail(task):
        raise raised

    running.engine.on_score = running.engine.on_run = fail
    assert (await refused(running.stub.Score(request_of()))).code() is code
    run = pb.RunRequest(source={"language": "python", "source": b"1"})
    assert (await refused(running.stub.Run(run))).code() is code


async def test_overload_says_when_to_come_back(serve, request_of, overloaded):
    running = await serve()

    def fail(task):
        raise overloaded

    running.engine.on_score = fail
    error = await refused(running.stub.Score(request_of()))
    assert error.code() is Code.RESOURCE_EXHAUSTED
    assert details(error, error_details_pb2.RetryInfo).retry_delay.ToMilliseconds() == 2500


async def test_a_full_queue_refuses_at_once_with_retry_info(serve, request_of):
    running = await serve(max_queue=1)
    gate = asyncio.Event()

    async def wait(task):
        await gate.wait()
        return Result(Outcome.INFRA_ERROR, error="x")

    running.engine.on_score = wait
    first = asyncio.ensure_future(running.stub.Score(request_of()))
    await running.engine.entered.wait()
    error = await refused(running.stub.Score(request_of()))
    assert error.code() is Code.RESOURCE_EXHAUSTED
    assert details(error, error_details_pb2.RetryInfo).retry_delay.ToMilliseconds() > 0
    gate.set()
    assert (await first).outcome == pb.OUTCOME_INFRA_ERROR


async def test_what_waits_for_its_turn_is_in_the_queue_and_a_refusal_waits_for_none(
    serve, request_of, monkeypatch
):
    running = await serve(max_queue=1)
    waits, turn = asyncio.Event(), asyncio.Event()

    async def take(turns, priority):
        waits.set()
        await turn.wait()

    monkeypatch.setattr(Turns, "take", take)
    first = asyncio.ensure_future(running.stub.Score(request_of()))
    await waits.wait()
    assert (await refused(running.stub.Score(request_of()))).code() is Code.RESOURCE_EXHAUSTED
    assert not running.engine.entered.is_set()
    turn.set()
    assert (await first).outcome == pb.OUTCOME_SCORED


async def test_bytes_are_bounded_too(serve, request_of):
    running = await serve(max_queue_bytes=1024 * 1024)
    gate = asyncio.Event()

    async def wait(task):
        await gate.wait()
        return Result(Outcome.INFRA_ERROR, error="x")

    running.engine.on_score = wait
    big = request_of(response=b"x" * 900_000)
    first = asyncio.ensure_future(running.stub.Score(big))
    await running.engine.entered.wait()
    assert (await refused(running.stub.Score(big))).code() is Code.RESOURCE_EXHAUSTED
    small = asyncio.ensure_future(running.stub.Score(request_of()))
    gate.set()
    await asyncio.gather(first, small)


async def test_cancelling_an_rpc_cancels_its_work(serve, request_of):
    running = await serve()

    async def hang(task):
        await asyncio.Event().wait()

    running.engine.on_score = hang
    call = running.stub.Score(request_of())
    waiting = asyncio.ensure_future(call.code())
    await running.engine.entered.wait()
    call.cancel()
    await asyncio.wait_for(running.engine.cancelled_event.wait(), 10)
    assert await waiting is Code.CANCELLED
    assert running.engine.running == 0


async def test_a_broken_ground_truth_is_an_answer_not_an_error(serve, request_of):
    running = await serve()
    for truth, named in (
        (b"", ""),
        (b"not json", ""),
        (b"[]", ""),
        (b'{"inputs": [], "outputs": []}', "inputs"),
        (b'{"inputs": ["1"], "outputs": []}', "outputs"),
        (b'{"inputs": ["\xff"], "outputs": ["1"]}', "ground_truth"),
    ):
        answer = await running.stub.Score(request_of(ground_truth=truth))
        assert answer.outcome == pb.OUTCOME_INVALID_SUITE, truth
        assert named in answer.error
        assert ": " in answer.error
        assert not answer.HasField("score")
        assert answer.request_id == "r"
    assert running.engine.tasks == []


async def test_a_program_is_run(serve):
    running = await serve()
    request = pb.RunRequest(
        request_id="r1",
        source={"language": "PYTHON", "source": b"\xff"},
        stdin=b"in",
        limits={"cpu_time_s": 2.0},
    )
    answer = await running.stub.Run(request, timeout=9)
    assert (answer.request_id, answer.status) == ("r1", pb.STATUS_ACCEPTED)
    assert (answer.facts.stdout, answer.facts.exit_code) == (b"in", 0)
    task = running.engine.tasks[0]
    assert (task.program.language, task.program.source) == ("python", b"\xff")
    assert task.limits.cpu_time_s == 2.0
    assert 8 < task.deadline_s < 10
    argv = await running.stub.Run(pb.RunRequest(argv={"args": ["ls", "-l"]}))
    assert argv.status == pb.STATUS_ACCEPTED
    assert running.engine.tasks[1].argv == ("ls", "-l")


async def test_a_run_that_was_killed_says_so_and_its_output_is_cut(serve):
    running = await serve()
    running.engine.on_run = lambda task: RunOutcome(
        Status.TIME_LIMIT,
        RunFacts(signal=9, killer=Killer.CPU, stdout=b"abcdef", stdout_bytes=6),
        message="m",
    )
    answer = await running.stub.Run(pb.RunRequest(argv={"args": ["a"]}, excerpt_bytes=2))
    assert (answer.status, answer.facts.signal) == (pb.STATUS_TIME_LIMIT, 9)
    assert (answer.facts.stdout, answer.facts.stdout_bytes, answer.facts.message) == (b"ab", 6, "m")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "source"),
        ({"source": {"source": b"x"}}, "source.language"),
        ({"source": {"language": "klingon"}}, "source.language"),
        ({"argv": {}}, "argv.args"),
        ({"argv": {"args": ["a", "b\0"]}}, "argv.args[1]"),
        ({"argv": {"args": ["a"]}, "limits": {"wall_time_s": -1.0}}, "limits.wall_time_s"),
    ],
)
async def test_a_wrong_run_is_refused_by_name(serve, fields, field):
    running = await serve()
    error = await refused(running.stub.Run(pb.RunRequest(**fields)))
    assert error.code() is Code.INVALID_ARGUMENT
    assert error.details().startswith(f"{field}: ")


async def test_info_says_everything(serve, monkeypatch):
    monkeypatch.setattr("verifier.gateway.convert.host_notes", lambda: ("a pipe",))
    running = await serve()
    info = await running.stub.GetInfo(pb.GetInfoRequest())
    left_empty = {field.name for field in info.DESCRIPTOR.fields} - {
        field.name for field, _ in info.ListFields()
    }
    assert left_empty == set()
    assert list(info.notes) == ["a pipe"]
    python = next(language for language in info.languages if language.name == "python")
    assert (python.version, python.available) == ("3.11.2", True)
    assert dict(python.packages) == {"numpy": "1.24.2"}
    assert "py" in python.aliases
    seccomp, network = info.guarantees
    assert (seccomp.holds, seccomp.accepted) == (True, False)
    assert (network.holds, network.accepted, network.remedy) == (False, True, "do this")


async def test_excerpts_fit_a_budget(serve, request_of):
    running = await serve(max_message_bytes=64 * 1024)
    running.engine.on_score = lambda task: Result(
        Outcome.SCORED,
        score=1.0,
        cases=tuple(
            CaseResult(i, Status.ACCEPTED, stdout=b"x" * 1000, stdout_bytes=1000)
            for i in range(3000)
        ),
    )
    answer = await running.stub.Score(request_of())
    assert sum(len(case.stdout) for case in answer.cases) == 16_000
    assert {case.stdout_bytes for case in answer.cases} == {1000}
