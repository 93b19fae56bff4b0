"""Who made a cgroup, a container or a folder, and whether that process still lives.

A run id is `<pid>-<start time>-<boot>`: a pid alone may have been given to somebody else since.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path

import psutil

_counter = itertools.count()


def new_run_id() -> str:
    """A run id of this process; each call gives another."""
    return f"{_process_id(os.getpid())}-{next(_counter)}"


def _process_id(pid: int) -> str:
    # Field 22 of stat: start time in clock ticks since boot.
    with contextlib.suppress(OSError, IndexError):
        stat = Path(f"/proc/{pid}/stat").read_text()
        return f"{pid}-{stat.rpartition(')')[2].split()[19]}-{_boot()}"
    return f"{pid}-0-{_boot()}"


def _boot() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
    return "unknown"


def is_alive(run_id: str) -> bool:
    """Whether the process that made this id still runs (on this machine, since this boot)."""
    pid, _, _ = run_id.partition("-")
    if not pid.isdigit() or not psutil.pid_exists(int(pid)):
        return False
    return run_id.startswith(_process_id(int(pid)) + "-")
