"""A circuit breaker: a backend that fails again and again is not asked any more, for a while.

    CLOSED --`failures` of them in `window_s`, no success between--> OPEN
    OPEN --its time is over, somebody asks for the probe-----------> HALF_OPEN
    HALF_OPEN --the probe worked--> CLOSED      --it failed--> OPEN, for twice as long

While it is not closed, requests are refused at once with the time after which it makes sense to
come back: a request that waits for a dead engine holds its place and its client, and learns
nothing. Waits are drawn from the upper half of their bound, so that gateways that lost the same
engine do not knock together.

Pure: no task, no timer, no I/O; the clock and the dice are given.
(The pattern: M. Nygard, Release It!, 2007, "Circuit Breaker".)
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class State(str, Enum):
    """See the module."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(frozen=True, slots=True)
class Rule:
    """When it opens, and for how long.

    Attributes:
        failures: So many in a row open it.
        window_s: Older ones do not count.
        open_s: Bound of the first wait; it doubles with each probe that fails.
        max_open_s: The most that bound grows to.
    """

    failures: int = 5
    window_s: float = 30.0
    open_s: float = 1.0
    max_open_s: float = 5.0


DEFAULT_RULE = Rule()


class Breaker:
    """See the module.

    Attributes:
        reason: The last failure, while it is not closed; else "".
        opened: How often it opened since the start.
    """

    def __init__(
        self,
        rule: Rule = DEFAULT_RULE,
        *,
        clock: Callable[[], float] = time.monotonic,
        rng: Callable[[], float] = random.random,
    ) -> None:
        """Closed.

        Args:
            rule: When it opens.
            clock: Monotonic seconds.
            rng: Gives a uniform number in [0, 1).
        """
        self._rule = rule
        self._clock = clock
        self._rng = rng
        self._state = State.CLOSED
        self._failures: deque[float] = deque(maxlen=max(rule.failures, 1))
        self._until = 0.0
        self._vain = 0
        self._watchers: list[Callable[[], None]] = []
        self.reason = ""
        self.opened = 0

    @property
    def state(self) -> State:
        """What it is at the moment."""
        return self._state

    @property
    def closed(self) -> bool:
        """Whether the backend is asked as ever."""
        return self._state is State.CLOSED

    def watch(self, changed: Callable[[], None]) -> None:
        """Call this after each change of state."""
        self._watchers.append(changed)

    def failed(self, why: str) -> None:
        """A slot could not be opened, or failed in use. Not for the probe: `probed`."""
        if not self.closed:
            return  # an echo of what opened it
        now = self._clock()
        self._failures.append(now)
        full = len(self._failures) == self._failures.maxlen
        if full and now - self._failures[0] <= self._rule.window_s:
            self._open(why)

    def worked(self) -> None:
        """A slot did its work. Says nothing while it is not closed: the slot is an old one."""
        if self._failures and self.closed:
            self._failures.clear()

    def wait_s(self) -> float:
        """Seconds until the probe is due; 0 while it is closed, or the probe is under way."""
        return max(self._until - self._clock(), 0.0) if self._state is State.OPEN else 0.0

    def retry_after_s(self) -> float:
        """When a request that is refused now should come back: after the probe."""
        return self.wait_s() + self._rule.open_s / 2

    def probe(self) -> bool:
        """Whether the caller is to try the backend now; it answers with `probed`."""
        if self._state is not State.OPEN or self.wait_s() > 0:
            return False
        self._become(State.HALF_OPEN)
        return True

    def probed(self, problem: str = "") -> None:
        """How the probe ended: "" is well."""
        if self._state is not State.HALF_OPEN:
            return
        if problem:
            self._vain += 1
            self._open(problem)
            return
        self._vain = 0
        self._failures.clear()
        self.reason = ""
        self._become(State.CLOSED)

    def _open(self, why: str) -> None:
        if self._state is State.CLOSED:
            self.opened += 1
        bound = min(self._rule.max_open_s, self._rule.open_s * 2.0 ** min(self._vain, 30))
        self._until = self._clock() + bound * (1 + self._rng()) / 2
        self.reason = why
        self._become(State.OPEN)

    def _become(self, state: State) -> None:
        self._state = state
        for changed in self._watchers:
            changed()
