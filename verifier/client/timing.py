"""Deadlines as points on the running loop's clock; None: none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from verifier._within import Within
from verifier.errors import DeadlineError

__all__ = ["ends_at", "left", "within"]

_T = TypeVar("_T")


def ends_at(seconds: float | None) -> float | None:
    """The point in so many seconds."""
    return None if seconds is None else asyncio.get_running_loop().time() + seconds


def left(end: float | None) -> float | None:
    """Seconds until then."""
    return None if end is None else max(0.0, end - asyncio.get_running_loop().time())


async def within(work: Awaitable[_T], end: float | None) -> _T:
    """Wait for it until then.

    Raises:
        DeadlineError: It was not over by then.
    """
    try:
        async with Within(left(end)):
            return await work
    except asyncio.TimeoutError:
        raise DeadlineError("the deadline passed before the request was sent") from None
