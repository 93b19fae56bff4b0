"""Which rows of a data set: a part, a sample, the first ones. Deterministic, and in their order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from verifier.errors import ConfigError

__all__ = ["Selection", "parse_shard"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Selection:
    """First a sample is drawn, then a shard of it is taken, then the first rows of that.

    Attributes:
        sample: So many rows, drawn without repetition; None: all.
        seed: Of the draw: the same seed gives the same rows.
        shard: (i, n): of every n rows the i-th, from 1; None: all.
        limit: At most so many rows; None: all.
    """

    sample: int | None = None
    seed: int = 0
    shard: tuple[int, int] | None = None
    limit: int | None = None

    def of(self, rows: Callable[[], Iterable[T]]) -> Iterator[T]:
        """The selected ones.

        Args:
            rows: Reads all of them; called twice for a sample, which has to know how many there
                are.
        """
        found: Iterable[T] = rows()
        if self.sample is not None:
            total = sum(1 for _ in rows())
            drawn = random.Random(self.seed).sample(  # noqa: S311 - nothing is kept secret by it
                range(total), min(self.sample, total)
            )
            found = _at(found, sorted(drawn))
        if self.shard is not None:
            first, step = self.shard
            found = islice(found, first - 1, None, step)
        return islice(found, self.limit)

    def count(self, total: int) -> int:
        """How many of so many rows are selected."""
        if self.sample is not None:
            total = min(total, self.sample)
        if self.shard is not None:
            first, step = self.shard
            total = max(0, (total - first) // step + 1)
        return total if self.limit is None else min(total, self.limit)


def parse_shard(given: str) -> tuple[int, int]:
    """The two numbers of a text like 3/8.

    Raises:
        ConfigError: It is no such thing.
    """
    first, _, parts = given.partition("/")
    if first.isdecimal() and parts.isdecimal() and 1 <= int(first) <= int(parts):
        return int(first), int(parts)
    raise ConfigError(f"shard {given!r}: must be I/N with I from 1 to N, as 1/8 ... 8/8")


def _at(rows: Iterable[T], places: list[int]) -> Iterator[T]:
    wanted = iter(places)
    place = next(wanted, None)
    for number, row in enumerate(rows):
        if place is None:
            return
        if number == place:
            yield row
            place = next(wanted, None)
