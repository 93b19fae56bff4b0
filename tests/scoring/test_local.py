"""The local engine's thread, with a sandbox that runs nothing. test_on_this_host has the real
one."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from scoring_doubles import ADD, TRUTH

from verifier.engine import Engine
from verifier.errors import (
    BackendError,
    ConfigError,
    GuaranteeError,
    InfraError,
    LimitError,
    SuiteError,
)
from verifier.sandbox.fake import FakeSandbox
from verifier.scoring import LocalEngine, Sample, SandboxScorer, local, prime_code
from verifier.scoring.sample import build_tasks
from verifier.types import CompileFacts, LimitOverrides, Outcome, RunFacts, Status


def adds(job, data):
    """What ADD prints."""
    a, b = map(int, data.split())
    out = str(a + b).encode()
    return RunFacts(exit_code=0, stdout=out, stdout_bytes=len(out))


@pytest.fixture
def make_engine():
    made = []

    def make(sandbox, *, window=None, **settings):
        settings.setdefault("slots", 2)
        made.append(LocalEngine(lambda: Engine(sandbox, **settings), window=window))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def tasks(n=1, truth=TRUTH, **settings):
    return build_tasks(
        [Sample("taco", ADD, truth, request_id=str(i)) for i in range(n)], **settings
    )


def test_results_come_in_the_order_of_the_tasks(make_engine):
    engine = make_engine(FakeSandbox(adds))
    results = engine.score_many(tasks(5))
    assert [r.score for r in results] == [1.0] * 5
    assert [r.request_id for r in results] == list("01234")
    assert engine.slots == 2


def test_a_batch_of_any_size_stays_under_the_engines_bound(make_engine):
    engine = make_engine(FakeSandbox(adds), max_queue=4, window=4)
    assert [r.score for r in engine.score_many(tasks(50))] == [1.0] * 50


def test_a_fault_is_a_result_without_a_score_and_the_rest_is_scored(make_engine):
    sandbox = FakeSandbox(adds, fail_runs=[1, 2, 3, 4, 5, 6])
    results = make_engine(sandbox, slots=1, window=1).score_many(tasks(5))
    assert Outcome.INFRA_ERROR in {r.outcome for r in results}
    assert results[-1].score == 1.0
    for result in results:
        assert (result.score is None) == (result.outcome is Outcome.INFRA_ERROR)


def test_a_task_that_is_stuck_is_bounded_by_its_deadline(make_engine):
    async def hangs_on_ten(job, data):
        if data.startswith(b"10"):
            await asyncio.Event().wait()
        return adds(job, data)

    engine = make_engine(FakeSandbox(hangs_on_ten), slots=2)
    fine = json.dumps({"inputs": ["2 3\n"], "outputs": ["5\n"]})
    batch = [*tasks(2, fine), *tasks(1, TRUTH, deadline_s=0.2), *tasks(2, fine)]
    results = engine.score_many(batch)
    assert [r.score for r in results] == [1.0, 1.0, None, 1.0, 1.0]
    assert results[2].outcome is Outcome.INFRA_ERROR


def test_the_callers_fault_is_raised_with_the_tasks_name(make_engine):
    engine = make_engine(FakeSandbox(adds))
    bad = tasks(2, limits=LimitOverrides(cpu_time_s=-1.0))
    with pytest.raises(LimitError, match=r"samples\[7\]\.limits\.cpu_time_s"):
        engine.score_many(bad, ["samples[7]", "samples[8]"])
    with pytest.raises(LimitError, match=r"tasks\[0\]\.limits\.cpu_time_s"):
        engine.score_many(bad)


def test_from_several_loops_and_threads(make_engine):
    engine = make_engine(FakeSandbox(adds))

    async def one():
        return (await engine.ascore_many(tasks()))[0].score

    scores = [asyncio.run(one()), asyncio.run(one())]
    threads = [
        threading.Thread(target=lambda: scores.append(engine.score_many(tasks())[0].score))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert scores == [1.0] * 6


def test_closed_engine_says_so_and_closes_its_slots(make_engine):
    sandbox = FakeSandbox(adds)
    engine = make_engine(sandbox)
    assert engine.alive
    engine.close()
    engine.close()
    assert not engine.alive
    assert sandbox.open_slots == 0
    with pytest.raises(BackendError, match="closed"):
        engine.score_many(tasks())


def test_missing_guarantees_reach_the_caller_and_leave_no_thread():
    class Refusing(FakeSandbox):
        async def start(self):
            raise GuaranteeError("no seccomp here", ("seccomp",))

    before = threading.active_count()
    with pytest.raises(GuaranteeError, match="no seccomp"):
        LocalEngine(lambda: Engine(Refusing()))
    assert threading.active_count() == before


@pytest.fixture
def fake_host(monkeypatch):
    """`local_engine` makes engines with this sandbox."""
    sandbox = FakeSandbox(adds)
    asked = []

    def make_sandbox(backend, *, accept=()):
        asked.append((backend, frozenset(accept)))
        return sandbox

    monkeypatch.setattr(local, "make_sandbox", make_sandbox)
    monkeypatch.setattr(local, "_engines", {})
    sandbox.asked = asked
    yield sandbox
    local.close_local_engines()


def test_one_engine_per_settings_and_another_after_it_closed(fake_host):
    first = local.local_engine()
    assert local.local_engine() is first
    other = local.local_engine(accept=["seccomp"])
    assert other is not first
    first.close()
    assert local.local_engine() not in (first, other)
    assert fake_host.asked[:2] == [
        ("namespaces", frozenset()),
        ("namespaces", frozenset({"seccomp"})),
    ]


def test_never_more_slots_than_cores(fake_host):
    assert local.local_engine(slots=10_000).slots == local.cores()
    assert local.local_engine(slots=1).slots == 1


def test_the_fallback_uses_the_same_engine(fake_host):
    scorer = SandboxScorer(None)
    result = scorer.score(ADD, TRUTH)
    assert (result.score, result.passed, result.total) == (1.0, 2, 2)
    assert result.runner == "fake"
    assert result.scorer == "prime_code"


def test_prime_code_all_right(fake_host):
    assert prime_code.compute_score(ADD, TRUTH) == (True, {})
    assert prime_code.compute_score(ADD, json.loads(TRUTH), continuous=True) == (True, {})


def test_prime_code_partly_right(fake_host):
    truth = {"inputs": ["1 2\n", "3 4\n"] * 6, "outputs": ["3\n", "8\n"] * 6}
    score, metadata = prime_code.compute_score(ADD, truth, continuous=True)
    assert score == 0.5
    assert len(metadata) == 10
    assert metadata[0] == {"test_case": {"input": "1 2\n", "output": "3\n", "res": "[True]"}}
    assert metadata[1] == {
        "output": "7",
        "expected": "8\n",
        "inputs": "3 4\n",
        "error_message": "Wrong Answer",
        "test_case": {"input": "3 4\n", "output": "8\n", "res": "[False]"},
    }
    success, metadata = prime_code.compute_score(ADD, truth)
    assert success is False
    assert len(metadata) == 12


def test_prime_code_first_ten_right_and_a_later_one_wrong_is_a_float(fake_host):
    truth = {"inputs": ["1 2\n"] * 11, "outputs": ["3\n"] * 10 + ["4\n"]}
    score, metadata = prime_code.compute_score(ADD, truth, continuous=True)
    assert score == 1.0
    assert score is not True
    assert len(metadata) == 10


def test_prime_code_crash_and_compile_error(fake_host, monkeypatch):
    crash = RunFacts(exit_code=1, stderr=b"Traceback", stderr_bytes=9)
    monkeypatch.setattr(fake_host, "_script", lambda job, data: crash)
    score, metadata = prime_code.compute_score(ADD, TRUTH, continuous=True)
    assert score == 0.0
    assert metadata[0]["test_case"]["res"] == "[-1]"
    assert metadata[0]["traceback"] == "Traceback"

    refused = CompileFacts(ok=False, facts=RunFacts(exit_code=1), message="SyntaxError: no")
    monkeypatch.setattr(fake_host, "_compile_script", lambda job: refused)
    other = ADD.replace("print", "print ")
    score, metadata = prime_code.compute_score(other, TRUTH, continuous=True)
    assert score == 0.0
    assert [m["test_case"]["res"] for m in metadata] == ["[-2]", "[-2]"]


def test_prime_code_no_code(fake_host):
    score, metadata = prime_code.compute_score("I do not know.", TRUTH, continuous=True)
    assert score == 0.0
    assert len(metadata) == 2


def test_prime_code_raises_what_is_no_verdict(fake_host, monkeypatch):
    with pytest.raises(SuiteError, match="outputs"):
        prime_code.compute_score(ADD, {"inputs": ["1"], "outputs": []})
    monkeypatch.setattr(fake_host, "_fail_runs", frozenset(range(1000)))
    with pytest.raises(InfraError):
        prime_code.compute_score(ADD, TRUTH)


def test_unknown_backend_is_the_operators_mistake(monkeypatch):
    monkeypatch.setattr(local, "_engines", {})
    with pytest.raises(ConfigError, match="namespace"):
        local.local_engine(backend="namespacs")


def test_statuses_of_verl_are_for_all_of_ours():
    codes = {status: prime_code._CODES.get(status, prime_code._OTHER_CODE) for status in Status}
    assert codes[Status.ACCEPTED] is True
    assert codes[Status.WRONG_ANSWER] is False
    assert {codes[s] for s in (Status.TIME_LIMIT, Status.RUNTIME_ERROR)} == {-1}
    assert codes[Status.COMPILE_ERROR] == -2
