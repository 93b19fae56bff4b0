"""The sweep finds what is planted."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from verifier.stress.runner import SETTLE_LOOKS, Arena, settled
from verifier.stress.sweep import MARK, ServiceSweep, SlotSweep, below, descriptors, processes


class Bare:
    """A slot that nothing is known of."""

    name = "bare"
    healthy = True


def test_a_slot_that_cannot_be_seen_says_so():
    sweep = SlotSweep(Bare())
    assert sweep.look() == frozenset()
    assert "processes" in sweep.scope().hidden


def test_descendants():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert child.pid in {p.pid for p in below(os.getpid(), processes())}
    finally:
        child.communicate()


def test_a_descriptor_that_stays_open():
    sweep = ServiceSweep()
    assert sweep.grown() == frozenset()
    before = descriptors()
    with Path(os.devnull).open() as f:
        assert f.fileno() >= 0
        assert descriptors() == before + 1
        assert any("/dev/null" in text for text in sweep.grown())
        assert sweep.grown(pool=1) == frozenset()
    assert sweep.grown() == frozenset()


async def test_what_is_planted_is_found(sandbox_of, tmp_path, monkeypatch):
    """A file on the host, a group below the slot's, a process in the slot's namespaces."""
    sandbox = sandbox_of()
    await sandbox.start()
    try:
        arena = Arena(sandbox)
        try:
            await arena.start()
            sweep = arena._sweeps[arena.slot.name]
            # Not in the folder that other sweeps of this machine look at.
            monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
            before = sweep.look()
            planted = Path(tempfile.mkdtemp(prefix=f"{MARK}-"))
            try:
                assert {t.split()[0] for t in sweep.look() - before} == {"file"}
            finally:
                planted.rmdir()
            if os.geteuid() == 0:
                assert len(sweep.own) == 3
                for folder in sweep.groups[:1]:
                    (folder / "planted").mkdir()
                    assert any("cgroup" in text for text in sweep.look() - before)
                    (folder / "planted").rmdir()
                if sweep.uids:  # a container's user is everybody's
                    with _left_behind(max(sweep.uids)) as pid:
                        assert any(f"process {pid} " in text for text in sweep.processes())
            assert sweep.look() == before
            assert await arena._sweep() == set()
        finally:
            await arena.close()
    finally:
        await sandbox.close()


@contextlib.contextmanager
def _left_behind(uid: int):
    """A process of the slot's own user, out of the slot's namespaces."""
    code = f"import os; os.setuid({uid}); print(1, flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        assert process.stdout.readline() == b"1\n"
        yield process.pid
        process.communicate(b"\n")


# ---------------------------------------------------------------- what is still going


@pytest.mark.parametrize("looks", [0, 1, SETTLE_LOOKS - 1])
async def test_what_the_kernel_takes_apart_is_waited_for(monkeypatch, looks):
    """However long one look takes: here the time is over before the second."""
    times = iter(range(0, 10_000, 100))
    monkeypatch.setattr("verifier.stress.runner.time.monotonic", lambda: next(times))
    seen = iter([frozenset({"process 7 (python3, state Z) of ns0"})] * looks)
    assert await settled(lambda: next(seen, frozenset())) == frozenset()


async def test_what_stays_is_said_by_its_last_look(monkeypatch):
    times = iter(range(0, 10_000, 100))
    monkeypatch.setattr("verifier.stress.runner.time.monotonic", lambda: next(times))
    looks = itertools.count(1)
    left = await settled(lambda: frozenset({f"look {next(looks)}"}))
    assert left == {f"look {SETTLE_LOOKS}"}


async def test_a_real_zombie_is_a_leak_until_it_is_waited_for():
    child = subprocess.Popen(["true"])  # noqa: ASYNC220
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - it ends at once
    looks = itertools.count(1)

    def zombies() -> frozenset[str]:
        if next(looks) == SETTLE_LOOKS // 2 and reap:
            child.wait()
        found = below(os.getpid(), processes())
        return frozenset(f"{p.pid} {p.state}" for p in found if p.pid == child.pid)

    try:
        reap = False
        assert await settled(zombies) == {f"{child.pid} Z"}
        reap, looks = True, itertools.count(1)
        assert await settled(zombies) == frozenset()
    finally:
        child.wait()
