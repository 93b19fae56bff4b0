"""Slots that die, stand still or are held back, seen from the supervisor's side."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.sandbox.test_backends import compiled, one_slot, outputs
from verifier.errors import SlotError
from verifier.sandbox.base import RunJob
from verifier.types import Harness, Limits

FORKS = "import os\nif os.fork() == 0: os._exit(0)\nos.wait()\nprint('two')"
BOMB = "import os\ntry:\n    while True: os.fork()\nexcept OSError: pass\nprint('full')"
LIMITS = Limits(cpu_time_s=2.0, wall_time_s=60.0, memory_bytes=256 << 20, processes=64)


def runner_of(slot) -> psutil.Process:
    (runner,) = psutil.Process(slot.pid).children()
    return runner


async def test_a_runner_that_dies_while_it_is_idle_is_known_to_be_dead(sandbox_of):
    async with one_slot(sandbox_of()) as slot:
        gone = asyncio.Event()
        slot.watch(gone.set)
        runner_of(slot).kill()
        await gone.wait()
        assert not slot.healthy


async def test_a_runner_that_is_stopped_is_seen_long_before_its_time_is_over(sandbox_of):
    async with one_slot(sandbox_of()) as slot:
        artifact = await compiled(slot, "print('alive')")
        runner_of(slot).send_signal(signal.SIGSTOP)
        job = RunJob(Harness.PYTHON, artifact, (), [b""], LIMITS)
        with pytest.raises(SlotError, match="stopped"):
            _ = [f async for f in slot.run(job)]
        assert not slot.healthy


@pytest.mark.parametrize(
    "backend", [pytest.param("docker", marks=pytest.mark.docker)], indirect=True
)
async def test_a_container_that_is_paused_is_seen_and_can_be_closed(sandbox_of):
    import docker

    sandbox = sandbox_of()
    async with one_slot(sandbox) as slot:
        artifact = await compiled(slot, "print('alive')")
        client = docker.from_env()
        try:
            client.api.pause(f"verifier-{sandbox.run_id}-{slot.name}")
            job = RunJob(Harness.PYTHON, artifact, (), [b""], LIMITS)
            with pytest.raises(SlotError, match="stopped"):
                _ = [f async for f in slot.run(job)]
            await slot.close()
            label = {"label": f"verifier.run={sandbox.run_id}"}
            assert client.api.containers(all=True, filters=label) == []
        finally:
            client.close()


def pids_group(pid: int) -> Path | None:
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, own = line.split(":", 2)
        group = Path("/sys/fs/cgroup", names, own.lstrip("/"))
        if names in ("pids", "") and os.access(group / "pids.max", os.W_OK):
            return group
    return None


async def test_a_program_that_its_slots_group_refuses_a_process_gets_no_verdict(sandbox_of):
    async with one_slot(sandbox_of()) as slot:
        (facts,) = await outputs(slot, FORKS)
        assert facts.stdout == b"two\n"
        (zygote,) = runner_of(slot).children()
        group = pids_group(zygote.pid)
        if group is None:
            pytest.skip("the slot has no group whose limit could be lowered")
        # Room for init and the program, and for no third one.
        (group / "pids.max").write_text(str(int((group / "pids.current").read_text()) + 2))
        with pytest.raises(SlotError, match="limit of processes"):
            await outputs(slot, FORKS)
        assert not slot.healthy


async def test_a_program_that_meets_its_own_limit_does_not_count_as_held_back(sandbox_of):
    async with one_slot(sandbox_of()) as slot:
        for processes in (8, 100):
            limits = Limits(2.0, 60.0, 512 << 20, processes=processes)
            (facts,) = await outputs(slot, BOMB, limits=limits)
            assert facts.stdout or facts.killer.value != "none"
        assert slot.healthy
