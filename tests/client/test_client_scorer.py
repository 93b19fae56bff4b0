"""What is above the client, over real sockets: the scorer's policy, and addresses from outside."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

from verifier.cli.app import app
from verifier.client import RetryPolicy
from verifier.errors import GatewayUnavailableError, InfraError
from verifier.integrations.verl.scorer import settings_of
from verifier.scoring import Sample, SandboxScorer
from verifier.scoring.routing import code_scorer
from verifier.types import Outcome, Result, Status

ADD = "```python\nprint(1)\n```"
TRUTH = {"inputs": ["1"], "outputs": ["1"]}
HERE = Result(outcome=Outcome.SCORED, score=0.25, status=Status.WRONG_ANSWER)


class Local:
    """The engine on this host."""

    def __init__(self):
        self.scored = 0

    def score_many(self, tasks, names=None):
        self.scored += len(tasks)
        return [HERE.replace(request_id=task.request_id) for task in tasks]

    async def ascore_many(self, tasks, names=None):
        return self.score_many(tasks, names)


def samples(count):
    return [
        Sample(
            data_source="taco", solution_str=ADD, ground_truth=TRUTH, index=i, request_id=f"s{i}"
        )
        for i in range(count)
    ]


@pytest.fixture
def local():
    return Local()


@pytest.fixture
def scorer_of(local):
    made = []

    def make(server, **settings):
        made.append(SandboxScorer(server, local=lambda: local, **settings))
        return made[-1]

    yield make
    for scorer in made:
        scorer.close()


# ---------------------------------------------------------------- addresses


def test_a_list_with_a_dead_one_in_it_is_served(threaded_server, dead_address, scorer_of, local):
    for server in (
        f"verifier://{dead_address},{threaded_server.address}",
        [dead_address, f"verifier://{threaded_server.address}"],
    ):
        results = scorer_of(server).score_batch(samples(20))
        assert [(r.score, r.scorer, r.fallback) for r in results] == [(1.0, "sandbox", "")] * 20
    assert local.scored == 0


def test_a_list_is_the_same_scorer_however_it_is_written():
    lists = (["verifier://h:1", "h:2"], ("h:1", "h:2"), "h:1,h:2", "verifier://h:1,h:2/")
    scorers = {code_scorer(**settings_of(server=server)) for server in lists}
    scorers.add(code_scorer(sandbox_fusion_url="verifier://h:1,h:2"))
    (scorer,) = scorers
    assert scorer.server == "h:1,h:2"


@pytest.mark.parametrize("way", ["option", "environment"])
def test_the_command_line_takes_a_list(threaded_server, dead_address, tmp_path, way):
    program = tmp_path / "a.py"
    program.write_text("print(1)")
    both = f"{dead_address},{threaded_server.address}"
    arguments = ["run", str(program), "--json"]
    if way == "option":
        arguments += ["--server", both]
    env = {"VERIFIER_SERVER": both} if way == "environment" else {}
    done = CliRunner().invoke(app, arguments, env=env)
    assert (done.exit_code, '"runner": "scripted"' in done.output) == (0, True), done.output
    wrong = CliRunner().invoke(app, ["run", str(program), "--server", f"{both},nonsense"])
    assert wrong.exit_code == 2
    assert "nonsense" in wrong.output


# ---------------------------------------------------------------- policy


def test_one_sample_that_is_never_answered_falls_back_alone(threaded_server, scorer_of, local):
    threaded_server.scripted.script = lambda request, attempt: (
        "read_timeout" if request.request_id == "s17" else "ok"
    )
    results = scorer_of(threaded_server.address, deadline_s=0.3).score_batch(samples(64))
    assert results[17].scorer == "prime_code"
    assert results[17].score == 0.25
    assert "DeadlineError" in results[17].fallback
    assert {(r.scorer, r.score) for r in results if r.request_id != "s17"} == {("sandbox", 1.0)}
    assert local.scored == 1


async def test_256_samples_at_once_and_nobody_there(dead_address, local):
    """Each one by itself, as a reward loop asks: every one is scored here, none is 0.0."""
    scorer = SandboxScorer(dead_address, local=lambda: local, cooldown_s=3600)
    try:
        results = await asyncio.gather(*(scorer.ascore(ADD, TRUTH) for _ in range(256)))
        assert {(r.scorer, r.score) for r in results} == {("prime_code", 0.25)}
        assert all(r.fallback.startswith("GatewayUnavailableError") for r in results)
        assert scorer.stats.snapshot().fallback == 256
    finally:
        await scorer.aclose()


def test_nobody_there_and_nobody_stands_in(dead_address, scorer_of, no_sleep):
    with pytest.raises(InfraError, match="GatewayUnavailableError"):
        scorer_of(dead_address, on_unavailable="raise").score_batch(samples(2))
    masked = scorer_of(dead_address, on_unavailable="mask").score_batch(samples(2))
    assert [(r.outcome, r.score) for r in masked] == [(Outcome.INFRA_ERROR, None)] * 2


def test_one_asks_whether_it_is_back_and_the_others_do_not_wait(local):
    """After the cooldown, half open: 32 threads, one of which asks."""
    now, asked, answer = [0.0], threading.Semaphore(0), threading.Event()
    batches = []

    class Client:
        def score_many(self, calls):
            batches.append(len(calls))
            if len(batches) > 1:
                asked.release()
                assert answer.wait(60)
                return [HERE.replace(score=1.0, request_id=call.request_id) for call in calls]
            raise GatewayUnavailableError("nobody listens")

        def close(self):
            answer.set()

    scorer = SandboxScorer("h:1", client=Client(), local=lambda: local, clock=lambda: now[0])
    assert scorer.score(ADD, TRUTH).scorer == "prime_code"
    now[0] = 31.0
    with ThreadPoolExecutor(32) as pool:
        first = pool.submit(scorer.score, ADD, TRUTH)
        assert asked.acquire(timeout=60)
        others = list(pool.map(lambda _: scorer.score(ADD, TRUTH), range(31)))
        assert {result.scorer for result in others} == {"prime_code"}
        assert len(batches) == 2
        answer.set()
        assert (first.result().scorer, first.result().score) == ("sandbox", 1.0)
    assert scorer.score(ADD, TRUTH).scorer == "sandbox"


def test_where_nobody_stands_in_the_client_is_patient(dead_address, scorer_of):
    def retry_of(**settings):
        return scorer_of(dead_address, **settings)._client_settings()["retry"]

    assert retry_of() == RetryPolicy()
    for policy in ("raise", "mask"):
        retry = retry_of(on_unavailable=policy)
        waits = [min(retry.max_s, retry.base_s * 2**n) for n in range(retry.max_attempts - 1)]
        assert 15 < sum(waits) < 30
    own = RetryPolicy(max_attempts=2)
    assert retry_of(on_unavailable="mask", retry=own) is own
