"""verl's prime_code, in the environment that verl is installed in (scripts/verl-venv)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bench.values import NotMeasuredError

WORKER = Path(__file__).resolve().with_name("prime_worker.py")
# torch, ray and transformers come with verl's first import.
START_S = 180.0


class PrimeCode:
    """A process that scores solutions by verl's own function."""

    def __init__(self, python: str | None, processes: int) -> None:
        """Nothing is started yet; `processes` are those of the pool."""
        self._python = python or os.environ.get("VERIFIER_VERL_PYTHON")
        self._processes = processes
        self._process: asyncio.subprocess.Process | None = None
        self._folder = ""

    async def start(self) -> None:
        """Import verl.

        Raises:
            NotMeasuredError: It is not there.
        """
        if self._python is None:
            raise NotMeasuredError("give --verl-python (scripts/verl-venv makes one)")
        # verl runs programs in its own process, which leave files in the current folder.
        self._folder = tempfile.mkdtemp(prefix="verifier-bench-")
        with tempfile.TemporaryFile() as words:
            self._process = await asyncio.create_subprocess_exec(
                *(self._python, str(WORKER), str(self._processes)),
                cwd=self._folder,
                env={**os.environ, "TMPDIR": self._folder, "RAY_AUTH_MODE": "disabled"},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=words,
                start_new_session=True,
            )
            assert self._process.stdout is not None
            with contextlib.suppress(asyncio.TimeoutError):
                if await asyncio.wait_for(self._process.stdout.readline(), START_S) == b"ready\n":
                    return
            words.seek(0)
            said = words.read().decode(errors="replace").strip().split("\n")[-1]
        await self.close()
        raise NotMeasuredError(f"{self._python} cannot import verl: {said}")

    async def close(self) -> None:
        """End it."""
        process, self._process = self._process, None
        if process is not None:
            # With its pool: those hold its standard output open too.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def score(self, responses: Sequence[str], truth: object, *, pool: bool) -> float:
        """Seconds until all are scored.

        Args:
            responses: Right ones.
            truth: Of all of them.
            pool: As verl's `prime` reward manager calls it: in a pool of processes. Otherwise one
                after the other, as its `naive` one does.
        """
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"responses": list(responses), "truth": truth, "pool": pool}
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        answer = json.loads(await self._process.stdout.readline())
        assert answer["right"] == len(responses), answer
        return float(answer["seconds"])
