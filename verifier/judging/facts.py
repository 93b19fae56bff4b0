"""The table that turns the facts of a run into a status.

In this order; the first that holds decides:

1. A process of the run was killed for memory (the counter, not the exit code: the victim may be a
   child, and the parent may then exit with 0, or hang until the wall limit): MEMORY_LIMIT.
2. More output than allowed, killed for it or not: OUTPUT_LIMIT.
3. Killed for CPU or wall time, or over the CPU limit though it exited: TIME_LIMIT.
4. A signal, or an exit code that is not 0: RUNTIME_ERROR. (A runtime's own report that memory was
   refused has become row 1 by then: `Recipe.told`.)
5. Otherwise nothing is decided: the output has to be compared.

A canceled run has no status.
"""

from __future__ import annotations

import contextlib
import signal

from verifier._text import excerpt
from verifier.types import Killer, Limits, RunFacts, Status

_STDERR_TAIL_BYTES = 4096
_SHOWN_CHARS = 160


def limit_status(facts: RunFacts, limits: Limits) -> Status | None:
    """Rows 1 to 3: the limit that the run broke, if any.

    Raises:
        ValueError: The run was canceled, so there is nothing to judge (a fault of the caller).
    """
    if facts.killer is Killer.CANCEL:
        raise ValueError("a canceled run has no status")
    if facts.killer is Killer.MEMORY or facts.oom_kills > 0:
        return Status.MEMORY_LIMIT
    if (
        facts.killer is Killer.OUTPUT
        or max(facts.stdout_bytes, facts.stderr_bytes) > limits.output_bytes
    ):
        return Status.OUTPUT_LIMIT
    if facts.killer in (Killer.CPU, Killer.WALL) or facts.cpu_time_s > limits.cpu_time_s:
        return Status.TIME_LIMIT
    return None


def classify(facts: RunFacts, limits: Limits) -> Status | None:
    """The status of a run, or None: it ended by itself with exit code 0, go and compare.

    Raises:
        ValueError: The run was canceled, so there is nothing to judge (a fault of the caller).
    """
    broken = limit_status(facts, limits)
    if broken is not None:
        return broken
    return Status.RUNTIME_ERROR if facts.signal is not None or facts.exit_code != 0 else None


def explain(status: Status, facts: RunFacts, limits: Limits) -> str:
    """One line for a person: what ended the run."""
    if status is Status.MEMORY_LIMIT:
        mebibytes = limits.memory_bytes / (1024 * 1024)
        return f"over the memory limit of {mebibytes:g} MiB"
    if status is Status.OUTPUT_LIMIT:
        name = "stderr" if facts.stderr_bytes > limits.output_bytes else "stdout"
        return f"over the output limit of {limits.output_bytes} bytes on {name}"
    if status is Status.TIME_LIMIT:
        if facts.killer is Killer.WALL and facts.cpu_time_s <= limits.cpu_time_s:
            spent = f"{facts.cpu_time_s:.3f} s of CPU"
            return f"over the wall time limit of {limits.wall_time_s:g} s ({spent})"
        return f"over the CPU time limit of {limits.cpu_time_s:g} s"
    return ended(facts)


def ended(facts: RunFacts) -> str:
    """How the program's main process ended, with the last line it wrote to stderr."""
    if facts.signal is not None:
        how = f"killed by signal {facts.signal}"
        with contextlib.suppress(ValueError):  # not all signals have names
            how += f" ({signal.Signals(facts.signal).name})"
    else:
        how = "no exit code" if facts.exit_code is None else f"exit code {facts.exit_code}"
    # Only the head of a long stderr is kept, so its last line may be from the middle.
    lines = facts.stderr[-_STDERR_TAIL_BYTES:].split(b"\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), b"")
    return f"{how}: {excerpt(last, _SHOWN_CHARS)}" if last else how
