"""What every backend is: a source of slots, and a statement of what its slots guarantee.

A slot runs one thing at a time: it compiles a program, or runs an artifact on a batch of inputs,
each input in a fresh jail. A slot never sees an expected output. Whatever goes wrong inside a run
is in its `RunFacts`; whatever goes wrong with the slot itself is a `SlotError`, after which the
slot is thrown away.
"""

from __future__ import annotations

import io
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

from verifier.types import CompileFacts, Harness, Limits, RunFacts


class GuaranteeName(str, Enum):
    """What a sandbox promises. An operator accepts a missing one by this name (`--accept`)."""

    PID_NAMESPACE = "pid_namespace"
    MOUNT_NAMESPACE = "mount_namespace"
    IPC_NAMESPACE = "ipc_namespace"
    NO_NETWORK = "no_network"
    UNPRIVILEGED_UID = "unprivileged_uid"
    SEPARATE_UID = "separate_uid"
    SECCOMP = "seccomp"
    READ_ONLY_ROOT = "read_only_root"
    MEMORY_LIMIT = "memory_limit"
    CPU_ACCOUNTING = "cpu_accounting"
    PROCESS_LIMIT = "process_limit"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Whether one promise holds on this host.

    Attributes:
        name: Which.
        holds: It does.
        mechanism: What gives it, or what stands in for it where it is missing.
        remedy: What to type so that it holds; "" when it does.
    """

    name: GuaranteeName
    holds: bool
    mechanism: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class CompileJob:
    """Turn sources into an artifact.

    Attributes:
        harness: EXEC runs `argv`; a PYTHON harness byte-compiles the one source in the warm
            interpreter.
        files: File name -> content, laid in the compile jail's home.
        argv: Compiler command; names in it are relative to that home.
        outputs: Files of that home that make the artifact (glob patterns); at least one must exist.
        env: Environment in addition to the slot's fixed one.
        limits: Limits of the compiler's run.
    """

    harness: Harness
    files: dict[str, bytes]
    argv: tuple[str, ...]
    outputs: tuple[str, ...]
    limits: Limits
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Wire:
    """A run's ends of two pipes: its standard input and its standard output."""

    stdin: io.FileIO
    stdout: io.FileIO

    def close(self) -> None:
        """Close our copies; twice is harmless."""
        self.stdin.close()
        self.stdout.close()


@dataclass(frozen=True, slots=True)
class RunJob:
    """Run an artifact once per input, each in a fresh jail.

    Attributes:
        harness: See `Harness`.
        artifact: What `Slot.compile` gave (empty for a bare `argv` in the image).
        argv: Command of the EXEC harness; the artifact's files are in `/program`.
        inputs: One per run: standard input (EXEC, PYTHON), JSON arguments (PYTHON_CALL), or test
            source.
        limits: Limits of each run.
        fn_name: For PYTHON_CALL.
        env: Environment in addition to the slot's fixed one.
        peers: For PYTHON_SERVE and PYTHON_TEST: one end of a socket pair per run, whose other end
            goes to the run beside it. The slot closes them once it has handed them on.
        extra: For EXEC: two more files per run, as descriptors 4 and 5.
        wires: For EXEC and PYTHON: per run, what its standard input and output are instead (the
            inputs are not used, and `RunFacts.stdout` stays empty). The slot closes them once it
            has handed them on. The runner keeps its copies until the run is over, so that the run
            at the other ends cannot notice before `RunFacts.ended_ns` is taken.
        channel: For EXEC: open the value channel, as descriptor 3.
    """

    harness: Harness
    artifact: bytes
    argv: tuple[str, ...]
    inputs: Sequence[bytes]
    limits: Limits
    fn_name: str = ""
    env: tuple[tuple[str, str], ...] = ()
    peers: tuple[socket.socket, ...] = ()
    extra: Sequence[tuple[bytes, bytes]] = ()
    wires: tuple[Wire, ...] = ()
    channel: bool = False


@runtime_checkable
class Slot(Protocol):
    """One warm place to run programs, one run at a time."""

    @property
    def name(self) -> str:
        """Unique within the process; appears in logs and results."""
        ...

    @property
    def healthy(self) -> bool:
        """False once the slot has to be thrown away."""
        ...

    async def compile(self, job: CompileJob) -> CompileFacts:
        """Compile in a fresh jail.

        Raises:
            SlotError: The slot failed.
        """
        ...

    def run(self, job: RunJob) -> AsyncIterator[RunFacts]:
        """Yield the facts of each run, in the order of the inputs.

        Closing the iterator early (`aclose`; wrap it in `contextlib.aclosing`) kills the current
        run and leaves the slot clean. The slot must not be used again before it is exhausted or
        closed.

        Raises:
            SlotError: The slot failed.
        """
        ...

    async def close(self) -> None:
        """Kill what runs and free everything; never raises for a slot that is already gone."""
        ...


@runtime_checkable
class Sandbox(Protocol):
    """A backend."""

    @property
    def name(self) -> str:
        """One of "namespaces", "docker", "runners", "process", "fake"."""
        ...

    async def start(self) -> None:
        """Check the host, sweep what an earlier run left.

        Raises:
            GuaranteeError: A guarantee is missing and was not accepted by name.
            BackendError: There can be no slots at all.
        """
        ...

    async def open_slot(self, cpu: int | None = None) -> Slot:
        """A new warm slot.

        Args:
            cpu: The core that all its processes are bound to, as far as the backend can.

        Raises:
            BackendError: There can be no slots at the moment.
        """
        ...

    async def close(self) -> None:
        """Close all slots and remove everything this backend made."""
        ...

    async def guarantees(self) -> tuple[Guarantee, ...]:
        """What holds on this host; may probe, needs no `start`."""
        ...

    async def toolchains(self) -> dict[str, str]:
        """Canonical language name -> version, for the languages whose toolchain is there."""
        ...

    async def packages(self) -> dict[str, dict[str, str]]:
        """Of these languages, the libraries that are there for programs: name -> version."""
        ...


@runtime_checkable
class ElasticSandbox(Sandbox, Protocol):
    """A backend whose slots come and go by themselves, with partners of a kind of their own.

    Attributes:
        memory_ceiling: The largest memory limit that its slots can hold, in bytes.
        partners_wanted: Callers of `open_partner` that have to wait: whoever keeps a partner that
            is not in use should close it.
    """

    memory_ceiling: int
    partners_wanted: int

    @property
    def held(self) -> tuple[Guarantee, ...]:
        """What all slots that are open now guarantee."""
        ...

    @property
    def slot_count(self) -> int:
        """How many slots there can be at the moment."""
        ...

    def on_slot_count(self, changed: Callable[[int], None]) -> None:
        """Have `changed` called with the number of slots whenever it changes or a slot dies."""
        ...

    async def open_partner(self, cpu: int | None = None) -> Slot:
        """A slot for the second program of a pair; waits for one.

        Raises:
            BackendError: There is none.
        """
        ...
