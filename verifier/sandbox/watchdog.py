"""One clock for all waits of a batch: a timer per wait would cost more than most waits do."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

__all__ = ["Watchdog"]

# How often a slot that is silent is looked at from outside; stopped so often in a row is stopped.
LOOK_S = 1.0
LOOKS = 2


class Watchdog:
    """Ends what takes too long, or is seen to be stopped; watches while it is told to.

    Args:
        seconds: Of one wait.
        late: Called when one has taken so long.
        stopped: Whether the other side is stopped, as far as can be seen from outside; None where
            nothing can.
        seen: Called when it was.
    """

    def __init__(
        self,
        seconds: float,
        late: Callable[[], None],
        stopped: Callable[[], Awaitable[bool]] | None = None,
        seen: Callable[[], None] | None = None,
    ) -> None:
        """It rests."""
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._late = late
        self._stopped = stopped
        self._seen = seen
        self._since = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    def watch(self) -> None:
        """A wait begins."""
        self._since = self._loop.time()
        if self._timer is None:
            self._wake_in(self._seconds if self._stopped is None else LOOK_S)

    def rest(self) -> None:
        """It is over."""
        self._since = math.inf
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def close(self) -> None:
        """Watch no more."""
        self.rest()
        if self._timer is not None:
            self._timer.cancel()

    def _wake_in(self, seconds: float) -> None:
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        waited_s = self._loop.time() - self._since
        left_s = self._seconds - waited_s
        if waited_s < 0:  # it rests; the next wait sets the timer
            return
        if left_s <= 0:
            self._late()
        elif self._stopped is None:
            self._wake_in(left_s)
        elif waited_s < LOOK_S:  # another wait than the one that set the timer
            self._wake_in(min(LOOK_S - waited_s, left_s))
        else:
            if self._looking is None:
                self._looking = self._loop.create_task(self._ask(self._stopped))
            self._wake_in(left_s)

    async def _ask(self, stopped: Callable[[], Awaitable[bool]]) -> None:
        seen = 0
        while seen < LOOKS:
            seen = seen + 1 if await stopped() else 0
            await asyncio.sleep(LOOK_S)
        if self._seen is not None:
            self._seen()
