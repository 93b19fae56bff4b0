"""Frames over a stream socket, as they come: the supervisor's side of the protocol.

Several frames arrive at once as a rule, and are cut out of one buffer without a wait between them.
What was not asked for yet is bounded: beyond `AHEAD_BYTES` of it the socket is not read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import cast

from verifier.runner.agent import frames

__all__ = ["FrameStream"]

_BUFFER_BYTES = 64 * 1024
AHEAD_BYTES = 1024 * 1024


class FrameStream(asyncio.BufferedProtocol):
    """One connection.

    Args:
        gone: Called once, as soon as the other side is gone, whether anybody reads or not.
    """

    def __init__(self, gone: Callable[[], None]) -> None:
        """Not connected yet."""
        self._tell = gone
        self._frames: deque[tuple[bytes, bytes]] = deque()
        self._ahead = 0
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._filled = 0
        self._ended: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._sent: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport

    # ------------------------------------------------------------ what the slot calls

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to read."""
        return self._ended is not None and not self._frames

    def ready(self) -> tuple[bytes, bytes] | None:
        """The next frame's header and body, if it is here already."""
        if not self._frames:
            return None
        frame = self._frames.popleft()
        paused = self._ahead > AHEAD_BYTES
        self._ahead -= len(frame[1])
        if paused and self._ahead <= AHEAD_BYTES and self._ended is None:
            self._transport.resume_reading()
        return frame

    async def read(self) -> tuple[bytes, bytes]:
        """The next frame's header, which is not empty, and body.

        Raises:
            ConnectionError: There is no next one.
            ProtocolError: What came is no frame.
        """
        while not self._frames:
            if self._ended is not None:
                raise self._ended
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        frame = self.ready()
        assert frame is not None  # noqa: S101 - the loop above
        return frame

    async def write(self, buffers: Iterable[bytes]) -> None:
        """Send them, in order; returns when all was handed to the kernel.

        Raises:
            ConnectionError: The other side is gone.
        """
        for buffer in buffers:
            self._transport.write(buffer)
        if self._sent is not None:
            await asyncio.shield(self._sent)
        if self._ended is not None:
            raise self._ended

    def abort(self) -> None:
        """End the connection; who reads or writes hears of it."""
        self._transport.abort()

    # ------------------------------------------------------------ what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.BaseProtocol`."""
        # uvloop's, which actors of Ray have, is one without being a subclass.
        self._transport = cast("asyncio.Transport", transport)
        # A write then ends when all was sent, and a descriptor goes where it belongs in the stream.
        self._transport.set_write_buffer_limits(high=0)

    def pause_writing(self) -> None:
        """See `asyncio.BaseProtocol`."""
        self._sent = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """See `asyncio.BaseProtocol`."""
        if self._sent is not None and not self._sent.done():
            self._sent.set_result(None)
        self._sent = None

    def get_buffer(self, sizehint: int) -> memoryview:
        """See `asyncio.BufferedProtocol`."""
        del sizehint
        return self._buffer[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        """See `asyncio.BufferedProtocol`."""
        self._filled += nbytes
        try:
            self._cut()
        except frames.ProtocolError as e:
            self._end(e)
            self._transport.abort()
            return
        if self._frames:
            self._wake()

    def eof_received(self) -> None:
        """See `asyncio.BufferedProtocol`."""
        self._end(ConnectionError("the other side is gone"))

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol`."""
        self._end(ConnectionError(str(exc or "the other side is gone")))

    # ------------------------------------------------------------ plumbing

    def _cut(self) -> None:
        """Take whole frames out of the buffer."""
        size, buffer, filled = frames.LENGTHS.size, self._buffer, self._filled
        at, wanted = 0, 0
        while filled - at >= size:
            head, body = frames.lengths(buffer[at : at + size])
            if not head:
                raise frames.ProtocolError("a frame without a header")
            wanted = size + head + body
            if filled - at < wanted:
                break
            middle = at + size + head
            end = at + wanted
            self._frames.append((bytes(buffer[at + size : middle]), bytes(buffer[middle:end])))
            self._ahead += body
            at, wanted = end, 0
        rest = buffer[at:filled]
        if wanted > len(buffer) or (at and len(buffer) > _BUFFER_BYTES):
            # One as large as the frame that has begun, or the usual one again after a large frame.
            self._buffer = memoryview(bytearray(max(wanted, _BUFFER_BYTES)))
        if at or self._buffer is not buffer:
            self._buffer[: len(rest)] = bytes(rest)
            self._filled = len(rest)
        if self._ahead > AHEAD_BYTES:
            self._transport.pause_reading()

    def _end(self, why: Exception) -> None:
        if self._ended is not None:
            return
        self._ended = why
        self._wake()
        self.resume_writing()
        self._tell()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
