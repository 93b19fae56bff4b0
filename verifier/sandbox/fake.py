"""A sandbox that runs nothing: it answers from a script. For tests, ours and our users'.

    sandbox = FakeSandbox(lambda job, data: RunFacts(exit_code=0, stdout=data.upper()))

Without a script it echoes: standard output is the input, a called function returns its arguments,
an assert passes. Faults are scripted by the number of the run (counted over the whole sandbox, from
1), or by a script that is a coroutine function: it may wait for an `asyncio.Event`, or raise
`SlotError`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from typing import TypeAlias

from verifier.errors import BackendError, SlotError
from verifier.sandbox.base import CompileJob, Guarantee, GuaranteeName, RunJob
from verifier.types import CompileFacts, Harness, RunFacts

__all__ = ["CompileScript", "FakeSandbox", "FakeSlot", "Script", "echo"]

Script: TypeAlias = "Callable[[RunJob, bytes], RunFacts | Awaitable[RunFacts]]"
CompileScript: TypeAlias = "Callable[[CompileJob], CompileFacts | Awaitable[CompileFacts]]"


def echo(job: RunJob, data: bytes) -> RunFacts:
    """What a program does that gives back its input."""
    if job.harness is Harness.PYTHON_CALL:
        return RunFacts(exit_code=0, returned=b'{"ok": true, "value": %b}' % (data or b"null"))
    if job.harness is Harness.PYTHON_ASSERT:
        return RunFacts(exit_code=0, returned=b'{"ok": true}')
    return RunFacts(exit_code=0, stdout=data, stdout_bytes=len(data))


def _compiles(job: CompileJob) -> CompileFacts:
    return CompileFacts(
        ok=True, facts=RunFacts(exit_code=0), artifact=b"\0".join(job.files.values())
    )


class FakeSandbox:
    """A backend for tests.

    Args:
        script: Facts of one run, from the job and one of its inputs. May be a coroutine function.
        compile_script: Facts of one compilation. May be a coroutine function.
        fail_runs: Numbers of the runs that end in a `SlotError`.
        tire_runs: Numbers of the runs whose slot answers their batch and is then to be replaced.
        hang_runs: Number of a run -> the event it waits for before it answers.
        fail_opens: So many calls of `open_slot` raise `BackendError`, the first ones.
        compile_gate: Every compilation waits for it.
        toolchains: Language -> version.
        packages: Language -> library -> version.
        missing: Guarantees that do not hold.
        recording: Keep every job in `compiles` and `runs`: a long run would fill the memory.

    Attributes:
        compiles: Jobs that were compiled.
        runs: (job, input) of every run, in the order they began.
        killed: Runs that were cancelled before they answered.
        slots: Every slot that was opened.
        started: `start` was called, and `close` was not.
        scripted: Its answers are the script's: a breaker's probe asks for none.
    """

    def __init__(
        self,
        script: Script | None = None,
        compile_script: CompileScript | None = None,
        *,
        fail_runs: Collection[int] = (),
        tire_runs: Collection[int] = (),
        hang_runs: Mapping[int, asyncio.Event] | None = None,
        fail_opens: int = 0,
        compile_gate: asyncio.Event | None = None,
        toolchains: Mapping[str, str] | None = None,
        packages: Mapping[str, dict[str, str]] | None = None,
        missing: Collection[GuaranteeName] = (),
        recording: bool = True,
    ) -> None:
        """Nothing is open."""
        self._script = script or echo
        self._compile_script = compile_script or _compiles
        self._fail_runs = frozenset(fail_runs)
        self._tire_runs = frozenset(tire_runs)
        self._hang_runs = dict(hang_runs or {})
        self._fail_opens = fail_opens
        self._compile_gate = compile_gate
        self._toolchains = dict(
            toolchains if toolchains is not None else {"python": "fake", "cpp": "fake"}
        )
        self._packages = dict(packages or {})
        self._missing = frozenset(missing)
        self._recording = recording
        self._begun = 0
        self.compiles: list[CompileJob] = []
        self.runs: list[tuple[RunJob, bytes]] = []
        self.killed = 0
        self.slots: list[FakeSlot] = []
        self.started = False
        self.scripted = True

    @property
    def name(self) -> str:
        """Always "fake"."""
        return "fake"

    @property
    def open_slots(self) -> int:
        """Slots that are not closed."""
        return sum(not slot.closed for slot in self.slots)

    async def start(self) -> None:
        """Nothing to check."""
        self.started = True

    async def open_slot(self, cpu: int | None = None) -> FakeSlot:
        """A slot.

        Raises:
            BackendError: As scripted.
        """
        if self._fail_opens > 0:
            self._fail_opens -= 1
            raise BackendError("scripted: no slot")
        slot = FakeSlot(self, f"fake-{len(self.slots)}", cpu)
        self.slots.append(slot)
        return slot

    async def close(self) -> None:
        """Close all slots."""
        for slot in self.slots:
            await slot.close()
        self.started = False

    async def guarantees(self) -> tuple[Guarantee, ...]:
        """What runs nothing breaks nothing: all hold but those scripted as missing."""
        return tuple(
            Guarantee(
                name, holds=False, mechanism="scripted as missing", remedy="script it otherwise"
            )
            if name in self._missing
            else Guarantee(name, holds=True, mechanism="nothing is run")
            for name in GuaranteeName
        )

    async def toolchains(self) -> dict[str, str]:
        """As scripted."""
        return dict(self._toolchains)

    async def packages(self) -> dict[str, dict[str, str]]:
        """As scripted."""
        return dict(self._packages)

    async def do_compile(self, job: CompileJob) -> CompileFacts:
        """Record and answer one compilation."""
        if self._recording:
            self.compiles.append(job)
        if self._compile_gate is not None:
            await self._compile_gate.wait()
        facts = self._compile_script(job)
        return await facts if inspect.isawaitable(facts) else facts

    async def do_run(self, job: RunJob, data: bytes) -> RunFacts:
        """Record and answer one run."""
        if self._recording:
            self.runs.append((job, data))
        self._begun += 1
        number = self._begun
        try:
            if number in self._hang_runs:
                await self._hang_runs[number].wait()
            facts = self._answer(number, job, data)
            return await facts if inspect.isawaitable(facts) else facts
        except (asyncio.CancelledError, GeneratorExit):
            self.killed += 1
            raise

    def tired(self, runs: int) -> bool:
        """Whether the last so many runs were to be a slot's last ones."""
        return any(self._begun - at in self._tire_runs for at in range(runs))

    def _answer(self, number: int, job: RunJob, data: bytes) -> RunFacts | Awaitable[RunFacts]:
        if number in self._fail_runs:
            raise SlotError(f"scripted: run {number} fails")
        return self._script(job, data)


class FakeSlot:
    """One slot of a `FakeSandbox`. One thing at a time: it raises when it is asked for two."""

    def __init__(self, sandbox: FakeSandbox, name: str, cpu: int | None = None) -> None:
        """Made by `FakeSandbox.open_slot`; `cpu` is the core it was told to be bound to."""
        self._sandbox = sandbox
        self._name = name
        self._busy = False
        self._healthy = True
        self.closed = False
        self.cpu = cpu

    @property
    def name(self) -> str:
        """Unique within the sandbox."""
        return self._name

    @property
    def healthy(self) -> bool:
        """False after a `SlotError`, and once closed."""
        return self._healthy and not self.closed

    async def compile(self, job: CompileJob) -> CompileFacts:
        """Answer from the script.

        Raises:
            SlotError: As scripted, or the slot is busy or closed.
        """
        self._take()
        try:
            return await self._sandbox.do_compile(job)
        except SlotError:
            self._healthy = False
            raise
        finally:
            self._busy = False

    async def run(self, job: RunJob) -> AsyncIterator[RunFacts]:
        """Answer each input from the script.

        Raises:
            SlotError: As scripted, or the slot is busy or closed.
        """
        self._take()
        try:
            for data in job.inputs:
                yield await self._sandbox.do_run(job, data)
            self._healthy = not self._sandbox.tired(len(job.inputs))
        except SlotError:
            self._healthy = False
            raise
        finally:
            self._busy = False
            for wire in job.wires:
                wire.close()

    async def close(self) -> None:
        """Gone."""
        self.closed = True

    def _take(self) -> None:
        if not self.healthy:
            raise SlotError(f"{self._name} is closed or broken")
        if self._busy:
            raise SlotError(f"{self._name} is asked to run two things at once")
        self._busy = True
