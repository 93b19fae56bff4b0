"""What a language recipe says. One recipe is one small file; nothing here runs anything.

The memory limit of a run is of what is resident, over all its processes. No limit is put on the
address space: V8, the JVM and Go reserve tens of gigabytes that they never touch, and
`threading.stack_size` and OpenBLAS a few. A runtime that collects garbage is told how large its
heap may become (`{heap_mb}` in a command or in the environment), because it reads the machine's
memory else: it would collect too late and be killed, or give up long before the limit.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from verifier.languages.calls.base import PATHS, Calls, Target, spellings
from verifier.languages.source import tidied
from verifier.types import Harness, Killer, Limits, RunFacts

# Of a compiler, where a language does not say otherwise.
COMPILE_LIMITS = Limits(
    cpu_time_s=30.0,
    wall_time_s=60.0,
    memory_bytes=1024 * 1024 * 1024,
    output_bytes=1024 * 1024,
    processes=64,
    file_bytes=256 * 1024 * 1024,
)
# Of a compiler that is itself a program of the JVM, or as large as one.
BIG_COMPILE_LIMITS = Limits(
    cpu_time_s=60.0,
    wall_time_s=120.0,
    memory_bytes=2 * 1024 * 1024 * 1024,
    output_bytes=1024 * 1024,
    processes=128,
    file_bytes=256 * 1024 * 1024,
    open_files=1024,
)

# What makes compilers start sooner is here, made once by `sandbox_images/finish.sh`: by root, where
# no program can write. A recipe does without it where it is absent.
STARTS = "/usr/local/lib/verifier"

# What every self-test reads, and what it answers.
SELF_TEST_STDIN = b"2 3\n"
SELF_TEST_STDOUT = b"5\n"

_HEAP = "{heap_mb}"
_LEAST_HEAP_MB = 8


@dataclass(frozen=True, slots=True)
class Library:
    """A library that programs of a language may use where a sandbox has it, and how to see that.

    Attributes:
        name: As programs, or the language's own package index, call it.
        package: Debian's package of it.
        files: A glob pattern of files that only it has; empty for a distribution of the Python that
            the slots run.
        version: A regular expression for those files. It is looked for in a file's path and then
            in its text, and its groups in all its matches, with dots between, are the version.
    """

    name: str
    package: str
    files: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class CalledProgram:
    """A program with a driver around it.

    Attributes:
        recipe: How it is compiled and run.
        source: What is compiled.
        files: What lies beside the source.
    """

    recipe: Recipe
    source: bytes
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one language is compiled and run.

    Attributes:
        name: Canonical name.
        title: As a person writes it.
        aliases: Fence tags and data-set names that mean this language, lower case, without `name`.
        family: Image family with its toolchain (`sandbox_images/recipe.py`).
        source_name: File name of the source.
        run_harness: PYTHON forks the warm interpreter; EXEC spawns `run_argv`.
        run_argv: Command of a run; the artifact's files are in `/program`. Commands and
            environments are taken by `run_command` and `run_env`, which fill in `{heap_mb}`.
        version_argv: Prints the toolchain's version. It starts with every gateway: a command that
            takes a second reads a file instead.
        self_test: A program that reads two integers from one line and prints their sum.
        packages: Debian packages of the toolchain; empty where Debian has none.
        libraries: What programs may use where it is there; a sandbox need not have any.
        linked: A regular expression for a source, and what its compiler's command ends with where
            that is found: libraries that a host may lack, and other programs with them.
        unpackaged: Where the toolchain comes from when Debian has none, and how it gets into an
            image.
        sandbox_fusion: Names under which Sandbox Fusion runs such programs.
        written_as: The language whose grammar, fences and file names these programs have, where
            this is but another compiler or standard for it: "cpp" of "cpp17", "python" of "pypy".
        by_tag: A block with this language's tag is taken for the program though nobody has asked
            for this language. Not so of languages that answers are explained with (a shell's
            commands, a query).
        compile_argv: Compiler command in the compile jail's home; empty when there is nothing to
            compile.
        needs: Programs that must be there besides the first words of the commands.
        outputs: Files that make the artifact (glob patterns).
        env: Environment in addition to the slot's fixed one.
        compile_limits: Limits of the compiler.
        extra_processes: Threads a runtime starts for itself, added to the process limit.
        heap_share: `{heap_mb}` as a share of the memory limit: the rest is the runtime's own.
        memory_marks: What the runtime writes to stderr when its heap is full, or when it is refused
            more than the machine could ever have: which is the memory limit that ended the run, as
            it would be on a machine that has more.
        stack_overflow: How endless recursion shows.
        notes: What else a person should know, for the page of languages.
        calls: What makes its programs answer calls (`verifier.languages.calls`). The PYTHON
            harness has its own.
    """

    name: str
    title: str
    aliases: tuple[str, ...]
    family: str
    source_name: str
    run_harness: Harness
    run_argv: tuple[str, ...]
    version_argv: tuple[str, ...]
    self_test: str
    packages: tuple[str, ...] = ()
    libraries: tuple[Library, ...] = ()
    linked: tuple[tuple[bytes, tuple[str, ...]], ...] = ()
    unpackaged: str = ""
    sandbox_fusion: tuple[str, ...] = ()
    written_as: str = ""
    by_tag: bool = True
    compile_argv: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    compile_limits: Limits = COMPILE_LIMITS
    extra_processes: int = 0
    heap_share: float = 0.75
    memory_marks: tuple[bytes, ...] = ()
    stack_overflow: str = "SIGSEGV"
    notes: str = ""
    calls: Calls | None = None

    def file_name(self, source: bytes) -> str:
        """The source's file name (Java's follows its public class; the others are fixed)."""
        del source
        return self.source_name

    def compile_command(self, source: bytes) -> tuple[str, ...]:
        """`compile_argv` for a source, with the libraries that it includes."""
        extra = (words for pattern, words in self.linked if re.search(pattern, source))
        return (*self.compile_argv, *itertools.chain.from_iterable(extra))

    def run_command(self, limits: Limits) -> tuple[str, ...]:
        """`run_argv` for a run with these limits."""
        heap = self._heap(limits)
        return tuple(word.replace(_HEAP, heap) for word in self.run_argv)

    def run_env(self, limits: Limits) -> tuple[tuple[str, str], ...]:
        """`env` for a run, or a compiler, with these limits."""
        heap = self._heap(limits)
        return tuple((name, value.replace(_HEAP, heap)) for name, value in self.env)

    def called(self, source: bytes, fn_name: str, arity: int) -> CalledProgram:
        """A program of this language whose function is called.

        Args:
            source: As the response has it.
            fn_name: The test's name of the function.
            arity: How many arguments the test gives.

        Raises:
            ValueError: The language has no calls (a fault of the caller).
        """
        calls = self.calls
        if calls is None:
            raise ValueError(f"{self.name} has no calls")
        text = tidied(source).decode("utf-8", "surrogateescape")
        target = Target(spellings(fn_name), arity)
        made = calls.complete(text, target)
        names = target.names if calls.names_in_run else ()
        name = calls.compiled_name or self.source_name
        recipe = dataclasses.replace(
            self,
            compile_argv=tuple(name if w == self.source_name else w for w in self.compile_argv),
            outputs=calls.outputs or self.outputs,
            run_argv=(*(calls.run_argv or self.run_argv), *PATHS, *names),
        )
        return CalledProgram(recipe, made.source.encode("utf-8", "surrogateescape"), made.files)

    def told(self, facts: RunFacts) -> RunFacts:
        """The facts of a run, with a heap that was full as the memory limit that it is.

        A program can write the mark itself and fail: one failure has another name then.
        """
        failed = facts.signal is not None or facts.exit_code not in (0, None)
        if (
            failed
            and facts.killer is Killer.NONE
            and any(mark in facts.stderr for mark in self.memory_marks)
        ):
            return dataclasses.replace(facts, killer=Killer.MEMORY)
        return facts

    @property
    def programs(self) -> tuple[str, ...]:
        """What has to be on the path of a sandbox that has this language."""
        return tuple(dict.fromkeys((self.version_argv[0], *self.compile_argv[:1], *self.needs)))

    @property
    def remedy(self) -> str:
        """What to type where the toolchain is absent."""
        if not self.packages:
            return self.unpackaged
        return (
            f"apt-get install {' '.join(self.packages)} (namespaces backend), or an image with it: "
            f"sandbox_images/build --with {self.family}"
        )

    def _heap(self, limits: Limits) -> str:
        return str(max(int(limits.memory_bytes * self.heap_share) >> 20, _LEAST_HEAP_MB))
