"""Prints a few samples for a person, bounded in number and in length."""

from __future__ import annotations

from collections import Counter

_FIELD_CHARS = 2000


class Examiner:
    """Shows at most `per_source` samples of each data source, each field cut in length."""

    def __init__(self, per_source: int) -> None:
        self._per_source = per_source
        self._shown: Counter[str] = Counter()

    def wants(self, source: object) -> bool:
        """Whether a sample of this source is still to be shown."""
        return self._shown[str(source)] < self._per_source

    def show(self, source: object, **fields: object) -> None:
        """Print one sample."""
        self._shown[str(source)] += 1
        for name, value in fields.items():
            print(f"[{name}]", cut(value))  # noqa: T201 - num_examine asks for exactly this, on stdout


def cut(value: object) -> str:
    """A value as text of bounded length, with the end kept: it is where an answer is."""
    text = value if isinstance(value, str) else str(value)
    if len(text) <= _FIELD_CHARS:
        return text
    half = _FIELD_CHARS // 2
    return f"{text[:half]} ...({len(text) - 2 * half} characters left out)... {text[-half:]}"
