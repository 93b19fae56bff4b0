"""A command of this project as a user starts it, and what it took."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench.machine import ROOT

# How often its memory is looked at. The peak is the kernel's own, so that only what it grew in the
# last moment before its end is missed.
LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Ran:
    """One command's end.

    Attributes:
        code: Its exit code.
        output: Its standard output.
        wall_s: From start to end.
        cpu_s: Of it and of what it waited for: with namespaces the programs are among that.
        rss_bytes: Peak of its own process, the sandbox's left out.
    """

    code: int
    output: str
    wall_s: float
    cpu_s: float
    rss_bytes: int


def verifier(*arguments: str, output: Path) -> Ran:
    """Run `verifier` with its standard output in a file.

    Raises:
        RuntimeError: It ended by a signal, or by a usage error: the words are on standard error.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv: Sequence[str] = [sys.executable, "-m", "verifier.cli", *arguments]
    began = time.perf_counter()
    with output.open("wb") as stream:
        process = subprocess.Popen(argv, stdout=stream, cwd=ROOT, env=environment)
    rss = 0
    try:
        while True:
            rss = max(rss, _peak_bytes(process.pid))
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(LOOK_S)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    wall_s = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, 1}:
        raise RuntimeError(f"verifier {' '.join(arguments)}: exit code {process.returncode}")
    text = output.read_text(encoding="utf-8")
    return Ran(process.returncode, text, wall_s, usage.ru_utime + usage.ru_stime, rss)


def _peak_bytes(pid: int) -> int:
    """Its `VmHWM`; 0 where it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
