"""A bound on how long a block may take, for the price of a timer.

It is `asyncio.timeout`, which Python has from 3.11 on; `asyncio.wait_for` may make a task, and
thousands may wait here.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Within"]


class Within:
    """`async with Within(s):` raises `asyncio.TimeoutError` where its block takes longer.

    A block that ends in time, and one that somebody else cancels, are left alone.
    """

    __slots__ = ("_cancelling", "_fired", "_handle", "_seconds", "_task")

    def __init__(self, seconds: float | None) -> None:
        """Nothing runs yet.

        Args:
            seconds: None: no bound.
        """
        self._seconds = seconds
        self._fired = False
        self._cancelling = 0
        self._task: asyncio.Task[object] | None = None
        self._handle: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        self._cancelling = getattr(self._task, "cancelling", int)()
        if self._seconds is not None:
            loop = asyncio.get_running_loop()
            self._handle = loop.call_later(max(self._seconds, 0.0), self._fire)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if not self._fired:
            return
        # Our request is taken back, or whoever counts them (3.11) would take it for another's; one
        # that stays is another's, and goes on.
        others = getattr(self._task, "uncancel", int)() > self._cancelling
        if not others and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise asyncio.TimeoutError from None

    def _fire(self) -> None:
        if self._task is not None:
            self._fired = True
            self._task.cancel()
