"""The fake keeps the contract of a sandbox, and its faults are the ones that were scripted."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from verifier.errors import BackendError, SlotError
from verifier.sandbox.base import CompileJob, GuaranteeName, RunJob, Sandbox, Slot
from verifier.testing import FakeSandbox
from verifier.types import CompileFacts, Harness, Limits, RunFacts


def job(*inputs, harness=Harness.PYTHON):
    return RunJob(harness, b"", (), inputs, Limits())


COMPILE = CompileJob(Harness.PYTHON, {"main.py": b"x"}, (), (), Limits())


async def collect(slot, a_job):
    return [facts async for facts in slot.run(a_job)]


async def test_it_is_a_sandbox():
    sandbox = FakeSandbox()
    assert isinstance(sandbox, Sandbox)
    await sandbox.start()
    slot = await sandbox.open_slot()
    assert isinstance(slot, Slot)
    assert (await slot.compile(COMPILE)).ok
    assert [facts.stdout for facts in await collect(slot, job(b"a", b"b"))] == [b"a", b"b"]
    assert sandbox.open_slots == 1
    await sandbox.close()
    assert (sandbox.open_slots, slot.healthy, sandbox.started) == (0, False, False)


async def test_it_echoes_calls_and_asserts():
    slot = await FakeSandbox().open_slot()
    (called,) = await collect(slot, job(b"[1, 2]", harness=Harness.PYTHON_CALL))
    assert called.returned == b'{"ok": true, "value": [1, 2]}'
    (asserted,) = await collect(slot, job(b"assert 1", harness=Harness.PYTHON_ASSERT))
    assert asserted.returned == b'{"ok": true}'


async def test_the_script_answers():
    async def slow(a_job, data):
        await asyncio.sleep(0)
        return RunFacts(exit_code=len(data))

    slot = await FakeSandbox(slow).open_slot()
    assert [facts.exit_code for facts in await collect(slot, job(b"", b"ab"))] == [0, 2]
    broken = CompileFacts(ok=False, facts=RunFacts(exit_code=1), message="syntax")
    slot = await FakeSandbox(compile_script=lambda _: broken).open_slot()
    assert await slot.compile(COMPILE) is broken


async def test_the_nth_run_fails_and_takes_its_slot_with_it():
    sandbox = FakeSandbox(fail_runs=[2])
    slot = await sandbox.open_slot()
    with pytest.raises(SlotError, match="run 2"):
        await collect(slot, job(b"a", b"b", b"c"))
    assert not slot.healthy
    with pytest.raises(SlotError):
        await collect(slot, job(b"c"))
    assert len(await collect(await sandbox.open_slot(), job(b"c"))) == 1


async def test_a_run_hangs_until_it_is_released():
    gate = asyncio.Event()
    sandbox = FakeSandbox(hang_runs={1: gate})
    slot = await sandbox.open_slot()
    waiting = asyncio.ensure_future(collect(slot, job(b"a")))
    while not sandbox.runs:
        await asyncio.sleep(0)
    with pytest.raises(SlotError, match="two things"):
        await slot.compile(COMPILE)
    gate.set()
    assert len(await waiting) == 1
    assert sandbox.killed == 0


async def test_a_cancelled_run_is_counted_as_killed_and_leaves_the_slot_clean():
    sandbox = FakeSandbox(hang_runs={1: asyncio.Event()})
    slot = await sandbox.open_slot()
    waiting = asyncio.ensure_future(collect(slot, job(b"a")))
    while not sandbox.runs:
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert sandbox.killed == 1
    assert slot.healthy
    assert len(await collect(slot, job(b"b"))) == 1


async def test_compilation_waits_for_its_gate():
    gate = asyncio.Event()
    sandbox = FakeSandbox(compile_gate=gate)
    slot = await sandbox.open_slot()
    waiting = asyncio.ensure_future(slot.compile(COMPILE))
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.set()
    assert (await waiting).ok


async def test_slots_that_cannot_be_had_and_guarantees_that_are_missing():
    sandbox = FakeSandbox(fail_opens=1, missing=[GuaranteeName.SECCOMP])
    with pytest.raises(BackendError):
        await sandbox.open_slot()
    await sandbox.open_slot()
    missing = [g for g in await sandbox.guarantees() if not g.holds]
    assert [g.name for g in missing] == [GuaranteeName.SECCOMP]
    assert missing[0].remedy


def test_the_fakes_load_no_grpc():
    code = "import sys, verifier.testing; sys.exit('grpc' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
