"""The counters that runs are measured with: descriptors of cgroup files and how to read them.

Under `namespaces` the supervisor opens the files of the slot's cgroup and hands them down; writes
and reads are checked against whoever opened them, so the runner needs no right of its own. In a
container the runner reads its own cgroup (read-only: a peak cannot be reset there).
"""

import os

from . import libjail

ROOT = "/sys/fs/cgroup"


def counter(fd, scale=1, key=""):
    """`struct jail_counter`."""
    return libjail.Counter(fd, scale, key.encode())


class Counters:
    """What is measured, and how exactly.

    Attributes:
        own_cgroup: The runner is in the measured cgroup itself, so its own CPU time is taken off.
        resettable: The memory peak can be set back before each run.
    """

    def __init__(self, cpu, memory_peak, memory_now, oom, own_cgroup, resettable):
        self.cpu, self.memory_peak, self.memory_now, self.oom = cpu, memory_peak, memory_now, oom
        self.own_cgroup, self.resettable = own_cgroup, resettable

    @property
    def names(self):
        """Which of them exist."""
        return [n for n in ("cpu", "memory_peak", "memory_now", "oom") if getattr(self, n).fd >= 0]


def given(config):
    """Counters from descriptors that the supervisor opened: name -> [fd, scale, key]."""
    table = config.get("counters", {})

    def one(name):
        return counter(*table[name]) if name in table else counter(-1)

    return Counters(
        one("cpu"),
        one("memory_peak"),
        one("memory_now"),
        one("oom"),
        own_cgroup=False,
        resettable=bool(config.get("peak_resettable")),
    )


def own():
    """A container's own counters, under whichever version its engine mounts."""

    def first(*candidates):
        for path, scale, key in candidates:
            try:
                return counter(os.open(ROOT + "/" + path, os.O_RDONLY | os.O_CLOEXEC), scale, key)
            except OSError:
                continue
        return counter(-1)

    return Counters(
        first(
            ("cpuacct/cpuacct.usage", 1, ""),
            ("cpu,cpuacct/cpuacct.usage", 1, ""),
            ("cpu.stat", 1000, "usage_usec"),
        ),
        first(("memory/memory.max_usage_in_bytes", 1, ""), ("memory.peak", 1, "")),
        first(("memory/memory.usage_in_bytes", 1, ""), ("memory.current", 1, "")),
        first(("memory/memory.oom_control", 1, "oom_kill"), ("memory.events", 1, "oom_kill")),
        own_cgroup=True,
        resettable=False,
    )
