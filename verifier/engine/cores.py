"""Which core a slot is bound to.

Slots are spread over the cores that this process may use, fewest slots first. What it may use is
read anew for each slot: affinity masks and cpusets change while a gateway runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection


class Cores:
    """Hands out cores, and takes them back.

    Args:
        allowed: In the place of this process's own affinity mask.
    """

    def __init__(self, allowed: Callable[[], Collection[int]] | None = None) -> None:
        """No core is taken."""
        self._allowed = allowed or (lambda: os.sched_getaffinity(0))
        self._taken: dict[int, int] = {}

    def take(self) -> int:
        """The allowed core with the fewest slots."""
        core = min(self._allowed(), key=lambda c: (self._taken.get(c, 0), c))
        self._taken[core] = self._taken.get(core, 0) + 1
        return core

    def give_back(self, core: int) -> None:
        """One slot less is bound to it."""
        self._taken[core] -= 1
        if not self._taken[core]:
            del self._taken[core]
