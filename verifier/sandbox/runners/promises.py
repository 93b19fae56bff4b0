"""What a runner in somebody else's container guarantees, from what was seen inside of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from verifier.sandbox.base import Guarantee, GuaranteeName
from verifier.sandbox.probe import Probe
from verifier.sandbox.runners.folder import Greeting

MIB = 1024 * 1024
# What a container has beyond the largest limit of a run: the runner and its zygote (80 MB), and a
# run's input and output.
ROOM_BYTES = 192 * MIB


def largest_limit(greeting: Greeting) -> int:
    """The largest memory limit that a run in this container can be promised, in bytes."""
    if not greeting.memory_bytes:
        return 1 << 62
    return max(greeting.memory_bytes - ROOM_BYTES, 16 * MIB)


def memory_class(ceiling: int) -> str:
    """What is to be known of a limit that is the container's."""
    return (
        f"runners have one memory class: {ceiling // MIB} MiB; a larger limit is refused; the "
        f"kernel holds the class, and smaller limits are sampled every 10 ms"
    )


def of_runner(
    inside: Probe, greeting: Greeting, counters: Collection[str], kernel: str
) -> tuple[Guarantee, ...]:
    """All promises of one runner.

    Args:
        inside: What a run saw.
        greeting: What its container gives.
        counters: Those that it can read of its own cgroup.
        kernel: Release of its kernel.
    """
    # Since Linux 5.14 RLIMIT_NPROC counts within the user namespace: runners do not add up.
    release = tuple(int(n) for n in re.findall(r"\d+", kernel)[:2])
    counted = greeting.processes > 0 or release >= (5, 14)
    seen = [_shared_proc(g) if not greeting.fresh_proc else g for g in inside.guarantees()]
    remedy = "give the container its own cgroup, mounted at /sys/fs/cgroup (the default)"
    bounded = greeting.memory_bytes > 0 and "oom" in counters
    return (
        *seen,
        Guarantee(
            GuaranteeName.MEMORY_LIMIT,
            bounded,
            f"the container's memory cgroup of {greeting.memory_bytes // MIB} MiB, one class for "
            f"all runs; a run's own limit is sampled every 10 ms"
            if bounded
            else "the container has no memory limit, or its kill counter cannot be read",
            "" if bounded else "give the service a mem_limit, and its own cgroup at /sys/fs/cgroup",
        ),
        Guarantee(
            GuaranteeName.CPU_ACCOUNTING,
            "cpu" in counters,
            "the container's cgroup counter"
            if "cpu" in counters
            else "CPU time of living and waited-for processes is sampled",
            "" if "cpu" in counters else remedy,
        ),
        Guarantee(
            GuaranteeName.PROCESS_LIMIT,
            holds=counted,
            mechanism="RLIMIT_NPROC in the slot's user namespace"
            + (", and the container's pids limit" if greeting.processes else "")
            + ("" if counted else ", which this kernel counts over all runners"),
            remedy="" if counted else "give the service a pids_limit",
        ),
    )


def _shared_proc(seen: Guarantee) -> Guarantee:
    if seen.name is not GuaranteeName.PID_NAMESPACE:
        return seen
    return Guarantee(
        seen.name,
        holds=False,
        mechanism="a fresh PID namespace per run, but no fresh /proc: parts of the container's are "
        "covered, so its own is seen. A program can list the runner's processes, and not read, "
        "signal or trace them",
        remedy="compose v2: docker compose -f docker-compose.yml -f docker-compose.v2.yml up "
        "(security_opt: systempaths=unconfined)",
    )


def weakest(all_of: Sequence[tuple[Guarantee, ...]]) -> tuple[Guarantee, ...]:
    """Each promise as the runner that has it least."""
    found: dict[GuaranteeName, Guarantee] = {}
    for one in (g for promises in all_of for g in promises):
        if one.name not in found or (found[one.name].holds and not one.holds):
            found[one.name] = one
    return tuple(found.values())
