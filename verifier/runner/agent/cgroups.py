"""The counters that runs are measured with: descriptors of cgroup files and how to read them.

Under `namespaces` the supervisor opens the files of the slot's cgroup and hands them down; writes
and reads are checked against whoever opened them, so the runner needs no right of its own. In a
container the runner reads its own cgroup (read-only: a peak cannot be reset there).
"""

import os

from . import libjail

ROOT = "/sys/fs/cgroup"
# Keys of memory.stat, of both versions where they have them.
DROPPABLE = ("inactive_file", "active_file", "slab_reclaimable")
STAT_BYTES = 16 * 1024


def counter(fd, scale=1, key=""):
    """`struct jail_counter`."""
    return libjail.Counter(fd, scale, key.encode())


def read_number(counter):
    """The value of a one-number counter file, or 0."""
    if counter.fd < 0:
        return 0
    try:
        return int(os.pread(counter.fd, 64, 0))
    except (OSError, ValueError):
        return 0


def own_memory():
    """Bytes that the runner itself holds: its heap, and what it has laid into its file systems."""
    with open("/proc/self/statm", encoding="ascii") as f:
        _, resident, of_files, *_ = map(int, f.read().split())
    held = (resident - of_files) * os.sysconf("SC_PAGE_SIZE")
    for folder in ("/program", "/build"):
        info = os.statvfs(folder)
        held += (info.f_blocks - info.f_bfree) * info.f_frsize
    return held


class Counters:
    """What is measured, and how exactly.

    Attributes:
        memory_stat: Descriptor of the group's `memory.stat`; -1: there is none.
        own_cgroup: The runner is in the measured cgroup itself, so its own CPU time is taken off.
        resettable: The memory peak can be set back before each run.
    """

    def __init__(self, cpu, memory_peak, memory_now, oom, memory_stat, *, own_cgroup, resettable):
        self.cpu, self.memory_peak, self.memory_now, self.oom = cpu, memory_peak, memory_now, oom
        self.memory_stat = memory_stat
        self.own_cgroup, self.resettable = own_cgroup, resettable

    @property
    def names(self):
        """Which of them exist."""
        return [n for n in ("cpu", "memory_peak", "memory_now", "oom") if getattr(self, n).fd >= 0]

    def memory_held(self):
        """Bytes that are charged and that the kernel cannot drop when it needs them; 0: unknown.

        Files that were read stay in the page cache, charged to who read them first.
        """
        held = read_number(self.memory_now)
        try:
            text = os.pread(self.memory_stat, STAT_BYTES, 0).decode()
        except OSError:
            return 0
        for line in text.splitlines():
            key, _, number = line.partition(" ")
            if key in DROPPABLE:
                held -= int(number)
        return held - own_memory() if self.own_cgroup else held


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
        one("memory_stat").fd,
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
        first(("memory/memory.stat", 1, ""), ("memory.stat", 1, "")).fd,
        own_cgroup=True,
        resettable=False,
    )
