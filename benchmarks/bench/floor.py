"""Yardsticks: a warm process per core that runs the same cases (benchmarks/floor/)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.bench.machine import PYTHON
from benchmarks.bench.values import NotMeasuredError
from benchmarks.bench.work import EXPECTED, INPUTS, PROGRAM

HERE = Path(__file__).resolve().parents[1] / "floor"
COMPILERS = ("cc", "gcc", "clang")
# Of an answer: the latencies of some seconds.
ANSWER_BYTES = 16 * 1024 * 1024


class Yardsticks:
    """Workers, and orders to them. See floor/worker.py for the ways.

    Attributes:
        workers: How many there are.
    """

    def __init__(self, workers: int) -> None:
        """Nothing is started yet."""
        self.workers = workers
        self._processes: list[asyncio.subprocess.Process] = []
        self._folder = ""

    async def start(self) -> None:
        """Compile the floor and warm the workers up.

        Raises:
            NotMeasuredError: There is no compiler, or it failed.
        """
        compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
        if compiler is None:
            raise NotMeasuredError("the floor is a C library: install gcc")
        self._folder = tempfile.mkdtemp(prefix="verifier-bench-")
        library = Path(self._folder) / "libfloor.so"
        argv = (compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(HERE / "floor.c"))
        build = await asyncio.create_subprocess_exec(*argv, stderr=asyncio.subprocess.PIPE)
        _, complaint = await build.communicate()
        if build.returncode:
            raise NotMeasuredError(f"the floor does not compile: {complaint.decode()[:300]}")
        for _ in range(self.workers):
            process = await asyncio.create_subprocess_exec(
                PYTHON,
                "-s",
                str(HERE / "worker.py"),
                str(library),
                PROGRAM,
                env={"PYTHONHASHSEED": "0"},  # PYTHONUNBUFFERED of the caller's would change it
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=ANSWER_BYTES,
            )
            self._processes.append(process)

    async def close(self) -> None:
        """End the workers."""
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def cases_per_s(self, way: str, seconds: float) -> float:
        """Of all workers together.

        Raises:
            NotMeasuredError: This host refuses namespaces.
        """
        answers = await asyncio.gather(*(self._order(p, way, seconds) for p in self._processes))
        return float(sum(answer["count"] / answer["seconds"] for answer in answers))

    async def latencies_ms(self, way: str, seconds: float) -> list[float]:
        """Of one worker, one case after the other.

        Raises:
            NotMeasuredError: This host refuses namespaces.
        """
        answer = await self._order(self._processes[0], way, seconds)
        return [us / 1000 for us in answer["us"]]

    async def _order(
        self, process: asyncio.subprocess.Process, way: str, seconds: float
    ) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        order = {"way": way, "inputs": INPUTS, "expected": EXPECTED, "seconds": seconds}
        process.stdin.write(json.dumps(order).encode() + b"\n")
        line = await process.stdout.readline()
        if not line:
            raise RuntimeError("a yardstick's worker ended; its last words are above")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise NotMeasuredError(answer["error"])
        return answer
