"""One gateway, as a client knows it on one event loop. `pool` decides on it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from verifier.client.channel import Link
from verifier.client.endpoints import Address
from verifier.client.uploads import Uploads

__all__ = ["Gateway"]


class Gateway:
    """One of them. It may see several connections in its life.

    Attributes:
        address: Where it is.
        target: The same, as gRPC dials it.
        in_flight: Requests that it has of this client.
        max_message_bytes: What it takes; None: not asked yet.
        uploads: What it has of this client's suites.
        aside: It gets nothing but health checks.
        due: When the next of these is, on the loop's clock.
        failures: How often in a row it was set aside; its pause grows with them.
        refusals: Requests that it could not serve, in a row.
        quiet_until: Until when it asked for no more.
    """

    def __init__(self, address: Address, uploads: Callable[[Gateway], Uploads]) -> None:
        """Usable, and not dialed."""
        self.address = address
        self.target = address.target
        self.in_flight = 0
        self.max_message_bytes: int | None = None
        self.uploads = uploads(self)
        self.aside = False
        self.due = 0.0
        self.failures = 0
        self.refusals = 0
        self.quiet_until = 0.0
        self._link: Link | None = None

    @property
    def link(self) -> Link:
        """Its connection."""
        if self._link is None:
            self._link = Link(self.address)
        return self._link

    def relink(self, link: Link | None) -> Link | None:
        """Replace its connection; gives the old one, which ends with its last user."""
        old, self._link = self._link, link
        return old

    async def close(self) -> None:
        """End its connection at once."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    def holds(self, link: Link) -> bool:
        """Whether this is its connection still."""
        return self._link is link

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """A request is in flight there."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
