"""A runner in a container whose memory bound is not ours to set: one class for all runs.

The kernel holds the class. A run's own limit, which is smaller, is held by looking: a thread reads
what the container's cgroup is charged with for memory that is no file's, every 10 ms while a run is
on, and kills the run that is over. What the runner itself holds is taken off. A limit that is
nearly the class is left to the kernel.
"""

import os
import threading
import time

from . import frames, jobs

SAMPLE_S = 0.01
STAT_BYTES = 16 * 1024
# Of memory.stat: of cgroups v1 and v2. What is written to a tmpfs is in the last.
KEYS = ("rss", "anon", "shmem")
MEMORY = frames.KILLERS.index("memory")
# Of the container's memory, what is not a run's; sandbox/runners/promises.py has the same.
ROOM_BYTES = 192 * 1024 * 1024
NEARLY = 0.9
PAGE = os.sysconf("SC_PAGE_SIZE")


class SampledRunner(jobs.Runner):
    """`jobs.Runner`, with a run's memory limit held by sampling."""

    def __init__(self, container_bytes, **given):
        super().__init__(**given)
        self.left_to_kernel = max(container_bytes - ROOM_BYTES, 0) * NEARLY or float("inf")
        self.changed = threading.Condition()
        self.watched = None  # what the run is held to, while there is one
        self.over = False
        self.base = self.limit = 0
        threading.Thread(target=self.sample, daemon=True).start()

    def watch(self, limits):
        watch = super().watch(limits)
        if limits["memory_bytes"] >= self.left_to_kernel:
            self.over = False
            return watch
        self.base, self.limit, self.over = self.charged(), limits["memory_bytes"], False
        watch.pid = 0  # until it has one
        with self.changed:
            self.watched = watch
            self.changed.notify()
        return watch

    def facts(self, watch, with_value):
        with self.changed:
            self.watched = None
        if self.over and watch.killer == 0:
            watch.killer = MEMORY
        return super().facts(watch, with_value)

    def sample(self):
        """The thread."""
        while True:
            with self.changed:
                while self.watched is None:
                    self.changed.wait()
                watch = self.watched
            time.sleep(SAMPLE_S)
            if self.charged() - self.base <= self.limit:
                continue
            with self.changed:
                # Not waited for as long as it is watched, so the number is still its own.
                if self.watched is watch and watch.pid > 0 and not self.over:
                    self.over = True
                    try:
                        os.kill(watch.pid, 9)
                    except ProcessLookupError:
                        pass

    def charged(self):
        """Bytes of the container's that are no file's, but for what this process holds."""
        try:
            text = os.pread(self.counters.memory_stat, STAT_BYTES, 0).decode()
        except OSError:
            return 0
        held = 0
        for line in text.splitlines():
            key, _, number = line.partition(" ")
            if key in KEYS:
                held += int(number)
        with open("/proc/self/statm", encoding="ascii") as f:
            _, resident, of_files, *_ = map(int, f.read().split())
        return held - (resident - of_files) * PAGE
