"""Under verl's default of 1,024 MB: runtimes with threads run, and what holds more is MEMORY_LIMIT.

The programs of `memory/` start threads, hold as many MB as their input says, and print True. They
are scored as a reward manager does it: by the default scorer of a configuration with verl's keys.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import pytest_asyncio

from tests.languages.toolchains import require_toolchain
from verifier.config import Settings
from verifier.engine import Engine
from verifier.gateway import Gateway
from verifier.rewards.settings import read_reward_config
from verifier.scoring import Sample
from verifier.scoring.routing import code_scorer
from verifier.types import Status

HERE = Path(__file__).parent / "memory"
VERLS_DEFAULT_MB = 1024
OVER_MB = 1300
# Program -> its language, and what it holds besides its threads.
PROGRAMS = {
    "threads.py": ("python", 300),
    "blas.py": ("python", 300),
    "workers.js": ("javascript", 300),
    "Threads.java": ("java", 500),
    "goroutines.go": ("go", 400),
    "threads.rs": ("rust", 400),
    "tasks.cs": ("csharp", 300),
}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(sandbox_of):
    sandbox = sandbox_of()
    # One program at a time: two would have 2 GB at once.
    made = Engine(sandbox, slots=1, accept=frozenset(sandbox.accepted))
    await made.start()
    yield made
    await made.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scorer(engine):
    gateway = Gateway(engine, Settings(grpc="127.0.0.1:0"))
    address = (await gateway.start()).grpc
    fusion = {"url": f"verifier://{address}", "memory_limit_mb": VERLS_DEFAULT_MB}
    config = read_reward_config({"reward": {"sandbox_fusion": fusion}})
    made = code_scorer(**config.sandbox_settings(), on_unavailable="raise")
    yield made
    await made.aclose()
    await gateway.stop(0)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", PROGRAMS)
async def test_it_runs_and_more_is_the_memory_limit(engine, scorer, name):
    language, megabytes = PROGRAMS[name]
    require_toolchain(engine, language)
    response = f"```{language}\n{(HERE / name).read_text()}```"
    inputs = [f"{n}\n" for n in (megabytes, OVER_MB)]
    truth = json.dumps({"inputs": inputs, "outputs": ["True\n"] * 2})
    (result,) = await scorer.ascore_batch([Sample("taco", response, truth)])
    verdicts = [case.status for case in result.cases]
    assert verdicts == [Status.ACCEPTED, Status.MEMORY_LIMIT], result
