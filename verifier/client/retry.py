"""When a call is tried again: where the gateway did not do the work, within the caller's deadline.

UNAVAILABLE, RESOURCE_EXHAUSTED and a connection that died are tried again, with full jitter (a
uniform draw up to a bound that doubles: AWS Architecture Blog, "Exponential Backoff And Jitter",
2015) on top of what the gateway's RetryInfo asks for. Running a program twice is harmless: runs are
pure. What all calls together may repeat is bounded by a `budget`, and while no gateway is there at
all nobody tries: they wait for one health check that they share (`pool`).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import tenacity

from verifier.errors import (
    BackendError,
    DeadlineError,
    GatewayUnavailableError,
    InfraError,
    OverloadedError,
    SlotError,
)

__all__ = [
    "RETRYABLE",
    "Backoff",
    "Pace",
    "RetryPolicy",
    "call_with_retries",
    "no_retry_sleep",
    "pause",
]

RETRYABLE = (GatewayUnavailableError, OverloadedError, BackendError, SlotError)

_T = TypeVar("_T")


class _Switch:
    """Whether waits between attempts really wait."""

    def __init__(self) -> None:
        self.sleeps = True


_switch = _Switch()


@contextlib.contextmanager
def no_retry_sleep() -> Iterator[None]:
    """For tests: in this block, retries of all clients in this process are immediate."""
    before, _switch.sleeps = _switch.sleeps, False
    try:
        yield
    finally:
        _switch.sleeps = before


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How a call is tried again.

    Attributes:
        max_attempts: Attempts in all, the first included; 1 never retries. Of more gateways than
            this, each is tried once.
        base_s: Bound of the first wait; it doubles with each attempt.
        max_s: The most that bound grows to.
        attempt_timeout_s: Seconds for one attempt, after which it counts as a dead connection; None
            gives an attempt all the time that is left. Set it above the longest honest answer.
        budget: Retries of all calls of a client together while nothing is answered. What a gateway
            refuses as overloaded does not count: it says itself when to come back.
        budget_share: Retries that each answered call allows on top, up to `budget` again.
    """

    max_attempts: int = 4
    base_s: float = 0.1
    max_s: float = 5.0
    attempt_timeout_s: float | None = None
    budget: int = 256
    budget_share: float = 0.2

    def attempts(self, gateways: int) -> int:
        """Attempts in all, where there are so many gateways."""
        return self.max_attempts if self.max_attempts <= 1 else max(self.max_attempts, gateways)


class Pace(Protocol):
    """What of the retries depends on the gateways."""

    def wait_s(self, failures: int, error: BaseException | None) -> float:
        """Seconds until the next attempt, after so many failures."""
        ...

    def enough(self, failures: int) -> bool:
        """Whether there shall be no further attempt."""
        ...


@dataclass(slots=True)
class Backoff:
    """Draws the waits.

    Attributes:
        policy: Its bounds.
        rng: Gives a uniform number in [0, 1).
    """

    policy: RetryPolicy
    rng: Callable[[], float] = field(default=random.random)

    def wait_s(self, failures: int, error: BaseException | None) -> float:
        """Seconds until the next attempt, after so many failures."""
        bound = min(self.policy.max_s, self.policy.base_s * 2.0 ** max(0, failures - 1))
        asked = error.retry_after_s if isinstance(error, InfraError) else 0.0
        return asked + self.rng() * bound

    def enough(self, failures: int) -> bool:
        """After `max_attempts`."""
        return failures >= self.policy.max_attempts

    def sleep_s(self, failures: int, error: BaseException | None) -> float:
        """The same for a timer of the caller's: 0 while the test switch is on."""
        return self.wait_s(failures, error) if _switch.sleeps else 0.0


async def pause(seconds: float) -> None:
    """Wait between attempts, unless the test switch is on."""
    await asyncio.sleep(seconds if _switch.sleeps else 0)


async def call_with_retries(
    attempt: Callable[[float | None], Awaitable[_T]],
    policy: RetryPolicy,
    *,
    timeout_s: float | None,
    clock: Callable[[], float] = time.monotonic,
    pace: Pace | None = None,
) -> _T:
    """Call until it works, is not worth another try, or there is no time for one.

    Args:
        attempt: Takes the seconds it has (None: no bound).
        policy: How often.
        timeout_s: For all attempts and waits together.
        clock: Monotonic seconds.
        pace: In the place of the policy's own.

    Raises:
        VerifierError: Of the last attempt. A wait that would pass the deadline is not begun.
    """
    draws: Pace = pace or Backoff(policy)
    end = None if timeout_s is None else clock() + timeout_s

    def worth_it(error: BaseException) -> bool:
        if isinstance(error, DeadlineError):
            # Out of time altogether, or a single attempt was: a silent connection counts as a dead
            # one.
            return policy.attempt_timeout_s is not None and (end is None or clock() < end)
        return isinstance(error, RETRYABLE)

    def wait(state: tenacity.RetryCallState) -> float:
        return draws.wait_s(
            state.attempt_number, state.outcome.exception() if state.outcome else None
        )

    def stop(state: tenacity.RetryCallState) -> bool:
        if end is not None and clock() + state.upcoming_sleep >= end:
            return True
        return draws.enough(state.attempt_number)

    async for tried in tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(worth_it), wait=wait, stop=stop, sleep=pause, reraise=True
    ):
        with tried:
            left = None if end is None else max(0.0, end - clock())
            bound = policy.attempt_timeout_s
            return await attempt(
                left if bound is None else bound if left is None else min(left, bound)
            )
    raise AssertionError("tenacity raises or returns")  # pragma: no cover
