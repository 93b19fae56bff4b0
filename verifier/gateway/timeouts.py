"""A bound on one wait for the price of a timer: `asyncio.wait_for` may make a task."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Within"]


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
