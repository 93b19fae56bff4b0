"""A second request for a late one, and the first answer wins.

After J. Dean and L. Barroso, "The Tail at Scale", 2013. Only where a run may happen twice, and all
of ours may. Off unless `hedge_after_s` is set, to another gateway only, and at most `HEDGE_SHARE`
of the calls that are answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from verifier.errors import VerifierError

__all__ = ["HEDGE_SHARE", "HEDGE_TOKENS", "hedged"]

HEDGE_SHARE = 0.1
HEDGE_TOKENS = 10

_T = TypeVar("_T")


async def hedged(
    first: Coroutine[Any, Any, _T],
    second: Callable[[], Awaitable[_T] | None],
    after_s: float,
) -> _T:
    """The first answer of the two; the other is cancelled.

    Args:
        first: The call.
        second: Makes another one; None where there shall be none.
        after_s: When it is made.

    Raises:
        VerifierError: Of the first, where neither is answered.
    """
    calls = [asyncio.ensure_future(first)]
    try:
        await asyncio.wait(calls, timeout=after_s)
        if not calls[0].done():
            other = second()
            if other is not None:
                calls.append(asyncio.ensure_future(other))
        waiting = set(calls)
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for call in done:
                error = call.exception()
                if error is None:
                    return call.result()
                if not isinstance(error, VerifierError):
                    raise error
        return calls[0].result()
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
