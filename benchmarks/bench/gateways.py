"""`verifier serve` as a process of its own, and what it costs in CPU, memory and bytes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

from benchmarks.bench.machine import ROOT
from benchmarks.bench.values import NotMeasuredError

if TYPE_CHECKING:
    from typing_extensions import Self

_T = TypeVar("_T")

START_S = 120.0
SAMPLE_S = 0.1
STOP_S = 30.0


class Gateway:
    """One gateway; a context manager. Its settings are those of VERIFIER_*.

    A backend may name its runtime behind a colon ("docker:crun").

    Attributes:
        target: HOST:PORT of the gRPC side.
        http: HOST:PORT of the HTTP side; "" where its settings name none.
        backend: Which.
        pid: Of the gateway.
    """

    def __init__(
        self, backend: str, *, slots: int, accept: str = "", settings: Mapping[str, object] = {}
    ) -> None:
        """Nothing is started yet."""
        self.backend = backend
        self.target = self.http = ""
        self.pid = 0
        self._has_http = "http" in settings
        self._env = {f"VERIFIER_{name.upper()}": str(value) for name, value in settings.items()}
        name, _, runtime = backend.partition(":")
        self._argv = ["--grpc", "127.0.0.1:0", "--backend", name, "--slots", str(slots)]
        self._argv += ["--runtime", runtime] if runtime else []
        self._argv += ["--accept", accept] if accept else []
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Start it and wait until it serves.

        Raises:
            NotMeasuredError: It does not; says what it said.
        """
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        # A file: nobody reads a pipe once it serves.
        with tempfile.TemporaryFile() as words:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "verifier.cli", "serve", *self._argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=words,
                env={**os.environ, **self._env, "PYTHONPATH": path},
            )
            assert self._process.stdout is not None
            try:
                line = await asyncio.wait_for(self._process.stdout.readline(), START_S)
                if line and self._has_http:
                    self.http = _address(await self._process.stdout.readline())
            except asyncio.TimeoutError:
                line = b""
            if not line:
                await self.close()
                words.seek(0)
                said = words.read().decode(errors="replace").strip().split("\n")[-1]
                raise NotMeasuredError(f"{self.backend} does not start here: {said}")
        self.target = _address(line)
        self.pid = self._process.pid

    async def close(self) -> None:
        """Stop it."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_S)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()

    # ------------------------------------------------------------ what it costs

    async def cpu_of(self, work: Coroutine[Any, Any, _T]) -> tuple[_T, float]:
        """What a work gives, and the CPU seconds of the gateway and all that it started meanwhile.

        Processes are looked at ten times a second: of one that was killed the kernel hands its
        parent no times where it dies with its namespace. What lives shorter is not seen.
        """
        task = asyncio.ensure_future(work)
        before = self._cpu_times()
        last = dict(before)
        while not task.done():
            await asyncio.wait((task,), timeout=SAMPLE_S)
            last.update(self._cpu_times())
        spent = sum(seconds - before.get(who, 0.0) for who, seconds in last.items())
        return task.result(), spent

    def _cpu_times(self) -> dict[tuple[int, float], float]:
        """Of each process, by its pid and the time that it was made."""
        found = {}
        for process in self._tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                found[process.pid, process.create_time()] = times.user + times.system
        return found

    def rss_bytes(self) -> int:
        """Resident memory of the gateway's own process."""
        return int(psutil.Process(self.pid).memory_info().rss)

    def runners_rss_bytes(self) -> int:
        """Resident memory of the processes in its slots.

        They are its children, or, where an engine started them, the runners that began after it.
        """
        found = set(self._tree()[1:])
        if self.backend.startswith("docker"):
            begun = psutil.Process(self.pid).create_time()
            runners = [p for p in psutil.process_iter() if _is_runner(p, begun)]
            found = {*runners, *(c for p in runners for c in p.children(recursive=True))}
        total = 0
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                total += int(process.memory_info().rss)
        return total

    def reset_peak(self) -> None:
        """`peak_bytes` counts from now on."""
        # proc_pid_clear_refs(5): the value 5 resets the peak resident set size.
        Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="ascii")

    def peak_bytes(self) -> int:
        """Most resident memory of the gateway's own process."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024

    def _tree(self) -> list[psutil.Process]:
        root = psutil.Process(self.pid)
        return [root, *root.children(recursive=True)]


def _is_runner(process: psutil.Process, begun: float) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        named = any(part.endswith("/runner.pyz") for part in process.cmdline())
        return named and process.create_time() >= begun
    return False


def _address(line: bytes) -> str:
    """Of "grpc listening on HOST:PORT"."""
    return line.decode().rpartition(" ")[2].strip()
