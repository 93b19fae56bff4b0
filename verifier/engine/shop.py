"""What the runs of one engine share: its slots, its compiled programs, its counters.

Compilers have slots of their own, so that a burst of programs in C++ leaves the slots of the runs
to the runs. They are opened when the first one is needed. Byte-compiling Python is no more than a
run, and happens where the program runs; so does all compiling where there are no slots for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from verifier import languages
from verifier.engine.artifacts import ArtifactCache, artifact_key
from verifier.engine.pool import SlotPool
from verifier.engine.shares import Claim
from verifier.errors import BackendError
from verifier.languages import source
from verifier.languages.unit_tests import BUILD_FAULT
from verifier.sandbox.base import CompileJob, Slot
from verifier.types import CompileFacts, Killer, Limits, Program, RunFacts

# How often work is tried: a slot's fault is tried once more, on another slot.
ATTEMPTS = 2
# A wall-clock kill counts as contended when the program was ready to run, without a core, for this
# share.
CONTENDED_SHARE = 0.1
# What byte-compiling has at the least.
BYTE_COMPILE_MEMORY_BYTES = 64 * 1024 * 1024


class Compilers:
    """The compile slots of one engine: opened at the first compile, not before."""

    def __init__(self, pool: SlotPool) -> None:
        """The pool is not started yet."""
        self._pool = pool
        self._opening: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def slot(self, claim: Claim | int) -> AsyncIterator[Slot]:
        """One of them, for a block.

        Raises:
            BackendError: There can be none.
        """
        opening = self._opening
        if opening is None or (opening.done() and opening.exception() is not None):
            opening = self._opening = asyncio.create_task(self._pool.start())
        # Who asked first may go away: the slots are everybody's.
        await asyncio.shield(opening)
        async with self._pool.group(1, claim) as (slot,):
            yield slot

    @contextlib.asynccontextmanager
    async def none(self, claim: Claim | int) -> AsyncIterator[None]:
        """No compiler runs, for a block."""
        if self._opening is None:  # none ever did
            yield
            return
        await asyncio.wait([self._opening])
        if self._opening.exception() is not None:
            yield
            return
        async with self._pool.group(self._pool.size, claim):
            yield

    async def close(self) -> None:
        """Close all slots."""
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        await self._pool.close()


@dataclass(slots=True)
class Shop:
    """See the module.

    Attributes:
        pool: The slots.
        backend: The sandbox's name.
        toolchains: Language -> version of what the sandbox has; empty where that is not known.
        packages: Language -> library -> version, of what programs find there.
        testlib: The operator's testlib.h, for checkers and interactors in C and C++.
        artifacts: Compiled programs.
        running: Batches that run right now.
        faults: Slot faults seen since the start.
        reruns: Wall-clock kills that were run again alone.
        controls: What checkers that failed say to the expected answer (see `engine.checkers`).
        compilers: Slots for compilers; None: programs are compiled where they run.
        compiles_in_run: The slots run short Python sources as they are (`sandbox.sources`).
    """

    pool: SlotPool
    backend: str
    toolchains: dict[str, str] = field(default_factory=dict)
    packages: dict[str, dict[str, str]] = field(default_factory=dict)
    testlib: bytes | None = None
    artifacts: ArtifactCache = field(default_factory=ArtifactCache)
    running: int = 0
    faults: int = 0
    reruns: int = 0
    controls: OrderedDict[bytes, str] = field(default_factory=OrderedDict)
    compilers: Compilers | None = None
    compiles_in_run: bool = False

    def fault(self, error: Exception) -> None:
        """A slot failed in use."""
        self.faults += 1
        self.pool.breaker.failed(str(error))

    def recipe(self, language: str) -> languages.Recipe:
        """The recipe of a language, or of a unit-test mode, that this sandbox has.

        Raises:
            BackendError: It has no toolchain for it: a fault of the machinery, never of the
            program.
        """
        mode = languages.MODES.get(language)
        recipe = mode.recipe if mode else languages.get(language)
        if self.toolchains and recipe.name not in self.toolchains:
            raise BackendError(
                f"language {recipe.name}: its toolchain is not in this sandbox ({self.backend}): "
                f"{recipe.remedy}. There are {', '.join(sorted(self.toolchains))}. "
                "See docs/languages.md"
            )
        return recipe

    @contextlib.asynccontextmanager
    async def alone(self, claim: Claim | int) -> AsyncIterator[list[Slot]]:
        """All slots of runs, and no compiler beside them, for a block.

        Nobody holds a compiler's slot while it waits for a run's: the order cannot deadlock.

        Raises:
            BackendError: There are not as many slots any more.
        """
        async with self.pool.group(self.pool.size, claim) as slots:
            # The first one is worked with: where partners are scarce, one that has its own.
            slots.sort(key=lambda slot: not self.pool.paired(slot))
            if self.compilers is None:
                yield slots
            else:
                async with self.compilers.none(claim):
                    yield slots

    async def compiled(
        self,
        program: Program,
        recipe: languages.Recipe,
        holder: list[Slot],
        claim: Claim | int,
        *,
        beside: bool = False,
        files: Mapping[str, bytes] | None = None,
        limits: Limits | None = None,
    ) -> CompileFacts:
        """The program's artifact.

        A compiler that the wall clock stopped though it was ready to run is run again with all
        slots to itself.

        Args:
            program: What to compile.
            recipe: Of its language.
            holder: Where a slot that was taken to compile is left, for the program's runs. Stays
                empty where the compiler had a slot of its own, or did not run.
            claim: Of the task.
            beside: Compile in the partner of the slot: nothing of this program enters the slot.
            files: What else lies there.
            limits: Of the program's runs. Byte-compiling is part of them, so it has their memory,
                and a container's bound stays as it is.

        Raises:
            BackendError: The compiler got no core even then; or a compile step of ours failed by
            itself (and is not kept).
        """
        if wrong := source.problem(program.source):
            return CompileFacts(ok=False, facts=RunFacts(exit_code=1), artifact=b"", message=wrong)
        program = dataclasses.replace(program, source=source.tidied(program.source))
        toolchain = self.toolchains.get(recipe.name, "")
        # A header that is there now makes another artifact than its absence did.
        libraries = repr(sorted(self.packages.get(recipe.name, {}).items()))
        key = artifact_key(program, recipe, f"{toolchain} {libraries}", files)
        compile_limits = _compile_limits(recipe, limits)
        job = CompileJob(
            harness=recipe.run_harness,
            files={recipe.file_name(program.source): program.source, **(files or {})},
            argv=recipe.compile_command(program.source),
            outputs=recipe.outputs,
            limits=compile_limits,
            env=recipe.run_env(compile_limits),
        )

        async def compile_in(slot: Slot) -> CompileFacts:
            return _built(recipe, await slot.compile(job))

        async def compile_now() -> CompileFacts:
            if self.compilers is not None and recipe.compile_argv and not beside:
                async with self.compilers.slot(claim) as slot:
                    return await compile_in(slot)
            if not holder:
                holder.extend(await self.pool.take(1, claim))
            slot = await self.pool.partner(holder[0]) if beside else holder[0]
            return await compile_in(slot)

        lasting = bool(recipe.compile_argv)
        found = await self.artifacts.get(key, compile_now, lasting=lasting)
        if found.ok or not contended(found.facts, job.limits):
            return found
        # It was ready to run and had no core: the load, and not the program, has failed it.
        self.reruns += 1
        while holder:
            self.pool.give_back(holder.pop())
        async with self.alone(claim) as slots:
            kept = self.artifacts.peek(key)
            if kept is not None:
                return kept
            # Not by `get`: whoever compiles the same by now may wait for a slot that we hold.
            slot = await self.pool.partner(slots[0]) if beside else slots[0]
            found = await compile_in(slot)
            self.artifacts.put(key, found, lasting=lasting)
        if not found.ok and contended(found.facts, job.limits):
            raise BackendError(
                f"the compiler had no core for {found.facts.run_delay_s:.1f} s of the "
                f"{job.limits.wall_time_s:g} s it may take: this machine is overloaded"
            )
        return found


def contended(facts: RunFacts, limits: Limits) -> bool:
    """Killed by the wall clock while it wanted to run and could not."""
    return facts.killer is Killer.WALL and facts.run_delay_s > CONTENDED_SHARE * limits.wall_time_s


def _built(recipe: languages.Recipe, compiled: CompileFacts) -> CompileFacts:
    """What a unit-test mode's compile step made, where it did not fail by itself."""
    by_us = recipe.name in languages.MODES and compiled.facts.exit_code == BUILD_FAULT
    if by_us and not compiled.ok:
        raise BackendError(f"unit tests could not be built: {compiled.message[-400:]}")
    return compiled


def _compile_limits(recipe: languages.Recipe, run: Limits | None) -> Limits:
    if recipe.compile_argv or run is None:
        return recipe.compile_limits
    memory = max(run.memory_bytes, BYTE_COMPILE_MEMORY_BYTES)
    return dataclasses.replace(recipe.compile_limits, memory_bytes=memory)
