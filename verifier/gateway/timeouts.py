"""What is left of an RPC's time, and a bound on one wait for the price of a timer.

`asyncio.wait_for` may make a task.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Within", "seconds_left"]


def seconds_left(context: Any) -> float | None:
    """Seconds until the deadline of an RPC; None without one.

    gRPC converts the deadline to the wall clock and then takes the wall clock from it. Where the
    clock is set between the two it says that nothing is left, and a verdict would be lost: nothing
    left is believed when it is said twice.
    """
    left: float | None = context.time_remaining()
    if left is not None and left <= 0:
        left = context.time_remaining()
    return left


class Within:
    """`async with Within(s):` raises `asyncio.TimeoutError` where its block takes longer."""

    __slots__ = ("_fired", "_handle", "_seconds", "_task")

    def __init__(self, seconds: float) -> None:
        """Nothing runs yet."""
        self._seconds = seconds
        self._fired = False
        self._task: asyncio.Task[object] | None = None
        self._handle: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        self._handle = asyncio.get_running_loop().call_later(self._seconds, self._fire)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if self._fired and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise asyncio.TimeoutError from None

    def _fire(self) -> None:
        if self._task is not None:
            self._fired = True
            self._task.cancel()
