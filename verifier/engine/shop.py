"""What the runs of one engine share: its slots, its compiled programs, its counters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from verifier import languages
from verifier.engine.artifacts import ArtifactCache, artifact_key
from verifier.engine.pool import SlotPool
from verifier.errors import BackendError
from verifier.sandbox.base import CompileJob, Slot
from verifier.types import CompileFacts, Program

# How often work is tried: a slot's fault is tried once more, on another slot.
ATTEMPTS = 2


@dataclass(slots=True)
class Shop:
    """See the module.

    Attributes:
        pool: The slots.
        backend: The sandbox's name.
        toolchains: Language -> version of what the sandbox has; empty where that is not known.
        testlib: The operator's testlib.h, for checkers and interactors in C and C++.
        artifacts: Compiled programs.
        running: Batches that run right now.
        faults: Slot faults seen since the start.
        reruns: Wall-clock kills that were run again alone.
        controls: What checkers that failed say to the expected answer (see `engine.checkers`).
    """

    pool: SlotPool
    backend: str
    toolchains: dict[str, str] = field(default_factory=dict)
    testlib: bytes | None = None
    artifacts: ArtifactCache = field(default_factory=ArtifactCache)
    running: int = 0
    faults: int = 0
    reruns: int = 0
    controls: OrderedDict[bytes, str] = field(default_factory=OrderedDict)

    def recipe(self, language: str) -> languages.Recipe:
        """The recipe of a language that this sandbox has.

        Raises:
            BackendError: It has no toolchain for it: a fault of the machinery, never of the
            program.
        """
        recipe = languages.get(language)
        if self.toolchains and recipe.name not in self.toolchains:
            raise BackendError(
                f"language {recipe.name}: its toolchain is not in this sandbox ({self.backend}); "
                f"there are {', '.join(sorted(self.toolchains))}. See docs/images.md"
            )
        return recipe

    async def compiled(
        self,
        program: Program,
        recipe: languages.Recipe,
        holder: list[Slot],
        priority: int,
        *,
        beside: bool = False,
        files: Mapping[str, bytes] | None = None,
    ) -> CompileFacts:
        """The program's artifact.

        Args:
            program: What to compile.
            recipe: Of its language.
            holder: Where a slot that was taken to compile is left, for the program's runs.
            priority: Of the task.
            beside: Compile in the partner of the slot: nothing of this program enters the slot.
            files: What else lies there.
        """
        key = artifact_key(program, recipe, self.toolchains.get(recipe.name, ""), files)

        async def compile_now() -> CompileFacts:
            if not holder:
                holder.extend(await self.pool.take(1, priority))
            job = CompileJob(
                harness=recipe.run_harness,
                files={recipe.file_name(program.source): program.source, **(files or {})},
                argv=recipe.compile_argv,
                outputs=recipe.outputs,
                limits=recipe.compile_limits,
                env=recipe.env,
            )
            slot = await self.pool.partner(holder[0]) if beside else holder[0]
            return await slot.compile(job)

        return await self.artifacts.get(key, compile_now)
