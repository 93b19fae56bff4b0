"""A TCP proxy that counts what passes towards the gateway."""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

CHUNK_BYTES = 256 * 1024


class CountingProxy:
    """Stands before a target; a context manager.

    Attributes:
        target: Where it listens, HOST:PORT.
        sent_bytes: From clients to the target, so far.
    """

    def __init__(self, target: str) -> None:
        """Nothing is bound yet."""
        host, _, port = target.rpartition(":")
        self._there = (host, int(port))
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.target = ""
        self.sent_bytes = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.target = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        back, forth = await asyncio.open_connection(*self._there)
        try:
            await asyncio.gather(
                self._pass_on(reader, forth, count=True), self._pass_on(back, writer, count=False)
            )
        except (OSError, asyncio.CancelledError):
            pass  # one side is gone, or the proxy is closed
        finally:
            self._tasks.discard(task)
            for end in (writer, forth):
                with contextlib.suppress(OSError):
                    end.close()

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, count: bool
    ) -> None:
        while data := await reader.read(CHUNK_BYTES):
            if count:
                self.sent_bytes += len(data)
            writer.write(data)
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.write_eof()
