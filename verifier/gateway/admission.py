"""Says no early: how many requests, and how many bytes of them, the gateway holds at once.

A request is admitted before it is parsed and let go after its answer was made. Over either bound it
is refused at once with the time after which it makes sense to come back; nothing is ever parked
outside the bounds. One client may have bounds of its own (`gateway.quotas`). Before the engine is
up, and once shutdown began, everything is refused.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

from verifier.errors import GatewayUnavailableError, OverloadedError
from verifier.gateway.pace import Pace
from verifier.gateway.quotas import Quota, Quotas

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Admission", "Place", "Ticket"]

# Of a client over its own quota: it knows what it waits for.
_RETRY_AFTER_S = 0.5


class Ticket:
    """The place of one admitted request; a context manager that gives it back."""

    __slots__ = ("_admission", "_client", "_quota", "_size")

    def __init__(self, admission: Admission, size: int, client: str, quota: Quota | None) -> None:
        """Made by `Admission.admit`."""
        self._admission = admission
        self._size = size
        self._client = client
        self._quota = quota

    def grow(self, size: int) -> None:
        """Count more bytes on this ticket (an upload in pieces).

        Raises:
            OverloadedError: They do not fit.
        """
        self._admission.grow(size, self._client, self._quota)
        self._size += size

    def shrink(self, size: int) -> None:
        """Count no more than so many bytes from now on: the rest was let go of."""
        if size < self._size:
            self._admission.shrink(self._size - size, self._client)
            self._size = size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._admission.release(self._size, self._client)


class Place:
    """The place of a call whose request is being read."""

    __slots__ = ("_admission",)

    def __init__(self, admission: Admission) -> None:
        """Made by `Admission.knock`."""
        self._admission: Admission | None = admission

    def leave(self) -> None:
        """Give it back; a request that was read takes one of its own at once."""
        if self._admission is not None:
            self._admission.came()
            self._admission = None


class Admission:
    """The two bounds, and whether anything is admitted at all.

    Args:
        max_requests: Requests held at once.
        max_bytes: Their bytes. One request alone is admitted whatever its size: the message limit
            bounds it.
        quota: Of one client.

    Attributes:
        quotas: What each client holds.
    """

    def __init__(self, max_requests: int, max_bytes: int, quota: Quota | None = None) -> None:
        """Closed until `open` is called."""
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._pace = Pace()
        self.quotas = Quotas(quota or Quota(), _RETRY_AFTER_S)
        self._requests = 0
        self._coming = 0
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

    def resize(self, max_requests: int, max_bytes: int, quota: Quota) -> None:
        """Other bounds from now on; what was admitted stays."""
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self.quotas.default = quota

    def admit(self, size: int, client: str = "", quota: Quota | None = None) -> Ticket:
        """A place for a request of so many bytes.

        Args:
            size: Bytes.
            client: Whose it is.
            quota: What its client has in the place of the default.

        Raises:
            OverloadedError: It is full, or the client's quota is used up; says which.
            GatewayUnavailableError: The gateway is starting or shutting down.
        """
        self._look()
        if self._requests:
            self._check(size)
        self.quotas.take(client, size, quota)
        self._requests += 1
        self._bytes += size
        self._idle.clear()
        return Ticket(self, size, client, quota)

    def knock(self) -> Place:
        """A place for a request of which nothing was read yet.

        Raises:
            OverloadedError: There is none.
            GatewayUnavailableError: The gateway is starting or shutting down.
        """
        self._look()
        self._coming += 1
        return Place(self)

    def came(self) -> None:
        """A request was read, or will not be (`Place` does)."""
        self._coming -= 1

    def _look(self) -> None:
        if self._closed:
            raise GatewayUnavailableError(self._closed)
        if self._requests + self._coming >= self._max_requests:
            raise self._full(f"{self._requests + self._coming} requests")

    def grow(self, size: int, client: str, quota: Quota | None) -> None:
        """Count more bytes of a request that is admitted already (`Ticket` does).

        Raises:
            OverloadedError: They do not fit.
        """
        self._check(size)
        self.quotas.grow(client, size, quota)
        self._bytes += size

    def shrink(self, size: int, client: str) -> None:
        """Count bytes of a request no longer; it goes on (`Ticket` does)."""
        self.quotas.shrink(client, size)
        self._bytes -= size

    def release(self, size: int, client: str) -> None:
        """Give a place back (`Ticket` does)."""
        self.quotas.give_back(client, size)
        self._pace.freed()
        self._requests -= 1
        self._bytes -= size
        if not self._requests:
            self._idle.set()

    def hold(self, size: int) -> None:
        """Count an answer that waits to be written; it is there already, so nothing refuses it."""
        self._bytes += size

    def let_go(self, size: int) -> None:
        """Count it no more."""
        self._bytes -= size

    def _check(self, size: int) -> None:
        if self._bytes + size > self._max_bytes:
            raise self._full(f"{self._bytes} of {self._max_bytes} bytes are held")

    def _full(self, held: str) -> OverloadedError:
        return OverloadedError(f"the queue is full ({held})", self._pace.retry_after_s())
