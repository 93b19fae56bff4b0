"""For callers in the engine's own process, which have no client that would come back for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from verifier.errors import BackendDownError

# An engine or a host that is restarted is back by then.
PATIENCE_S = 120.0

T = TypeVar("T")


async def patiently(
    work: Callable[[], Awaitable[T]],
    patience_s: float = PATIENCE_S,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """Do it again as long as the backend is down.

    Args:
        work: What to ask of the engine.
        patience_s: Seconds, from the first refusal on.
        clock: Monotonic seconds.

    Raises:
        BackendDownError: It is down for longer than that.
    """
    end: float | None = None
    while True:
        try:
            return await work()
        except BackendDownError as e:  # noqa: PERF203 - seconds go by between two of them
            end = clock() + patience_s if end is None else end
            if clock() + e.retry_after_s > end:
                raise
            await asyncio.sleep(e.retry_after_s)
