"""Which ids came before, without keeping them: eight bytes an id and room for as many again.

A set of a million ids takes about 130 MB; this takes 16, and says no more about more rows than it
has room for. Two different ids count as one with a chance of one in 10^7 over a million rows.
"""

from __future__ import annotations

from array import array

__all__ = ["Names"]

_FIRST_SLOTS = 1024
_MAX_SLOTS = 1 << 23


class Names:
    """A set of texts that can only grow: an open hash table of their hashes.

    Args:
        max_slots: The table is never larger (eight bytes each), and never more than half full.

    Attributes:
        full: It has no room for another one: what is new is no longer told from what is not.
    """

    def __init__(self, max_slots: int = _MAX_SLOTS) -> None:
        """Empty."""
        self._max_slots = max_slots
        self._slots = _empty(min(_FIRST_SLOTS, max_slots))
        self._used = 0
        self.full = False

    def __len__(self) -> int:
        """How many there are."""
        return self._used

    @property
    def size_bytes(self) -> int:
        """What the table takes."""
        return len(self._slots) * self._slots.itemsize

    def add(self, name: str) -> bool:
        """Whether it was there before; it is now, unless the table is full."""
        value = hash(name) or 1  # 0 is a free slot
        at = self._find(value)
        if self._slots[at]:
            return True
        if 2 * self._used >= len(self._slots):
            if len(self._slots) >= self._max_slots:
                self.full = True
                return False
            self._grow()
            at = self._find(value)
        self._slots[at] = value
        self._used += 1
        return False

    def _find(self, value: int) -> int:
        """Where it is, or would be."""
        slots, mask = self._slots, len(self._slots) - 1
        at = value & mask
        while slots[at] not in (0, value):
            at = (at + 1) & mask
        return at

    def _grow(self) -> None:
        old, self._slots = self._slots, _empty(2 * len(self._slots))
        for value in old:
            if value:
                self._slots[self._find(value)] = value


def _empty(slots: int) -> array[int]:
    return array("q", (0,)) * slots  # not by way of so many bytes, which would be held beside it
