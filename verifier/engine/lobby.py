"""Where tasks wait that are not yet worth their bookkeeping.

A task in the shop has a dozen objects of its own; thousands of one client may be queued, of which a
few can be next. So of each client, at each priority, only so many tasks are in the shop at once;
the others wait here, in order, with hardly more than their program. Who is in the shop and whose
turn it is there is another matter (`engine.shares`): no client waits here for another.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class _Room:
    inside: int = 0
    line: deque[asyncio.Future[None]] = field(default_factory=deque)


class Lobby:
    """See the module. Belongs to one event loop."""

    def __init__(self, places: int) -> None:
        """So many at once for each key."""
        self._places = places
        self._rooms: dict[Hashable, _Room] = {}

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(not f.done() for room in self._rooms.values() for f in room.line)

    async def enter(self, key: Hashable) -> None:
        """Wait for a place. Without an error, `leave` has to follow."""
        room = self._rooms.get(key)
        if room is None:
            room = self._rooms[key] = _Room()
        if room.inside < self._places:
            room.inside += 1
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        room.line.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # let in, and cancelled before it could go
                self.leave(key)
            raise

    def leave(self, key: Hashable) -> None:
        """Give the place to the next in line."""
        room = self._rooms[key]
        while room.line:
            future = room.line.popleft()
            if not future.done():
                future.set_result(None)
                return
        room.inside -= 1
        if not room.inside:
            del self._rooms[key]
