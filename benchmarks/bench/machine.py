"""What the figures belong to."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

from verifier import __version__

PYTHON = "/usr/bin/python3"
ROOT = Path(__file__).resolve().parents[2]


def describe() -> dict[str, object]:
    """Facts about this machine and what is measured on it."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "cgroup": cgroup_version(),
        "user": "root" if os.geteuid() == 0 else "an ordinary user",
        "docker": _line("docker", "version", "--format", "{{.Server.Version}}"),
        "python": platform.python_version(),
        "program_python": _line(PYTHON, "-c", "import platform as p; print(p.python_version())"),
        "verifier": __version__,
        "commit": _line("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
    }


def cgroup_version(root: Path = Path("/sys/fs/cgroup")) -> str:
    """Of the hierarchy that controllers are in."""
    if (root / "cgroup.controllers").exists():
        return "v2"
    if (root / "unified").exists():
        return "v1 (hybrid)"
    return "v1" if root.exists() else "none"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith(("model name", "Model")):
            return line.partition(":")[2].strip()
    return platform.machine()


def _line(*argv: str) -> str:
    """The first line that a command prints; "none" where there is none."""
    if shutil.which(argv[0]) is None:
        return "none"
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout.strip().split("\n")[0] or "none"
