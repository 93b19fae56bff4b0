"""What the runs of one engine share: its slots, its compiled programs, its counters."""

from __future__ import annotations

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
        artifacts: Compiled programs.
        running: Batches that run right now.
        faults: Slot faults seen since the start.
        reruns: Wall-clock kills that were run again alone.
    """

    pool: SlotPool
    backend: str
    toolchains: dict[str, str] = field(default_factory=dict)
    artifacts: ArtifactCache = field(default_factory=ArtifactCache)
    running: int = 0
    faults: int = 0
    reruns: int = 0

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
        self, program: Program, recipe: languages.Recipe, holder: list[Slot], priority: int
    ) -> CompileFacts:
        """The program's artifact.

        A slot that was taken to compile is left in `holder`, for its runs.
        """
        key = artifact_key(program, recipe, self.toolchains.get(recipe.name, ""))

        async def compile_now() -> CompileFacts:
            if not holder:
                holder.extend(await self.pool.take(1, priority))
            job = CompileJob(
                harness=recipe.run_harness,
                files={recipe.file_name(program.source): program.source},
                argv=recipe.compile_argv,
                outputs=recipe.outputs,
                limits=recipe.compile_limits,
                env=recipe.env,
            )
            return await holder[0].compile(job)

        return await self.artifacts.get(key, compile_now)
