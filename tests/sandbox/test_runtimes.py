"""The `runtime` setting reaches the engine, and one that it does not have is said at once."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from typer.testing import CliRunner

from verifier.cli.app import app
from verifier.cli.common import ExitCode
from verifier.config import load_settings
from verifier.engine import make_sandbox
from verifier.errors import BackendError, ConfigError
from verifier.sandbox.base import Slot
from verifier.sandbox.conformance import CHECKS, run_check

NAMED = [pytest.param("docker", marks=pytest.mark.docker)]


def engine():
    import docker

    return docker.from_env(timeout=60)


def require(runtime: str) -> None:
    """The engine has it, or this is a skip; CI says that it must (`VERIFIER_REQUIRE_CRUN`)."""
    client = engine()
    try:
        known = client.info()["Runtimes"]
    finally:
        client.close()
    if runtime in known:
        return
    if os.environ.get(f"VERIFIER_REQUIRE_{runtime.upper()}") == "1":
        pytest.fail(f"the Docker engine has no {runtime}")
    pytest.skip(f"the Docker engine has no {runtime}")


@asynccontextmanager
async def slot_under(sandbox_of, runtime: str) -> AsyncIterator[tuple[Slot, str]]:
    """A slot, and the runtime that the engine says its container has."""
    sandbox = sandbox_of(runtime=runtime)
    client = engine()
    try:
        await sandbox.start()
        slot = await sandbox.open_slot()
        label = {"label": f"verifier.run={sandbox.run_id}"}
        (found,) = client.api.containers(filters=label)
        yield slot, client.api.inspect_container(found["Id"])["HostConfig"]["Runtime"]
    finally:
        client.close()
        await sandbox.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("backend", NAMED, indirect=True)
@pytest.mark.parametrize("runtime", ["runc", "crun"])
async def test_the_engine_uses_it_and_everything_holds(sandbox_of, runtime):
    require(runtime)
    async with slot_under(sandbox_of, runtime) as (slot, used):
        assert used == runtime
        for check in CHECKS:
            assert await run_check(slot, check) == "", check.name


@pytest.mark.parametrize("backend", NAMED, indirect=True)
async def test_one_that_the_engine_lacks_is_named_with_those_it_has(sandbox_of):
    sandbox = sandbox_of(runtime="rnuc")
    try:
        with pytest.raises(ConfigError, match=r"no 'rnuc'; it has: .*\brunc\b.*--add-runtime"):
            await sandbox.start()
    finally:
        await sandbox.close()


@pytest.mark.parametrize("backend", NAMED, indirect=True)
async def test_guarantees_say_under_which(sandbox_of):
    sandbox = sandbox_of(runtime="runc")
    try:
        said = [guarantee.mechanism for guarantee in await sandbox.guarantees()]
    finally:
        await sandbox.close()
    assert any("(runc)" in text for text in said)


@pytest.mark.parametrize("backend", ["namespaces", "process", "fake"])
def test_the_other_backends_have_none(backend):
    with pytest.raises(ConfigError, match="runtime: 'crun' is for the docker backend"):
        make_sandbox(backend, runtime="crun", allow_unsafe=True)


def test_it_is_a_setting():
    assert load_settings(env={}).settings.runtime is None
    assert load_settings(env={"VERIFIER_RUNTIME": "crun"}).settings.runtime == "crun"
    assert load_settings(flags={"runtime": "runc"}, env={}).settings.runtime == "runc"


def test_selfcheck_wants_the_backend_that_has_one():
    done = CliRunner().invoke(app, ["selfcheck", "--runtime", "crun"])
    assert done.exit_code == ExitCode.USAGE
    assert "verifier selfcheck --backend docker --runtime crun" in done.stderr


@pytest.mark.parametrize("backend", NAMED, indirect=True)
def test_the_doctor_shows_it(sandbox_of):
    args = ["doctor", "--json", "--backend", "docker", "--image", sandbox_of.keywords["image"]]
    done = CliRunner().invoke(app, [*args, "--runtime", "runc"])
    assert done.exit_code == ExitCode.OK, done.output
    assert "(runc)" in done.stdout
    done = CliRunner().invoke(app, [*args, "--runtime", "rnuc"])
    assert done.exit_code == ExitCode.UNAVAILABLE
    assert "no 'rnuc'" in json.loads(done.stdout)["problem"]


@pytest.mark.parametrize("backend", NAMED, indirect=True)
async def test_one_that_cannot_start_the_jail_is_no_verdict(sandbox_of):
    """gVisor, where it is registered: it has no namespaces to nest, and that is said."""
    require("runsc")
    sandbox = sandbox_of(runtime="runsc")
    try:
        with pytest.raises(BackendError):
            await sandbox.start()
    finally:
        await sandbox.close()
