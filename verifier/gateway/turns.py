"""One request is taken in per turn of the event loop, higher priorities first.

A request costs the loop most when it comes: it is parsed, checked, and its program found. When
thousands come at once over many streams, each turn of the loop would do that for one of every
stream, and whoever needs several turns (a request that could run at once does) would wait for all
of that each time.

Where many requests are held, calls that are coming in go before turns, within a bound: gRPC hands
over one call at a time, by way of a thread of its own, and until it has, a call that must be
refused hears nothing. A turn is then given when no call came for a moment, or when some came, or
at once to whoever has priority.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable

__all__ = ["Turns"]

# What gRPC takes to hand over a call that is there already, on a machine that has much to do.
_QUIET_S = 0.002
# So many go before one turn. A flood is over in seconds; meanwhile the slots may have less to do.
_MOST_CALLS = 8
# With fewer requests there is no flood.
_MANY = 64


class Turns:
    """See the module. Belongs to one event loop.

    Args:
        held: Requests without an answer.
    """

    def __init__(self, held: Callable[[], int] = lambda: 0) -> None:
        """Nobody waits."""
        self._held = held
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._taken = False
        self._calls = 0
        self._came = 0.0

    def came(self) -> None:
        """A call came in; its request may ask for a turn, or be refused without one."""
        self._calls += 1
        self._came = asyncio.get_running_loop().time()

    async def take(self, priority: int) -> None:
        """Wait for a turn of one's own; at once when this one is free."""
        loop = asyncio.get_running_loop()
        if not self._taken:
            self._given(loop)
            return
        future: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._waiting, (-priority, next(self._numbers), future))
        await future

    def _given(self, loop: asyncio.AbstractEventLoop) -> None:
        self._taken = True
        self._calls = 0
        loop.call_soon(self._next, loop)

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._waiting[0][2].done():  # cancelled
            heapq.heappop(self._waiting)
        if not self._waiting:
            self._taken = False
            return
        quiet_s = loop.time() - self._came
        ordinary = self._waiting[0][0] >= 0
        flood = ordinary and self._calls < _MOST_CALLS and self._held() > _MANY
        if flood and quiet_s < _QUIET_S:
            loop.call_later(_QUIET_S - quiet_s, self._next, loop)
            return
        heapq.heappop(self._waiting)[2].set_result(None)
        self._given(loop)
