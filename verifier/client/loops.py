"""What a client has on each event loop: made when first needed, used nowhere else."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Callable

from verifier.client.pool import Pool

__all__ = ["Here", "Loops"]


class Here:
    """What one loop of one process has: gateways, and places for unary calls."""

    __slots__ = ("loop", "pid", "places", "pool")

    def __init__(self, loop: asyncio.AbstractEventLoop, pool: Pool, max_in_flight: int) -> None:
        """Nothing is dialed."""
        self.pid = os.getpid()
        self.loop = weakref.ref(loop)
        self.pool = pool
        self.places = asyncio.Semaphore(max_in_flight)


class Loops:
    """The loops of one client."""

    def __init__(self, pool: Callable[[], Pool], max_in_flight: int) -> None:
        """Nothing is made yet."""
        self._pool = pool
        self._max_in_flight = max_in_flight
        self._open: dict[int, Here] = {}

    def here(self) -> Here:
        """What belongs to this process and the running loop."""
        loop = asyncio.get_running_loop()
        found = self._open.get(id(loop))
        if found is not None and found.pid == os.getpid() and found.loop() is loop:
            return found
        self._sweep()
        made = self._open[id(loop)] = Here(loop, self._pool(), self._max_in_flight)
        return made

    async def close(self) -> None:
        """Close what the running loop has; what other loops have goes with them."""
        found = self._open.pop(id(asyncio.get_running_loop()), None)
        if found is not None and found.pid == os.getpid():
            await found.pool.close()

    def _sweep(self) -> None:
        """Forget what belongs to a loop that is gone, or that another process made."""
        for key, entry in list(self._open.items()):
            loop = entry.loop()
            if entry.pid != os.getpid() or loop is None or loop.is_closed():
                del self._open[key]
