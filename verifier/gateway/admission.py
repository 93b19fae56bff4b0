"""Says no early: how many requests, and how many bytes of them, the gateway holds at once.

A request is admitted before it is parsed and let go after its answer was made. Over either bound it
is refused at once with the time after which it makes sense to come back; nothing is ever parked
outside the bounds. Before the engine is up, and once shutdown began, everything is refused.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

from verifier.errors import GatewayUnavailableError, OverloadedError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Admission", "Ticket"]

# The client adds full jitter of its own on top, so that those refused together do not return
# together.
_RETRY_AFTER_S = 0.5


class Ticket:
    """The place of one admitted request; a context manager that gives it back."""

    __slots__ = ("_admission", "_size")

    def __init__(self, admission: Admission, size: int) -> None:
        """Made by `Admission.admit`."""
        self._admission = admission
        self._size = size

    def grow(self, size: int) -> None:
        """Count more bytes on this ticket (an upload in pieces).

        Raises:
            OverloadedError: They do not fit.
        """
        self._admission.reserve(size)
        self._size += size

    def shrink(self, size: int) -> None:
        """Count no more than so many bytes from now on: the rest was let go of."""
        if size < self._size:
            self._admission.free(self._size - size)
            self._size = size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._admission.release(self._size)


class Admission:
    """The two bounds, and whether anything is admitted at all.

    Args:
        max_requests: Requests held at once.
        max_bytes: Their bytes. One request alone is admitted whatever its size: the message limit
            bounds it.
    """

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        """Closed until `open` is called."""
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._requests = 0
        self._bytes = 0
        self._closed = "the gateway is starting"
        self._idle = asyncio.Event()
        self._idle.set()
        self.draining = asyncio.Event()

    @property
    def requests(self) -> int:
        """Requests held at the moment."""
        return self._requests

    @property
    def held_bytes(self) -> int:
        """Their bytes."""
        return self._bytes

    @property
    def accepting(self) -> bool:
        """Whether a request has a chance at all."""
        return not self._closed

    def open(self) -> None:
        """Begin to admit."""
        if not self.draining.is_set():
            self._closed = ""

    def close(self) -> None:
        """Refuse everything from now on; what was admitted goes on."""
        self._closed = "the gateway is shutting down"
        self.draining.set()

    async def wait_idle(self) -> None:
        """Return once nothing is held."""
        await self._idle.wait()

    def admit(self, size: int) -> Ticket:
        """A place for a request of so many bytes.

        Raises:
            OverloadedError: It is full.
            GatewayUnavailableError: The gateway is starting or shutting down.
        """
        if self._closed:
            raise GatewayUnavailableError(self._closed)
        if self._requests >= self._max_requests:
            raise OverloadedError(f"the queue is full ({self._requests} requests)", _RETRY_AFTER_S)
        if self._requests:
            self.reserve(size)
        else:
            self._bytes += size
        self._requests += 1
        self._idle.clear()
        return Ticket(self, size)

    def reserve(self, size: int) -> None:
        """Count bytes of a request that is admitted already.

        Raises:
            OverloadedError: They do not fit.
        """
        if self._bytes + size > self._max_bytes:
            held = f"{self._bytes} of {self._max_bytes} bytes are held"
            raise OverloadedError(f"the queue is full ({held})", _RETRY_AFTER_S)
        self._bytes += size

    def free(self, size: int) -> None:
        """Count bytes of a request no longer; it goes on."""
        self._bytes -= size

    def release(self, size: int) -> None:
        """Give a place back (`Ticket` does)."""
        self._requests -= 1
        self._bytes -= size
        if not self._requests:
            self._idle.set()
