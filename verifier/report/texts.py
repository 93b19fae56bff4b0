"""Columns of texts, many of which are equal: each text once, and its number in the column."""

from __future__ import annotations

__all__ = ["Texts"]


class Texts:
    """Texts by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The same for the same text."""
        return self._numbers.setdefault(text, len(self._numbers))

    def all(self) -> list[str]:
        """In the order of their numbers."""
        return list(self._numbers)
