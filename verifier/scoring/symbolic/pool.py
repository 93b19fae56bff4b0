"""The worker processes: started when they are needed, killed when they take too long.

    caller (any thread) --a line of JSON--> worker --a line of JSON--> caller

A worker is a fresh interpreter (never a fork of a trainer with its threads) that ends when its
standard input closes. Its CPU time decides, by a timer of the kernel's that needs nobody to watch
it; wall-clock time is the backstop. A worker that was killed is replaced at the next call.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from verifier.errors import ConfigError, InfraError
from verifier.scoring.sample import nearest

__all__ = ["OnTimeout", "OutOfTimeError", "SymbolicPool", "close_symbolic_pool", "symbolic_pool"]

CPU_S = 10.0
"""Default CPU time of one comparison: verl's time limit."""

# Wall-clock time of a call: this many times its CPU time, and a start of the interpreter.
_WALL_FACTOR = 4.0
_WALL_EXTRA_S = 60.0
_START_S = 120.0
# A worker with SymPy in it holds 80 MB.
_MAX_WORKERS = 16
_CLOCKS = (signal.SIGPROF, signal.SIGXCPU)
# A worker that died of itself (of memory, of too deep a recursion) is tried once more, afresh.
_ATTEMPTS = 2


class OnTimeout(str, Enum):
    """What a comparison is worth that did not end in time, or killed its worker twice.

    WRONG: the answers are not equal, as verl has it: the text that takes so long is the model's.
    RAISE: `OutOfTimeError`, an infrastructure fault: there is no score.
    """

    WRONG = "wrong"
    RAISE = "raise"

    @classmethod
    def parse(cls, given: str | OnTimeout) -> OnTimeout:
        """Read the setting.

        Raises:
            ConfigError: It is neither.
        """
        try:
            return cls(given)
        except ValueError:
            hint = nearest(str(given), [member.value for member in cls])
            raise ConfigError(f"on_timeout={given!r} is not a policy; {hint}") from None


class OutOfTimeError(InfraError):
    """A comparison did not end within its time, or ended its worker."""


@dataclass(eq=False, slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    read: int
    write: int
    buffer: bytearray = field(default_factory=bytearray)

    @classmethod
    def start(cls) -> _Worker:
        environment = {
            **os.environ,
            # SymPy's simplification follows the order of sets.
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join(part or "." for part in sys.path),
        }
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "verifier.scoring.symbolic"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env=environment,
                start_new_session=True,  # Ctrl-C is the trainer's
            )
        except OSError as error:
            raise InfraError(f"no process for comparing answers: {error}") from error
        assert process.stdin is not None  # noqa: S101 - for the type checker
        assert process.stdout is not None  # noqa: S101
        worker = cls(process, process.stdout.fileno(), process.stdin.fileno())
        try:
            ready = worker.ask(b"", _START_S)
        except EOFError:
            ready = None
        except BaseException:
            worker.kill()
            raise
        if ready is None:
            raise InfraError(
                f"the process for comparing answers did not start (exit code {worker.kill()}); "
                f"to see why: {sys.executable} -m verifier.scoring.symbolic"
            )
        return worker

    def ask(self, request: bytes, wall_s: float) -> bytes | None:
        """The answer's line; None when it did not come in time.

        Raises:
            EOFError: The worker is gone.
        """
        ends = time.monotonic() + wall_s
        rest = memoryview(request)
        # Not `select`, which refuses the high descriptors of a busy trainer. Both directions at
        # once: a long text may fill the pipe.
        ready = select.poll()
        ready.register(self.read, select.POLLIN)
        if rest:
            ready.register(self.write, select.POLLOUT)
        while (newline := self.buffer.find(b"\n")) < 0:
            left = ends - time.monotonic()
            if left <= 0:
                return None
            events = dict(ready.poll(left * 1000))
            try:
                if self.write in events:
                    rest = rest[os.write(self.write, rest[: select.PIPE_BUF]) :]
                    if not rest:
                        ready.unregister(self.write)
                if self.read in events:
                    data = os.read(self.read, 65536)
                    if not data:
                        raise EOFError
                    self.buffer += data
            except OSError as error:
                raise EOFError from error
        line = bytes(self.buffer[:newline])
        del self.buffer[: newline + 1]
        return line

    def kill(self) -> int:
        """End it; its exit code (-signal)."""
        self.process.kill()
        code = self.process.wait()
        self.drop()
        return code

    def drop(self) -> None:
        """Close our ends of its pipes."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class SymbolicPool:
    """Workers, as many as there may be cores; safe to use from any number of threads.

    A call blocks its thread: on an event loop, use `asyncio.to_thread(pool.call, ...)`.

    Args:
        workers: Comparisons at once; by default the cores of this process, at most 16.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._pid = os.getpid()
        cores = len(os.sched_getaffinity(0))
        self._places = threading.BoundedSemaphore(workers or min(cores, _MAX_WORKERS))
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def alive(self) -> bool:
        """It can serve this process."""
        return not self._closed and self._pid == os.getpid()

    def pids(self) -> list[int]:
        """The processes there are now."""
        with self._lock:
            return sorted(worker.process.pid for worker in self._all)

    def call(self, operation: str, *args: Any, cpu_s: float = CPU_S) -> Any:
        """What an operation of the worker gives.

        Args:
            operation: One of the worker's (`__main__.py`).
            *args: JSON.
            cpu_s: CPU time it may take. Waiting for a worker costs nothing.

        Raises:
            OutOfTimeError: It did not end in that time, or ended its worker twice.
            ConfigError: A package is missing; says how to install it.
            InfraError: No worker can be started.
        """
        request = json.dumps([operation, args, cpu_s]).encode() + b"\n"
        wall_s = _WALL_FACTOR * cpu_s + _WALL_EXTRA_S
        with self._places:
            for _ in range(_ATTEMPTS):
                worker = self._take()
                try:
                    line = worker.ask(request, wall_s)
                except EOFError:
                    if -self._end(worker) in _CLOCKS:
                        break
                    continue
                except BaseException:
                    self._end(worker)  # its answer would be taken for the next call's
                    raise
                if line is None:
                    self._end(worker)
                    break
                self._give_back(worker)
                return _value(json.loads(line))
        raise OutOfTimeError(f"comparing answers ({operation}) took over {cpu_s:g} s of CPU time")

    def close(self) -> None:
        """End all workers; twice is harmless."""
        if self._pid != os.getpid():
            return
        self._closed = True
        with self._lock:
            workers = list(self._all)
            self._all.clear()
            self._idle.clear()
        for worker in workers:
            worker.kill()

    def forget(self) -> None:
        """After a fork, in the child: the workers are the parent's."""
        for worker in self._all:
            worker.drop()

    def _take(self) -> _Worker:
        with self._lock:
            self._check()
            if self._idle:
                return self._idle.pop()
        worker = _Worker.start()  # takes a second: not under the lock
        try:
            with self._lock:
                self._check()
                self._all.add(worker)
        except InfraError:
            worker.kill()
            raise
        return worker

    def _check(self) -> None:
        if not self.alive:
            raise InfraError("the pool for comparing answers is closed")

    def _give_back(self, worker: _Worker) -> None:
        with self._lock:
            if worker in self._all:
                self._idle.append(worker)

    def _end(self, worker: _Worker) -> int:
        with self._lock:
            self._all.discard(worker)
        return worker.kill()


def _value(answer: Any) -> Any:
    kind, value = answer
    if kind == "value":
        return value
    if kind == "missing":
        raise ConfigError(f"comparing answers needs {value}: pip install 'sandbox-verifier[math]'")
    raise InfraError(f"comparing answers: {value}")


_pools: list[SymbolicPool] = []
_inherited: list[SymbolicPool] = []
_lock = threading.Lock()


def symbolic_pool() -> SymbolicPool:
    """This process's pool; its workers start when they are needed and end with the process."""
    with _lock:
        if not _pools or not _pools[0].alive:
            _pools[:] = [SymbolicPool()]
        return _pools[0]


def compared(
    operation: str,
    *answers: str,
    cpu_s: float,
    on_timeout: OnTimeout,
    timeout_score: float = 0.0,
) -> float:
    """What the workers make of two answers: 1.0 if they are equal, else 0.0.

    Args:
        operation: One of the worker's.
        *answers: What it compares.
        cpu_s: CPU time of the comparison.
        on_timeout: See `OnTimeout`.
        timeout_score: What WRONG is worth.

    Raises:
        ConfigError: The extra `math` is not installed.
        InfraError: The comparison could not be done (`OutOfTimeError` with RAISE).
    """
    try:
        return float(symbolic_pool().call(operation, *answers, cpu_s=cpu_s))
    except OutOfTimeError:
        if on_timeout is OnTimeout.RAISE:
            raise
        return timeout_score


def close_symbolic_pool() -> None:
    """End this process's workers."""
    with _lock:
        pools = list(_pools)
        _pools.clear()
    for pool in pools:
        pool.close()


def _forget_parent() -> None:
    global _lock  # noqa: PLW0603 - the one place that replaces it, before the child runs anything else
    _lock = threading.Lock()
    for pool in _pools:
        pool.forget()
    _inherited.extend(_pools)  # kept: collecting them would reap processes that are not ours
    _pools.clear()


os.register_at_fork(after_in_child=_forget_parent)
atexit.register(close_symbolic_pool)
