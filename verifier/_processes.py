"""Calls functions in worker processes that can be killed: a clock that no loop in C escapes.

`concurrent.futures` gives up all of its work when one worker dies. Here a worker that died, or did
not answer in time, costs its own call and is replaced. Workers are new interpreters, not forks: a
trainer has threads. They import this module and the functions' own, and not the main module, which
`multiprocessing` would: a trainer's takes seconds, and a script without a guard would start again.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import pickle
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from verifier.errors import ConfigError, InfraError


class ProcessPool:
    """Worker processes. Started when first needed; `close` ends them.

    Args:
        size: How many.
    """

    def __init__(self, size: int) -> None:
        self._size = max(1, size)
        self._idle: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()
        for _ in range(self._size):
            self._idle.put(None)

    def map(
        self, calls: Sequence[tuple[Callable[..., Any], Mapping[str, Any]]], timeout_s: float | None
    ) -> list[tuple[Any, Exception | None]]:
        """Make calls in parallel.

        Args:
            calls: Functions, importable by name, and their keyword arguments.
            timeout_s: Seconds for one call.

        Returns:
            `(value, None)` or `(None, error)` for each, in order. TimeoutError is a call that was
            killed, InfraError one whose process died.
        """
        answers: list[tuple[Any, Exception | None]] = [(None, None)] * len(calls)
        todo = queue.SimpleQueue[int]()
        for i in range(len(calls)):
            todo.put(i)

        def serve() -> None:
            worker = self._idle.get()
            try:
                while True:
                    try:
                        i = todo.get_nowait()
                    except queue.Empty:
                        return
                    worker, answers[i] = self._call(worker, calls[i], timeout_s)
            finally:
                self._idle.put(worker)

        threads = [
            threading.Thread(target=serve, name="verifier-process", daemon=True)
            for _ in range(min(self._size, len(calls)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    def close(self) -> None:
        """End the processes. The pool may be used again."""
        for _ in range(self._size):
            worker = self._idle.get()
            if worker is not None:
                worker.kill()
        for _ in range(self._size):
            self._idle.put(None)

    def _call(
        self,
        worker: _Worker | None,
        call: tuple[Callable[..., Any], Mapping[str, Any]],
        timeout_s: float | None,
    ) -> tuple[_Worker | None, tuple[Any, Exception | None]]:
        try:
            message = pickle.dumps((call[0], dict(call[1])))
        except Exception as error:  # noqa: BLE001 - of this sample; the others go on
            return worker, (None, error)
        if worker is None:
            worker = _Worker()
        try:
            worker.pipe.send_bytes(message)
            if not worker.pipe.poll(timeout_s):
                worker.kill()
                return None, (None, TimeoutError(f"the scorer did not return in {timeout_s} s"))
            answer: tuple[Any, Exception | None] = pickle.loads(worker.pipe.recv_bytes())  # noqa: S301 - our own child, which runs the operator's function
        except (OSError, EOFError):
            code = worker.kill()
            return None, (None, InfraError(f"the scorer's process died (exit code {code})"))
        except Exception as error:  # noqa: BLE001 - an answer that cannot be read is its sample's
            return worker, (None, error)
        return worker, answer


def check_travels(fn: Callable[..., Any]) -> None:
    """Check that a function can be sent to a worker.

    Raises:
        ConfigError: It cannot.
    """
    if getattr(fn, "__module__", None) == "__main__" and hasattr(fn, "__qualname__"):
        raise ConfigError(
            f"{fn.__qualname__} is defined in the main module, which workers do not import; "
            "move it to a module of its own"
        )
    try:
        pickle.dumps(fn)
    except Exception as error:
        raise ConfigError(
            f"the scorer cannot be sent to another process: {error}; define it at the top of a "
            "module, or use the manager 'remote' or 'naive'"
        ) from error


_CHILD = "import sys; sys.path[:] = {path!r}; import {module} as m; m._serve({fd})"


class _Worker:
    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            code = _CHILD.format(path=sys.path, module=__name__, fd=theirs.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL
            )
        self.pipe: Connection[Any, Any] = Connection(ours.detach())

    def kill(self) -> int:
        """End the process; its exit code."""
        self._process.kill()
        self.pipe.close()
        return self._process.wait()


def _serve(descriptor: int) -> None:
    pipe: Connection[Any, Any] = Connection(descriptor)
    while True:
        try:
            message = pipe.recv_bytes()
        except (EOFError, OSError, KeyboardInterrupt):
            return  # the parent is gone, or going
        answer: tuple[Any, Exception | None]
        try:
            fn, arguments = pickle.loads(message)  # noqa: S301 - from our parent
            value = fn(**arguments)
            answer = (asyncio.run(_wait(value)) if inspect.isawaitable(value) else value, None)
        except Exception as error:  # noqa: BLE001 - delivered to the caller, which decides
            answer = (None, error)
        with contextlib.suppress(OSError):
            pipe.send_bytes(_packed(answer))


async def _wait(value: Any) -> Any:
    return await value


def _packed(answer: tuple[Any, Exception | None]) -> bytes:
    try:
        return pickle.dumps(answer)
    except Exception as error:  # noqa: BLE001 - what the function returned or raised cannot travel
        what = answer[1] if answer[1] is not None else answer[0]
        return pickle.dumps((None, TypeError(f"cannot be sent back: {what!r}: {error}")))
