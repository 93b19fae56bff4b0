"""What tests of several layers share: real backends, and when their absence is a skip."""

from __future__ import annotations

import asyncio
import functools
import os
from pathlib import Path

import hypothesis
import pytest
import pytest_asyncio

# Else gRPC's C core reports every connection that a test breaks, between pytest's lines.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
# Servers that tests start keep nothing in the home of who runs the tests.
os.environ.setdefault("VERIFIER_CACHE_DIR", "")

from verifier.engine import Engine, make_sandbox
from verifier.errors import BackendError, GuaranteeError

# Tests do not time: a machine that is busy is no failure of theirs.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

IMAGE = os.environ.get("VERIFIER_TEST_IMAGE", "verifier-sandbox:latest")
ACCEPTABLE = ("memory_limit", "cpu_accounting", "process_limit")
# Files of a minute or more: they start first, or one worker would be left with one at the end.
LONGEST = (
    "e2e/test_hack_proof.py",
    "parity/test_parity.py",
    "verl/test_differential.py",
    "stress/test_selfcheck.py",
    "stress/test_chaos.py",
    "stress/test_soak.py",
    "verl/test_seams.py",
    "verl/test_reward_models.py",
    "verl/test_managers.py",
    "compose/test_compose.py",
    "engine/test_interactive.py",
    "sandbox/test_backends.py",
)


def pytest_collection_modifyitems(items):
    """The longest files first, the others as they were found."""
    here = Path(__file__).parent
    rank = {here / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


@functools.lru_cache
def why_not(backend: str) -> str:
    """ "" when the backend serves here, else the reason."""

    async def probe():
        sandbox = make_sandbox(backend, image=IMAGE, accept=ACCEPTABLE)
        try:
            await sandbox.start()
        finally:
            await sandbox.close()

    try:
        asyncio.run(probe())
    except (BackendError, GuaranteeError) as e:
        return str(e)
    return ""


def require_backend(backend: str) -> None:
    """Skip where a backend cannot serve, or fail where the caller said it has to."""
    reason = why_not(backend)
    if not reason:
        return
    must = "VERIFIER_REQUIRE_DOCKER" if backend == "docker" else "VERIFIER_REQUIRE_NAMESPACES"
    if os.environ.get(must) == "1":
        pytest.fail(f"{backend}: {reason}")
    pytest.skip(f"{backend}: {reason}")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("namespaces", marks=pytest.mark.namespaces),
        pytest.param("docker", marks=pytest.mark.docker),
    ],
)
def backend(request):
    """Each real backend in turn."""
    require_backend(request.param)
    return request.param


@pytest.fixture(scope="module")
def sandbox_of(backend):
    """Makes a sandbox of the backend; every one is closed afterwards by its user."""
    return functools.partial(make_sandbox, backend, image=IMAGE, accept=ACCEPTABLE)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_engine(sandbox_of):
    """One engine for the tests of a module that are marked `asyncio(loop_scope="module")`."""
    engine = Engine(sandbox_of())
    await engine.start()
    yield engine
    await engine.close()


@pytest.fixture(scope="module")
def namespaces():
    """Skips where the namespaces backend cannot serve; makes a sandbox of it."""
    require_backend("namespaces")
    return functools.partial(make_sandbox, "namespaces", accept=ACCEPTABLE)
