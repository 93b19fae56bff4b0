"""One `verifier score` as a user would start it, watched from outside, and killed if wanted."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import psutil

from benchmarks.memory_over_time import MIB, pss_bytes
from verifier.data.journal import journal_of

ROOT = Path(__file__).resolve().parents[2]
# No program comes again: the caches have nothing to give, and would fill their budgets (64 MiB of
# results, 256 MiB of compiled programs) during the run, which hides whether anything else grows.
SMALL_CACHES = {
    "VERIFIER_RESULT_CACHE_BYTES": str(1 << 20),
    "VERIFIER_COMPILE_CACHE_BYTES": str(1 << 20),
}
POLL_S = 0.02
SAMPLE_S = 0.25
GONE_S = 30.0


@dataclass(slots=True)
class Sample:
    """One look: how far RESULTS has come, and the memory of all processes."""

    seconds: float
    results_bytes: int
    scorer_mib: float
    others_mib: float


@dataclass(slots=True)
class Run:
    """What was seen of one run."""

    seconds: float = 0.0
    code: int | None = None
    first_row_s: float = 0.0
    journal_bytes: int = 0
    survivors: int = 0
    said: str = ""
    totals: dict[str, Any] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)

    def tenths(self) -> list[Sample]:
        """The samples where a tenth of RESULTS was written, two tenths, ... all."""
        last = self.samples[-1].results_bytes
        return [
            next(one for one in self.samples if one.results_bytes * 10 >= last * tenth)
            for tenth in range(1, 11)
        ]


def score(
    rows: Path, results: Path, options: list[str], *, kill_at_bytes: int | None = None
) -> Run:
    """Run it to its end, or until RESULTS is so long: then the process group is killed."""
    argv = [sys.executable, "-m", "verifier", "score", str(rows), "-o", str(results)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **SMALL_CACHES}
    run = Run()
    before = _size(results)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        process = subprocess.Popen(
            [*argv, "--json", *options],
            cwd=ROOT, env=env, stdout=out, stderr=err, start_new_session=True,
        )  # fmt: skip
        try:
            _watch(process, results, run, before, kill_at_bytes)
        finally:
            family = _family(process.pid)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        run.seconds = time.monotonic() - began
        run.code = process.returncode
        run.survivors = len(psutil.wait_procs(family, timeout=GONE_S)[1])
        out.seek(0)
        err.seek(0)
        run.said = err.read().decode("utf-8", "replace")
        if told := out.read().strip():
            run.totals = orjson.loads(told)
    return run


def _watch(
    process: subprocess.Popen[bytes], results: Path, run: Run, before: int, kill_at: int | None
) -> None:
    began = sampled = time.monotonic()
    while process.poll() is None:
        now = time.monotonic()
        size = _size(results)
        if size > before and not run.first_row_s:
            run.first_row_s = now - began
        if now - sampled >= SAMPLE_S:
            sampled = now
            run.journal_bytes = max(run.journal_bytes, _size(journal_of(results)))
            _sample(process.pid, run, now - began, size)
        if kill_at is not None and size >= kill_at:
            return
        time.sleep(POLL_S)


def _sample(pid: int, run: Run, seconds: float, size: int) -> None:
    with contextlib.suppress(psutil.Error):
        own = psutil.Process(pid).memory_info().rss
        others = sum(pss_bytes(one.pid) for one in _family(pid) if one.pid != pid)
        run.samples.append(Sample(seconds, size, own / MIB, others / MIB))


def _family(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    return []


def _size(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def resumed_rows(said: str) -> int:
    """How many rows a resumed run went on behind, as it said."""
    found = re.search(r"going on behind (\d+) rows", said)
    return int(found[1]) if found else 0
