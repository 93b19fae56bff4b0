"""One request is taken in per turn of the event loop, higher priorities first.

A request costs the loop most when it comes: it is parsed, checked, and its program found. When
thousands come at once over many streams, each turn of the loop would do that for one of every
stream, and whoever needs several turns (a request that could run at once does) would wait for all
of that each time.

gRPC hands over one new call in two or three turns. So a few of them are left free between two that
are given while others wait: else calls would come in no faster than they are worked off, and one
that has to be refused would hear of it only when the queue before it is gone.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools

__all__ = ["Turns"]

_FREE = 4


class Turns:
    """See the module. Belongs to one event loop."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._taken = False

    async def take(self, priority: int) -> None:
        """Wait for a turn of one's own; at once when this one is free."""
        loop = asyncio.get_running_loop()
        if not self._taken:
            self._taken = True
            loop.call_soon(self._next, loop, _FREE)
            return
        future: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._waiting, (-priority, next(self._numbers), future))
        await future

    def _next(self, loop: asyncio.AbstractEventLoop, free: int) -> None:
        if free and self._waiting:
            loop.call_soon(self._next, loop, free - 1)
            return
        while self._waiting:
            _, _, future = heapq.heappop(self._waiting)
            if not future.done():  # else cancelled
                future.set_result(None)
                loop.call_soon(self._next, loop, _FREE)
                return
        self._taken = False
