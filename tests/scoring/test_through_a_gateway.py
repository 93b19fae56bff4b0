"""The sandbox scorer with a real client and a real gateway, over a sandbox that runs nothing."""

from __future__ import annotations

import asyncio
import threading

import pytest
from scoring_doubles import ADD, TRUTH

from verifier.client import no_retry_sleep
from verifier.config import Settings
from verifier.engine import Engine
from verifier.errors import InfraError, RequestError
from verifier.gateway import Gateway
from verifier.sandbox.fake import FakeSandbox
from verifier.scoring import LocalEngine, Sample, SandboxScorer
from verifier.scoring.plan import Plan
from verifier.scoring.sample import build_tasks
from verifier.types import Killer, Outcome, RunFacts, ScorePolicy, Status


def adds(job, data):
    a, b = map(int, data.split())
    if a == 9:
        return RunFacts(signal=9, killer=Killer.CPU, cpu_time_s=2.0)
    out = str(a + b).encode()
    return RunFacts(exit_code=0, stdout=out, stdout_bytes=len(out))


class Served:
    """A gateway on a thread of its own, as another process would be."""

    def __init__(self, sandbox):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.address = self._do(self._start(sandbox))

    async def _start(self, sandbox):
        self._gateway = Gateway(Engine(sandbox, slots=2), Settings(grpc="127.0.0.1:0"))
        return (await self._gateway.start()).grpc

    def stop(self):
        self._do(self._gateway.stop(0))

    def close(self):
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@pytest.fixture
def served():
    gateway = Served(FakeSandbox(adds))
    yield gateway
    gateway.close()


@pytest.fixture
def scorer_of(served):
    made, engines = [], []

    def here():
        if not engines:
            engines.append(LocalEngine(lambda: Engine(FakeSandbox(adds), slots=2)))
        return engines[0]

    def make(**settings):
        made.append(SandboxScorer(served.address, local=here, **settings))
        return made[-1]

    with no_retry_sleep():
        yield make
    for thing in (*made, *engines):
        thing.close()


def batch(*responses, **fields):
    return [
        Sample("taco", response, TRUTH, index=i, **fields) for i, response in enumerate(responses)
    ]


def test_a_batch_goes_through_and_comes_back_in_order(scorer_of):
    scorer = scorer_of()
    results = scorer.score_batch(batch(ADD, "no code", ADD))
    assert [r.score for r in results] == [1.0, 0.0, 1.0]
    assert [r.status for r in results] == [Status.ACCEPTED, Status.NO_CODE, Status.ACCEPTED]
    assert {r.scorer for r in results} == {"sandbox"}
    assert {r.runner for r in results} == {"fake"}
    assert scorer.stats.snapshot().served == 3


def test_broken_data_of_one_sample(scorer_of):
    samples = [Sample("taco", ADD, truth, index=i) for i, truth in enumerate([TRUTH, "{}"])]
    results = scorer_of(on_unavailable="raise").score_batch(samples)
    assert [r.outcome for r in results] == [Outcome.SCORED, Outcome.INVALID_SUITE]
    assert results[1].score is None
    assert results[1].error


def test_gateway_and_fallback_judge_alike(scorer_of, served):
    scorer = scorer_of()
    responses = [ADD, "nothing", "```python\nprint(\n```", ADD.replace("python", "py")]
    there = scorer.score_batch(batch(*responses))
    served.stop()
    here = scorer.score_batch(batch(*responses))
    assert {r.scorer for r in here} == {"prime_code"}
    for theirs, ours in zip(there, here, strict=True):
        assert (theirs.score, theirs.status, theirs.passed, theirs.total) == (
            ours.score,
            ours.status,
            ours.passed,
            ours.total,
        )
        assert [c.status for c in theirs.cases] == [c.status for c in ours.cases]
    broken = [Sample("taco", ADD, {"inputs": ["1"], "outputs": []})]
    assert scorer.score_batch(broken)[0].outcome is Outcome.INVALID_SUITE


def test_an_early_stop_is_the_same_in_the_gateway_and_here(scorer_of, served):
    truth = {"inputs": ["1 1\n", "9 9\n"] * 10, "outputs": ["2\n", "18\n"] * 10}
    samples = [Sample("taco", ADD, truth)]
    for policy, passed in (
        (ScorePolicy(max_time_limit_hits=2), 2),
        (ScorePolicy(total_cpu_time_s=5.5), 3),
        (ScorePolicy(), 10),
    ):
        (there,) = scorer_of(policy=policy).score_batch(samples)
        (here,) = (
            scorer_of(policy=policy)
            ._get_local(Plan.of(samples))
            .score_many(build_tasks(samples, policy=policy))
        )
        assert (there.score, there.stopped) == (here.score, here.stopped)
        assert [c.status for c in there.cases] == [c.status for c in here.cases]
        assert there.passed == passed
        assert there.scorer == "sandbox"


def test_a_limit_over_the_ceiling_is_the_callers_fault(scorer_of):
    options = {"verifier": {"limits": {"cpu_time_s": 1e9}}}
    with pytest.raises(RequestError, match=r"samples\[0\]\.limits\.cpu_time_s"):
        scorer_of().score_batch(batch(ADD, extra_info=options))


def test_a_dead_gateway_raises_or_masks_by_policy(scorer_of, served):
    served.stop()
    with pytest.raises(InfraError, match=r"2 of 2 .*GatewayUnavailableError"):
        scorer_of(on_unavailable="raise").score_batch(batch(ADD, ADD))
    results = scorer_of(on_unavailable="mask").score_batch(batch(ADD, ADD))
    assert [r.outcome for r in results] == [Outcome.INFRA_ERROR] * 2


def test_async(served):
    async def main():
        scorer = SandboxScorer(served.address)
        results = await scorer.ascore_batch(batch(ADD, ADD))
        await scorer.aclose()
        return [r.score for r in results]

    assert asyncio.run(main()) == [1.0, 1.0]
