"""One unary call: its attempts over the gateways."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from verifier.client.budget import Budget
from verifier.client.counts import Counting
from verifier.client.gateway import Gateway
from verifier.client.hedge import hedged
from verifier.client.pool import Pool
from verifier.client.retry import RETRYABLE, Backoff, RetryPolicy, call_with_retries
from verifier.client.timing import ends_at, left
from verifier.errors import DeadlineError, GatewayUnavailableError, OverloadedError, VerifierError

__all__ = ["Attempts"]

_T = TypeVar("_T")


class Attempts(Generic[_T]):
    """Used once.

    Args:
        pool: The gateways.
        once: Makes the call at one of them, in so many seconds.
        policy: How often.
        retries: Budget of the client.
        hedges: The same, of second requests.
        hedge_after_s: When a second request is made; None: never.
        counting: Counters of the client.
        key: Of the suite that the gateway should have.
    """

    def __init__(
        self,
        pool: Pool,
        once: Callable[[Gateway, float | None], Coroutine[Any, Any, _T]],
        *,
        policy: RetryPolicy,
        retries: Budget,
        hedges: Budget,
        hedge_after_s: float | None,
        counting: Counting,
        key: bytes | None,
    ) -> None:
        """Nothing is sent."""
        self._pool = pool
        self._once = once
        self._policy = policy
        self._backoff = Backoff(policy)
        self._retries = retries
        self._hedges = hedges
        self._hedge_after_s = hedge_after_s
        self._counting = counting
        self._key = key
        self._tried: set[Gateway] = set()
        self._last: Gateway | None = None
        self._error: VerifierError | None = None
        self._spent = self._out_of_attempts = False

    async def run(self, timeout_s: float | None) -> _T:
        """The answer.

        Raises:
            VerifierError: Of the last attempt.
        """
        try:
            return await call_with_retries(
                self._attempt, self._policy, timeout_s=timeout_s, pace=self
            )
        except GatewayUnavailableError:
            # One that had little time says nothing to those that have more.
            if self._out_of_attempts:
                self._pool.gave_up()
            raise

    # ------------------------------------------------------------ the pace (`retry.Pace`)

    def wait_s(self, failures: int, error: BaseException | None) -> float:
        """None where the wait is that for a health check; not the asked one where another is free.

        A wait is begun only where it ends before the deadline, so this may not be too long.
        """
        if not self._pool.usable:
            return 0.0
        if isinstance(error, OverloadedError) and self._last is not None:
            error = None if self._pool.elsewhere(self._last) else error
        return self._backoff.wait_s(failures, error)

    def enough(self, failures: int) -> bool:
        """The policy's attempts were made, or the client's budget is spent."""
        attempts = self._policy.attempts(len(self._pool.gateways))
        self._out_of_attempts = self._spent or failures >= attempts
        return self._out_of_attempts

    # ------------------------------------------------------------ an attempt

    async def _attempt(self, left_s: float | None) -> _T:
        end = ends_at(left_s)
        gateway = await self._pick(end)
        if self._error is not None and not isinstance(self._error, OverloadedError):
            self._spent = not self._retries.take()
            if self._spent:
                raise self._error
        if self._hedge_after_s is None:
            return await self._at(gateway, end)

        def second() -> Coroutine[Any, Any, _T] | None:
            other = self._pool.pick(avoid=self._tried, without=(gateway,))
            if other is None or not self._hedges.take():
                return None
            return self._at(other, end, hedged=True)

        return await hedged(self._at(gateway, end), second, self._hedge_after_s)

    async def _pick(self, end: float | None) -> Gateway:
        gateway = self._pool.pick(self._key, avoid=self._tried)
        if gateway is None:
            try:
                await asyncio.wait_for(self._pool.revive(), left(end))
            except asyncio.TimeoutError:
                raise self._pool.unavailable() from None
            gateway = self._pool.pick(self._key, avoid=self._tried)
            if gateway is None:
                raise self._pool.unavailable()
        return gateway

    async def _at(self, gateway: Gateway, end: float | None, *, hedged: bool = False) -> _T:
        self._counting.sent(again=self._last is not None and not hedged, hedged=hedged)
        self._last, link = gateway, gateway.link
        with gateway.busy():
            try:
                answer = await self._once(gateway, left(end))
            except VerifierError as exc:
                self._error = exc
                self._tried.add(gateway)
                self._pool.failed(gateway, link, exc)
                if not isinstance(exc, (*RETRYABLE, DeadlineError)):
                    self._counting.answered()
                    self._earn()
                raise
        self._pool.answered(gateway)
        self._counting.answered()
        self._earn()
        return answer

    def _earn(self) -> None:
        self._retries.earn()
        self._hedges.earn()
