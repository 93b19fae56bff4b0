"""kill -9 of a gateway under load: nothing of it runs on, and the next start sweeps."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from verifier.client import AsyncClient
from verifier.errors import InfraError
from verifier.types import LimitOverrides

ROOT = Path(__file__).resolve().parents[2]
GONE_S = 10.0
SPIN = "```python\nimport os\nfor _ in range(3): os.fork()\nwhile True: pass\n```"


def slot_processes(gateway: int, backend: str) -> list[psutil.Process]:
    """Everything in the gateway's slots; psutil tells a recycled pid by its start time."""
    if backend == "namespaces":
        return psutil.Process(gateway).children(recursive=True)
    return [
        psutil.Process(int(row[1]))
        for client, found in containers(gateway)
        for row in client.api.top(found["Id"])["Processes"]
    ]


def containers(gateway: int):
    import docker

    client = docker.from_env()
    try:
        for found in client.api.containers(all=True, filters={"label": "verifier.run"}):
            if found["Labels"]["verifier.run"].startswith(f"{gateway}-"):
                yield client, found
    finally:
        client.close()


def left_of(gateway: int) -> list[Path]:
    """Groups and folders with the gateway's name."""
    name = f"verifier-{gateway}-"
    # os.walk, as rglob raises when a group, of anybody's, goes while it looks
    walked = os.walk("/sys/fs/cgroup")
    found = [Path(top, each) for top, below, _ in walked for each in below if each.startswith(name)]
    return [*found, *Path(tempfile.gettempdir()).glob(f"{name}*")]


@contextlib.contextmanager
def serving(backend, image, address, accept):
    argv = [sys.executable, "-m", "verifier.cli", "serve", "--grpc", address, "--slots", "2"]
    argv += ["--backend", backend, "--image", image, "--accept", accept]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        said = iter(process.stdout.readline, b"")
        assert b"listening" in next(said, b""), "the gateway did not start"
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


async def under_load(gateway: int, backend: str) -> list[psutil.Process]:
    """Once both slots run what forks: keeper, runner, zygote, init, and eight of the program's."""
    while True:
        with contextlib.suppress(psutil.NoSuchProcess, OSError):  # the engine's errors are OSErrors
            found = slot_processes(gateway, backend)
            if len(found) >= 2 * (4 + 8):
                return found
        await asyncio.sleep(0.05)


@pytest.mark.timeout(120)
async def test_nothing_of_a_killed_gateway_runs_on(backend, sandbox_of, tmp_path):
    sandbox = sandbox_of()
    accept = ",".join(sandbox.accepted)
    image = sandbox_of.keywords["image"]
    address = f"unix:{tmp_path}/gateway.sock"
    with serving(backend, image, address, accept) as gateway:
        client = AsyncClient(address, timeout_s=60.0)
        truth = {"inputs": ["x"] * 4, "outputs": ["y"] * 4}
        limits = LimitOverrides(cpu_time_s=30.0, wall_time_s=60.0)
        calls = [
            asyncio.create_task(client.score(SPIN, truth, limits=limits)) for _ in range(6)
        ]  # fmt: skip
        try:
            mine = await under_load(gateway.pid, backend)
            gateway.kill()
            gateway.wait()
            _, alive = await asyncio.to_thread(psutil.wait_procs, mine, timeout=GONE_S)
            assert alive == []
            answers = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(answer, InfraError) for answer in answers)
        finally:
            for call in calls:
                call.cancel()
            await client.close()
    try:
        await sandbox.start()
        assert left_of(gateway.pid) == []
        if backend == "docker":
            assert list(containers(gateway.pid)) == []
    finally:
        await sandbox.close()
