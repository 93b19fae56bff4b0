"""A command of this project as a user starts it, and what it took."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.bench.machine import ROOT

# How often the process is looked at. Both figures are the kernel's own sums, so that only the last
# moment before its end is missed.
LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Ran:
    """One command's end.

    Attributes:
        code: Its exit code, 0 or 1.
        wall_s: From start to end.
        cpu_s: Of its own process: no sandbox and no program is in it.
        rss_bytes: The same of its peak memory.
    """

    code: int
    wall_s: float
    cpu_s: float
    rss_bytes: int


def verifier(*arguments: str) -> Ran:
    """Run `verifier`; what it says on standard error is seen.

    Raises:
        RuntimeError: It ended by a signal, or by a usage error: the words are on standard error.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv: Sequence[str] = [sys.executable, "-m", "verifier.cli", *arguments]
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment)
    cpu_s, rss = 0.0, 0
    try:
        while process.poll() is None:
            cpu_s, rss = _looked(process.pid) or (cpu_s, rss)
            time.sleep(LOOK_S)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    wall_s = time.perf_counter() - began
    if process.returncode not in {0, 1}:
        raise RuntimeError(f"verifier {' '.join(arguments)}: exit code {process.returncode}")
    return Ran(process.returncode, wall_s, cpu_s, rss)


def _looked(pid: int) -> tuple[float, int] | None:
    """CPU seconds and peak memory so far; None once it has ended."""
    try:
        process = psutil.Process(pid)
        times = process.cpu_times()
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except (OSError, psutil.Error):
        return None
    peak = next((line for line in status.splitlines() if line.startswith("VmHWM:")), None)
    return None if peak is None else (times.user + times.system, int(peak.split()[1]) * 1024)
