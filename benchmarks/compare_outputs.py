"""Seconds that each comparator needs for 10 MB of a million-line output, on one core.

    python benchmarks/compare_outputs.py [--megabytes 10] [--rounds 3] [--comparators lines,tokens]
                                         [--plain] [--json FILE]

Five pairs of outputs: the same bytes; the same numbers, each written differently (floats that are
equal within the tolerance only: nothing can be skipped); the same tokens with other blanks; the
same but for the last token; and the same lines in another order. The verdicts are asserted. Then
the same at a quarter of the size: a ratio of about 4 is linear time (a quarter fits the processor's
caches, so it is more on small machines). The target is 0.5 s per 10 MB; the exit code is 1 where it
is missed. CPU seconds of the best round are shown. `--plain` does without orjson and numpy.

The first rows are for the machine's speed of the day. `sha256` reads each byte of both sides once;
`floats` splits both sides into tokens and reads each as a float, with nothing compared: a floor.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import platform
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from verifier import _fast
from verifier.judging import COMPARATORS, compare
from verifier.types import Comparator

TARGET_S = 0.5
UNIT_BYTES = 10_000_000
LINES_PER_10_MB = 1_000_000
Pair = tuple[bytes, bytes]


def numbers(count: int) -> list[str]:
    """Numbers of nine characters, below one: a line feed makes it ten bytes a line."""
    chosen = random.Random(1)  # noqa: S311 - the same numbers in every run
    return [f"{chosen.randrange(1_000_000, 9_999_999) / 1e7:.7f}" for _ in range(count)]


def nudged(number: str) -> str:
    """Another number, closer than the tolerance."""
    return number[:-1] + ("1" if number[-1] == "0" else chr(ord(number[-1]) - 1))


def joined(items: list[str], comparator: str, blank: str = "") -> bytes:
    """Lines; one JSON array for `json`."""
    if comparator == "json":
        return f"[{(',' + blank).join(items)}]".encode()
    return "".join(f"{item}{blank}\n" for item in items).encode()


def equal(items: list[str], comparator: str) -> Pair:
    """The same bytes, in two objects."""
    data = joined(items, comparator)
    return data, bytes(bytearray(data))


def almost(items: list[str], comparator: str) -> Pair:
    """No number is written as it is expected."""
    return joined([nudged(item) for item in items], comparator), joined(items, comparator)


def blanks(items: list[str], comparator: str) -> Pair:
    """A blank behind each number."""
    return joined(items, comparator, " "), joined(items, comparator)


def last(items: list[str], comparator: str) -> Pair:
    """The last number is another one."""
    return joined([*items[:-1], "0.0000001"], comparator), joined(items, comparator)


def shuffled(items: list[str], comparator: str) -> Pair:
    """The same lines in another order."""
    other = items.copy()
    random.Random(2).shuffle(other)  # noqa: S311 - the same order in every run
    return joined(other, comparator), joined(items, comparator)


PAIRS: dict[str, Callable[[list[str], str], Pair]] = {
    "equal": equal,
    "almost equal": almost,
    "other blanks": blanks,
    "last differs": last,
    "other order": shuffled,
}
# Who accepts what. `prime` has a relative tolerance of 1e-5 for lines that are numbers.
KATTIS = {name for name in COMPARATORS if name.startswith("kattis")}
TOLERANT = {"lines", "tokens", "float", "json", "case-insensitive", "prime"} | KATTIS
KEEPS_BLANKS = {"exact", "verl-sf"} | {name for name in KATTIS if name.endswith("space")}


def accepted(comparator: str, pair: str) -> bool:
    """The verdict that has to come out."""
    return {
        "equal": True,
        "almost equal": comparator in TOLERANT,
        "other blanks": comparator not in KEEPS_BLANKS,
        "last differs": False,
        "other order": comparator == "unordered-lines",
    }[pair]


def sha256(pair: Pair) -> None:
    """Read each byte once."""
    for side in pair:
        hashlib.sha256(side).digest()


def floats(pair: Pair) -> None:
    """Make a float of each token."""
    for side in pair:
        list(map(float, side.split()))


YARDSTICKS: dict[str, Callable[[Pair], None]] = {"sha256": sha256, "floats": floats}


def yardstick(name: str, pair: str, items: list[str], rounds: int) -> float:
    """CPU seconds per 10 MB that a plain loop takes, of the best round."""
    both = PAIRS[pair](items, "lines")
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        YARDSTICKS[name](both)
        best = min(best, time.process_time() - began)
    return best * UNIT_BYTES / len(both[0])


def measure(comparator: str, pair: str, items: list[str], rounds: int) -> float:
    """CPU seconds per 10 MB, of the best round."""
    output, expected = PAIRS[pair](items, comparator)
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        match = compare(output, expected, Comparator(comparator))
        best = min(best, time.process_time() - began)
        assert match.ok == accepted(comparator, pair), (comparator, pair, match.message)
    return best * UNIT_BYTES / len(output)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--megabytes", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--comparators", default=",".join(COMPARATORS))
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.plain:
        _fast.orjson = None
        _fast.LARGE_BYTES = sys.maxsize
    items = numbers(int(options.megabytes / 10 * LINES_PER_10_MB))
    quarter = items[: len(items) // 4]

    print(f"Python {platform.python_version()}, {len(items):,} lines; CPU seconds per 10 MB")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':18}" + "".join(f"{name:>14}" for name in PAIRS) + f"{'growth x4':>14}")
    found: dict[str, dict[str, float]] = {}
    for name in YARDSTICKS:
        found[name] = {pair: yardstick(name, pair, items, options.rounds) for pair in PAIRS}
        print(f"{name:18}" + "".join(f"{found[name][pair]:>13.3f} " for pair in PAIRS), flush=True)
    slow = []
    for comparator in options.comparators.split(","):
        row = {pair: measure(comparator, pair, items, options.rounds) for pair in PAIRS}
        slowest = max(row, key=lambda pair: row[pair])
        growth = 4 * row[slowest] / measure(comparator, slowest, quarter, options.rounds)
        found[comparator] = {**row, "growth": growth}
        cells = "".join(f"{row[pair]:>13.3f}{'*' if row[pair] > TARGET_S else ' '}" for pair in row)
        print(f"{comparator:18}{cells}{growth:>14.1f}", flush=True)
        if row[slowest] > TARGET_S:
            slow.append(comparator)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if slow:
        sys.exit(f"* over the target: {', '.join(slow)}")


if __name__ == "__main__":
    main()
