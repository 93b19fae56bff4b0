"""Limits on requests that all managers of a process share, whichever event loop they run on.

asyncio's own semaphore and lock belong to one loop, and a process has several: the trainer's, those
of agent loops, one for each synchronous call. So state is guarded by a thread lock that is never
held across an await, and who waits is woken through its own loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verifier.errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import Self


class Gate:
    """At most `places` at once; who waits is let in first come, first served. `async with gate:`.

    Args:
        places: How many.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self._free = places
        self._lock = threading.Lock()
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def __aenter__(self) -> Self:
        with self._lock:
            if self._free:
                self._free -= 1
                return self
            loop = asyncio.get_running_loop()
            mine: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, mine))
        try:
            await mine
        except asyncio.CancelledError:
            with self._lock:
                waited = any(future is mine for _, future in self._waiting)
                if waited:
                    self._waiting = deque(w for w in self._waiting if w[1] is not mine)
            if not waited:  # the place was handed over before the cancellation: pass it on
                self._leave()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                loop, future = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(_wake, future)
            except RuntimeError:  # that loop was closed: nobody waits there any more
                continue
            return


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class AsyncTokenBucket:
    """A rate: `per_minute` tokens, spent as they come in; the bucket holds one second's worth.

    A request that is larger than what is there takes it all the same and waits for its debt, so
    requests are served in order and none of them starves.

    Args:
        per_minute: Tokens per minute.
        clock: Seconds, monotonic.
        sleep: Waits for seconds.

    Raises:
        ConfigError: The rate is not positive.
    """

    def __init__(
        self,
        per_minute: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if not per_minute > 0:
            raise ConfigError(f"a rate of {per_minute} per minute must be positive, or None")
        self.rate_per_s = per_minute / 60
        self.capacity = max(self.rate_per_s, 1.0)
        self._tokens = self.capacity
        self._clock = clock
        self._sleep = sleep
        self._at = clock()
        self._lock = threading.Lock()

    def reserve(self, tokens: float = 1.0) -> float:
        """Take tokens; seconds until they are there."""
        with self._lock:
            now = self._clock()
            refilled = self._tokens + (now - self._at) * self.rate_per_s
            self._at = now
            self._tokens = min(self.capacity, refilled) - tokens
            return max(0.0, -self._tokens / self.rate_per_s)

    async def acquire(self, tokens: float = 1.0) -> None:
        """Take tokens, and wait until they are there."""
        wait_s = self.reserve(tokens)
        if wait_s > 0:
            await self._sleep(wait_s)


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What an API allows.

    Attributes:
        max_concurrent: Requests under way at once.
        max_rpm: Requests per minute; None is unlimited.
        max_tpm: Tokens per minute; None is unlimited.
        estimated_tokens_per_request: What a request is counted as.
    """

    max_concurrent: int = 1
    max_rpm: float | None = None
    max_tpm: float | None = None
    estimated_tokens_per_request: int = 2000

    def __post_init__(self) -> None:
        """Check.

        Raises:
            ConfigError: A limit is not positive; names it.
        """
        for name in ("max_concurrent", "max_rpm", "max_tpm", "estimated_tokens_per_request"):
            value = getattr(self, name)
            if value is None and name in ("max_rpm", "max_tpm"):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise ConfigError(f"{name}={value!r} must be a positive number")


class Limiter:
    """Requests per minute, then tokens per minute, then concurrency. `async with limiter:`."""

    def __init__(self, limits: RateLimits) -> None:
        self.limits = limits
        self._requests = AsyncTokenBucket(limits.max_rpm) if limits.max_rpm is not None else None
        self._tokens = AsyncTokenBucket(limits.max_tpm) if limits.max_tpm is not None else None
        self._gate = Gate(int(limits.max_concurrent))

    async def __aenter__(self) -> Self:
        if self._requests is not None:
            await self._requests.acquire()
        if self._tokens is not None:
            await self._tokens.acquire(self.limits.estimated_tokens_per_request)
        await self._gate.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._gate.__aexit__()


_shared: dict[str, Limiter] = {}
_shared_lock = threading.Lock()


def shared_limiter(limits: RateLimits, name: str = "") -> Limiter:
    """The process's limiter of that name; managers that talk to different APIs name theirs.

    Raises:
        ConfigError: It exists with other limits: what an API allows does not depend on who asks.
    """
    with _shared_lock:
        found = _shared.setdefault(name, Limiter(limits))
    if found.limits != limits:
        raise ConfigError(
            f"this process already has a rate limiter {name!r} with {found.limits}, not {limits}; "
            "use the same limits, or name another one by reward_kwargs.limiter"
        )
    return found
