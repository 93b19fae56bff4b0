"""When a refused request should come back: each in its turn, at the pace at which places come free.

One delay for all would bring thousands back together, to be refused again; each such round costs
the loop more than it gets done. So every refusal takes the next turn of a line that nobody stands
in.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Pace"]

# The client adds full jitter of its own on top.
_LEAST_S = 0.5
# The pace may change, so nobody is sent away for longer.
_MOST_S = 10.0
_FIRST_PER_S = 100.0
_WINDOW_S = 1.0


class Pace:
    """See the module.

    Args:
        clock: Monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is known of the pace yet."""
        self._clock = clock
        self._per_s = _FIRST_PER_S
        self._freed = 0
        self._since = clock()
        self._turn = 0.0

    def freed(self) -> None:
        """A place came free."""
        self._freed += 1
        spent = self._clock() - self._since
        if spent >= _WINDOW_S:
            self._per_s = (self._per_s + self._freed / spent) / 2
            self._freed = 0
            self._since += spent

    def retry_after_s(self) -> float:
        """Seconds until the next turn that nobody was given."""
        now = self._clock()
        self._turn = min(max(self._turn, now + _LEAST_S) + 1 / self._per_s, now + _MOST_S)
        return self._turn - now
