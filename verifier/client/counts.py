"""What a client did, in numbers: for benchmarks, and for whoever exports them."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass

__all__ = ["ClientCounts", "Counting"]


@dataclass(frozen=True, slots=True)
class ClientCounts:
    """A snapshot. Uploads, health checks and questions for `info` are not counted.

    Attributes:
        sent: Requests put on the wire, repeats included.
        sent_again: Of these, for a call that had been sent before and not answered.
        hedged: Of these, second requests for a late call.
        answered: Answers that a call took. More than there were calls would be answers twice.
        set_aside: How often a gateway was set aside.
    """

    sent: int = 0
    sent_again: int = 0
    hedged: int = 0
    answered: int = 0
    set_aside: int = 0


class Counting:
    """Counts the fields of `ClientCounts`; shared by threads."""

    def __init__(self) -> None:
        """All zero."""
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def sent(self, *, again: bool = False, hedged: bool = False) -> None:
        """A request goes out."""
        with self._lock:
            self._counts["sent"] += 1
            self._counts["sent_again"] += again
            self._counts["hedged"] += hedged

    def answered(self) -> None:
        """A call took an answer."""
        with self._lock:
            self._counts["answered"] += 1

    def set_aside(self) -> None:
        """A gateway was."""
        with self._lock:
            self._counts["set_aside"] += 1

    def snapshot(self) -> ClientCounts:
        """The counts so far."""
        with self._lock:
            return ClientCounts(**self._counts)
