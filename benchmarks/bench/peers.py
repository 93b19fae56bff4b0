"""Peers over HTTP: anything with Sandbox Fusion's `/run_code`, and go-judge."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from benchmarks.bench.machine import PYTHON
from benchmarks.bench.values import NotMeasuredError
from benchmarks.bench.work import EXPECTED, INPUTS, PROGRAM, distinct

TIMEOUT_S = 60.0
# Requests under way for each slot: one runs, one waits.
PER_SLOT = 2
START_S = 20.0


class RunCode:
    """Runs the cases one by one through a `/run_code`, a request each.

    Args:
        url: Of the endpoint.
        slots: Twice as many requests are under way at once.
    """

    def __init__(self, url: str, slots: int) -> None:
        """Nothing is sent yet."""
        self._url = url
        self._callers = PER_SLOT * slots

    async def cases_per_s(self, seconds: float) -> float:
        """For about so long.

        Raises:
            NotMeasuredError: Nobody answers there, or wrongly.
        """
        return await _rate(self._url, self._callers, seconds, self._body, self._check)

    def _body(self, number: int) -> dict[str, object]:
        return {
            "code": distinct(PROGRAM),
            "stdin": INPUTS[number % len(INPUTS)],
            "language": "python",
            "run_timeout": 10,
        }

    def _check(self, number: int, answer: Any) -> bool:
        result = answer.get("run_result") or {}
        return bool(result.get("stdout") == EXPECTED[number % len(EXPECTED)])


class GoJudge:
    """A go-judge of our own; each case spawns `python3 -I` in one of its sandboxes."""

    def __init__(self, binary: str | None, slots: int) -> None:
        """Nothing is started yet."""
        self._binary = binary
        self._slots = slots
        self._url = ""
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it.

        Raises:
            NotMeasuredError: No binary was given, or it does not start.
        """
        if self._binary is None:
            raise NotMeasuredError("give --go-judge")
        if shutil.which(self._binary) is None:
            raise NotMeasuredError(f"{self._binary} is no program")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        argv = ("-http-addr", address, "-parallelism", str(self._slots), "-silent")
        self._process = await asyncio.create_subprocess_exec(
            self._binary, *argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._url = f"http://{address}/run"
        end = time.monotonic() + START_S
        while not await asyncio.to_thread(_answers, address):
            if time.monotonic() > end or self._process.returncode is not None:
                await self.close()
                raise NotMeasuredError(f"{self._binary} does not answer")
            await asyncio.sleep(0.1)

    async def close(self) -> None:
        """Stop it."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()

    async def cases_per_s(self, seconds: float) -> float:
        """For about so long.

        Raises:
            NotMeasuredError: It does not answer, or wrongly.
        """
        callers = PER_SLOT * self._slots
        return await _rate(self._url, callers, seconds, self._body, self._check)

    def _body(self, number: int) -> dict[str, object]:
        command = {
            "args": [PYTHON, "-I", "-c", distinct(PROGRAM)],
            "env": ["PATH=/usr/bin:/bin"],
            "files": [
                {"content": INPUTS[number % len(INPUTS)]},
                {"name": "stdout", "max": 10240},
                {"name": "stderr", "max": 10240},
            ],
            "cpuLimit": 10_000_000_000,
            "clockLimit": 20_000_000_000,
            "memoryLimit": 1 << 30,
            "procLimit": 50,
        }
        return {"cmd": [command]}

    def _check(self, number: int, answer: Any) -> bool:
        expected = EXPECTED[number % len(EXPECTED)]
        return bool(answer[0]["status"] == "Accepted" and answer[0]["files"]["stdout"] == expected)


async def _rate(
    url: str,
    callers: int,
    seconds: float,
    body: Callable[[int], object],
    check: Callable[[int, Any], bool],
) -> float:
    """Requests a second by so many threads, each with a connection of its own."""

    def caller() -> int:
        done = 0
        connection, path = _connect(url)
        with contextlib.closing(connection):
            while done == 0 or time.perf_counter() < end:
                answer = _post(connection, path, body(done))
                if not check(done, answer):
                    raise NotMeasuredError(f"{url} answers {str(answer)[:200]}")
                done += 1
        return done

    start = time.perf_counter()
    end = start + seconds
    try:
        counts = await asyncio.gather(*(asyncio.to_thread(caller) for _ in range(callers)))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotMeasuredError(f"{url}: {type(error).__name__}: {error}") from error
    return sum(counts) / (time.perf_counter() - start)


def _connect(url: str) -> tuple[http.client.HTTPConnection, str]:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.netloc, timeout=TIMEOUT_S), parts.path or "/"


def _post(connection: http.client.HTTPConnection, path: str, body: object) -> Any:
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return json.loads(connection.getresponse().read())


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), TIMEOUT_S):
        return True
    return False
