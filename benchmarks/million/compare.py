"""What has to be the same in two results files, and how a file is told to be whole."""

from __future__ import annotations

import itertools
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from verifier.data.journal import journal_of

# What is measured anew in each run, and what a cache of the process had.
MEASURED = ("timing", "cached")
MEASURED_OF_CASE = ("cpu_time_s", "wall_time_s", "queue_s", "memory_bytes")


def lasting(line: bytes) -> dict[str, Any]:
    """A result without what is measured anew in each run."""
    row: dict[str, Any] = orjson.loads(line)
    for name in MEASURED:
        del row[name]
    for case in row["cases"]:
        for name in MEASURED_OF_CASE:
            del case[name]
    return row


def differences(one: Path, other: Path, most: int = 5) -> tuple[int, list[str]]:
    """How many rows differ in anything that lasts, and the first of them."""
    count, first = 0, []
    with one.open("rb") as left, other.open("rb") as right:
        for number, (a, b) in enumerate(itertools.zip_longest(left, right), start=1):
            if a == b or (a is not None and b is not None and lasting(a) == lasting(b)):
                continue
            count += 1
            if len(first) < most:
                first.append(
                    f"line {number}: {(a or b'nothing')[:200]!r}, {(b or b'nothing')[:200]!r}"
                )
    return count, first


def statuses(results: Path) -> Counter[str]:
    """How many rows came out with which status.

    Raises:
        AssertionError: A row is missing, twice, or not in its place.
    """
    found: Counter[str] = Counter()
    with results.open("rb") as file:
        for number, line in enumerate(file, start=1):
            row = orjson.loads(line)
            assert row["line"] == number, f"row {row['line']} stands in line {number}"
            found[row["status"] or row["outcome"]] += 1
    return found


def at_the_kill(results: Path) -> tuple[int, int, int, int]:
    """What a kill left: whole lines, their bytes and checksum, and rows that wait in the journal.

    Raises:
        AssertionError: A row is in the journal twice.
    """
    rows = size = crc = 0
    with results.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                rows, size, crc = rows + 1, size + len(line), zlib.crc32(line, crc)
    ahead: set[int] = set()
    with journal_of(results).open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            entry = orjson.loads(line.partition(b" ")[2])
            if "row" in entry:
                assert entry["row"] not in ahead, f"row {entry['row']} is in the journal twice"
                ahead.add(entry["row"])
    return rows, size, crc, sum(row >= rows for row in ahead)


def begins_with(results: Path, size: int, crc: int) -> bool:
    """Whether the first bytes are those that were there at a kill."""
    found = 0
    with results.open("rb") as file:
        while size and (data := file.read(min(size, 1 << 20))):
            found = zlib.crc32(data, found)
            size -= len(data)
    return not size and found == crc
