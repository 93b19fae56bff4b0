"""What a language recipe says. One recipe is one small file; nothing here runs anything."""

from __future__ import annotations

from dataclasses import dataclass

from verifier.types import Harness, Limits

# Of a compiler, where a language does not say otherwise.
COMPILE_LIMITS = Limits(
    cpu_time_s=30.0,
    wall_time_s=60.0,
    memory_bytes=1024 * 1024 * 1024,
    output_bytes=1024 * 1024,
    processes=64,
    file_bytes=256 * 1024 * 1024,
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one language is compiled and run.

    Attributes:
        name: Canonical name.
        aliases: Fence tags and data-set names that mean this language, lower case, without `name`.
        source_name: File name of the source.
        run_harness: PYTHON forks the warm interpreter; EXEC spawns `run_argv`.
        compile_argv: Compiler command in the compile jail's home; empty when there is nothing to
        compile.
        needs: Programs that must be there besides the first words of the commands.
        outputs: Files that make the artifact (glob patterns).
        run_argv: Command of a run; the artifact's files are in `/program`.
        version_argv: Prints the toolchain's version.
        env: Environment in addition to the slot's fixed one.
        compile_limits: Limits of the compiler.
        extra_processes: Threads a runtime starts for itself, added to the process limit.
    """

    name: str
    aliases: tuple[str, ...]
    source_name: str
    run_harness: Harness
    run_argv: tuple[str, ...]
    version_argv: tuple[str, ...]
    compile_argv: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    compile_limits: Limits = COMPILE_LIMITS
    extra_processes: int = 0

    def file_name(self, source: bytes) -> str:
        """The source's file name (Java's follows its public class; the others are fixed)."""
        del source
        return self.source_name
