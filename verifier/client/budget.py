"""A budget of repeats: of retries, and of hedges.

A repeat takes a token; every call that was answered gives a share of one back, up to a bound. So in
the long run repeats are at most that share of the calls, and while nothing is answered at all they
are at most the bound, however many calls there are (Google's SRE book, "Handling Overload"; gRPC's
`retryThrottling`, gRFC A6). One budget serves all calls of a client, on all its loops and threads.
"""

from __future__ import annotations

import threading

__all__ = ["Budget"]


class Budget:
    """Tokens, shared by threads. Full at first.

    Args:
        tokens: The most that there are.
        share: What an answered call gives back.
    """

    def __init__(self, tokens: float, share: float) -> None:
        """Fill it."""
        self._most = self._tokens = float(tokens)
        self._share = share
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take one, if there is one."""
        with self._lock:
            if self._tokens < 1.0:
                return False
            self._tokens -= 1.0
            return True

    def earn(self) -> None:
        """A call was answered."""
        with self._lock:
            self._tokens = min(self._most, self._tokens + self._share)

    @property
    def left(self) -> float:
        """Tokens that are left."""
        return self._tokens
