"""The fallback with real programs in the embedded sandbox, and the field reports about it.

Guarantees that this host cannot give are accepted here by name: what a missing one does is tested
with a sandbox that says so, in test_local.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scoring_doubles import ADD, TRUTH

from verifier.engine import make_sandbox
from verifier.errors import VerifierError
from verifier.scoring import Sample, SandboxScorer, close_local_engines, local_engine, prime_code
from verifier.types import Outcome

pytestmark = pytest.mark.namespaces

ROOT = Path(__file__).resolve().parents[2]
WRONG = ADD.replace("a + b", "a - b")
CRASH = "```python\nraise SystemExit(3)\n```"
NO_COMPILE = "```python\nprint(\n```"


@pytest.fixture(scope="module")
def accept():
    async def missing():
        sandbox = make_sandbox("namespaces")
        try:
            return [g.name.value for g in await sandbox.guarantees() if not g.holds]
        finally:
            await sandbox.close()

    names = asyncio.run(missing())
    try:
        local_engine(accept=names)
    except VerifierError as error:
        if os.environ.get("VERIFIER_REQUIRE_NAMESPACES") == "1":
            pytest.fail(f"the embedded sandbox does not work on this host: {error}")
        pytest.skip(f"the embedded sandbox does not work on this host: {error}")
    yield names
    close_local_engines()


@pytest.fixture
def immediate_retries():
    from verifier.client import no_retry_sleep

    with no_retry_sleep():
        yield


def test_prime_code_on_real_programs(accept):
    def score(response, *, continuous=True):
        return prime_code.compute_score(response, TRUTH, continuous, accept=accept)

    assert score(ADD) == (True, {})
    assert score(ADD, continuous=False) == (True, {})
    results = {name: score(r) for name, r in [("w", WRONG), ("x", CRASH), ("c", NO_COMPILE)]}
    assert [value for value, _ in results.values()] == [0.0, 0.0, 0.0]
    codes = {name: [m["test_case"]["res"] for m in meta] for name, (_, meta) in results.items()}
    assert codes == {"w": ["[False]"] * 2, "x": ["[-1]"] * 2, "c": ["[-2]"] * 2}
    assert score(WRONG, continuous=False)[0] is False


def test_cli_dead_then_fallback(accept, immediate_retries):
    # Port 1 of the loopback: nobody listens there.
    scorer = SandboxScorer("127.0.0.1:1", accept=accept)
    result = scorer.score(ADD, TRUTH)
    scorer.close()
    assert (result.score, result.passed, result.total) == (1.0, 2, 2)
    assert result.scorer == "prime_code"
    assert result.runner == "namespaces"
    assert "GatewayUnavailableError" in result.fallback
    assert scorer.stats.snapshot().fallback == 1


def test_cli_stuck_sample_bounded(accept):
    """A sample that never ends is flagged at its deadline, the seven others keep their scores."""
    stuck = "```python\nimport time\ntime.sleep(3600)\n```"
    options = {"verifier": {"limits": {"cpu_time_s": 5, "wall_time_s": 60}}}
    samples = [
        Sample("taco", stuck if i == 5 else ADD, TRUTH, extra_info=options, index=i)
        for i in range(8)
    ]
    scorer = SandboxScorer(None, accept=accept, on_unavailable="mask", deadline_s=3.0)
    results = scorer.score_batch(samples)
    assert [r.score for r in results] == [1.0] * 5 + [None] + [1.0] * 2
    assert results[5].outcome is Outcome.INFRA_ERROR
    assert "Deadline" in results[5].error


def test_the_same_rules_as_offline_scoring(accept):
    """The fallback and the engine give equal verdicts, case by case."""
    from verifier.scoring.sample import build_tasks

    samples = [
        Sample("taco", r, TRUTH, request_id=str(i))
        for i, r in enumerate([ADD, WRONG, CRASH, NO_COMPILE, "no code"])
    ]
    fallback = SandboxScorer(None, accept=accept).score_batch(samples)
    direct = local_engine(accept=accept).score_many(build_tasks(samples))
    for ours, theirs in zip(fallback, direct, strict=True):
        assert (ours.score, ours.status) == (theirs.score, theirs.status)
        assert [c.status for c in ours.cases] == [c.status for c in theirs.cases]


THREADS_THEN_SCORE = """
import json, sys, threading
from verifier.scoring import Sample, SandboxScorer

given = json.loads(sys.argv[1])
stop = threading.Event()

def chatter():
    while not stop.wait(0.02):
        print("chatter", file=sys.stderr, flush=True)

threads = [threading.Thread(target=chatter) for _ in range(8)]
for thread in threads:
    thread.start()
try:
    samples = [Sample("taco", given["response"], given["truth"], index=i) for i in range(200)]
    results = SandboxScorer(None, accept=given["accept"]).score_batch(samples)
finally:
    stop.set()
print(json.dumps([r.score for r in results]))
"""

FORK_AFTER_SCORING = """
import json, os, sys
from verifier.scoring import SandboxScorer, local

given = json.loads(sys.argv[1])
scorer = SandboxScorer(None, accept=given["accept"])

def score():
    return scorer.score(given["response"], given["truth"]).score

before = score()
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.write(write, json.dumps(score()).encode())
    local.close_local_engines()
    os._exit(0)
os.close(write)
inside = json.loads(os.read(read, 100))
os.waitpid(child, 0)
print(json.dumps([before, inside, score()]))
"""


@pytest.mark.parametrize(
    ("script", "count"),
    [(THREADS_THEN_SCORE, 200), (FORK_AFTER_SCORING, 3)],
    ids=["cli-fork-after-threads", "fork-after-scoring"],
)
def test_forks_and_threads(accept, script, count):
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            script,
            json.dumps({"accept": accept, "response": ADD, "truth": TRUTH}),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Error" not in done.stderr, done.stderr[-2000:]  # the engine closed cleanly at exit
    assert json.loads(done.stdout.splitlines()[-1]) == [1.0] * count
