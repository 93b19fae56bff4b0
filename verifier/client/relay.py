"""A client for a process in which gRPC cannot be used: a fresh process of ours makes the calls.

A child that was forked after its parent used gRPC hangs in every gRPC call (see
`verifier.wire.forked`). So there the client starts `python -m verifier.client.relay`, which was
never forked from anything, and hands it operations over a socket pair: pickled, length-prefixed,
any number at once. Both ends are the same program under the same user, so pickle trusts nobody new.
The relay ends when the socket closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import pickle
import socket
import struct
import subprocess
import sys
import threading
from concurrent.futures import Future
from typing import Any

from verifier.client.options import Options
from verifier.errors import GatewayUnavailableError, InfraError, VerifierError

__all__ = ["Relay"]

_LENGTH = struct.Struct("!Q")


class Relay:
    """The forked child's end."""

    def __init__(self, target: str, options: Options) -> None:
        """Start the process."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "verifier.client.relay", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
                },
            )
        self._socket = ours
        self._ids = itertools.count()
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[object]] = {}
        self.dead = False
        self._send((target, options))
        threading.Thread(target=self._receive, name="verifier-relay", daemon=True).start()

    async def call(self, operation: str, *args: object) -> object:
        """One operation of `Calls.perform`.

        Raises:
            VerifierError: What it raised there.
            GatewayUnavailableError: The relay died.
        """
        number = next(self._ids)
        future: Future[object] = Future()
        self._waiting[number] = future
        try:
            await asyncio.get_running_loop().run_in_executor(
                None, self._send, (number, operation, args)
            )
            return await asyncio.wrap_future(future)
        except OSError as exc:
            raise GatewayUnavailableError(f"the relay process died: {exc}") from exc
        finally:
            if self._waiting.pop(number, None) is not None and not self.dead:
                # The caller gave up: stop it there too.
                with contextlib.suppress(OSError):
                    self._send((number, "cancel", ()))

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._process.wait()

    def _send(self, value: object) -> None:
        data = pickle.dumps(value)
        with self._lock:
            self._socket.sendall(_LENGTH.pack(len(data)) + data)

    def _receive(self) -> None:
        with self._socket.makefile("rb") as stream, contextlib.suppress(OSError, EOFError):
            while True:
                head = stream.read(_LENGTH.size)
                if len(head) < _LENGTH.size:
                    break
                number, ok, value = pickle.loads(  # noqa: S301 - see above
                    stream.read(*_LENGTH.unpack(head))
                )
                future = self._waiting.pop(number, None)
                # Its caller may have been cancelled a moment ago.
                if future is not None and future.set_running_or_notify_cancel():
                    future.set_result(value) if ok else future.set_exception(value)
        self.dead = True
        for future in list(self._waiting.values()):
            if future.set_running_or_notify_cancel():
                future.set_exception(GatewayUnavailableError("the relay process died"))


async def _serve(connection: socket.socket) -> None:
    """The relay's end: until the socket closes."""
    from verifier.client.calls import Calls

    reader, writer = await asyncio.open_unix_connection(sock=connection)
    tasks: dict[int, asyncio.Task[None]] = {}

    async def receive() -> Any:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        return pickle.loads(await reader.readexactly(length))  # noqa: S301 - see above

    async def answer(number: int, operation: str, args: tuple[object, ...]) -> None:
        try:
            reply: tuple[int, bool, object] = (number, True, await calls.perform(operation, *args))
        except VerifierError as exc:
            reply = (number, False, exc)
        except Exception as exc:  # noqa: BLE001 - the boundary: whatever it is has to cross it
            reply = (number, False, InfraError(f"{type(exc).__name__}: {exc}"))
        finally:
            del tasks[number]
        data = pickle.dumps(reply)
        writer.write(_LENGTH.pack(len(data)) + data)
        await writer.drain()

    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        target, options = await receive()
        calls = Calls(target, options)
        while True:
            number, operation, args = await receive()
            if operation == "cancel":
                if number in tasks:
                    tasks[number].cancel()
                continue
            tasks[number] = asyncio.create_task(answer(number, operation, args))
    for task in list(tasks.values()):
        task.cancel()


if __name__ == "__main__":
    asyncio.run(_serve(socket.socket(fileno=int(sys.argv[1]))))
