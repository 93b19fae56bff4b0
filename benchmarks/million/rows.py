"""The rows: each its own program, made one by one, with what has to come of them.

Every program prints the line it reads, which is also what the fake sandbox answers: the verdicts
are the same on any backend.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FORMATS = ("jsonl.zst", "jsonl.gz", "jsonl", "parquet")
_GROUP_ROWS = 2000
_TALK = "We are given one line and have to write it again. It is read whole, and printed."


def row(number: int, cases: int) -> tuple[dict[str, Any], str]:
    """A row, and the status (or outcome, where there is no score) that has to come of it.

    Of a hundred: 74 right, 15 wrong in one case, 4 without a program, one whose program is wrong in
    all cases, 4 that are right but wrap their block in reasoning, one without a response, one whose
    suite has no cases.
    """
    place = number % 100
    inputs = [f"{number} {case}\n" for case in range(cases)]
    outputs = list(inputs)
    response = f"{_TALK}\n\n```python\n# {number}\nprint(input())\n```\n"
    wanted = "ACCEPTED"
    if place < 15:
        outputs[-1], wanted = "something else\n", "WRONG_ANSWER"
    elif place < 19:
        response, wanted = f"I do not know how to do number {number}.", "NO_CODE"
    elif place == 19:
        outputs, wanted = ["something else\n"] * cases, "WRONG_ANSWER"
    elif place < 24:
        response = f"<think>\nEasy: ```python\npass\n```\n</think>\n{response}"
    elif place == 98:
        response, wanted = "", "INVALID_SUITE"
    elif place == 99:
        inputs, outputs, wanted = [], [], "INVALID_SUITE"
    made: dict[str, Any] = {
        "id": f"p{number // 4}/{number % 4}",
        "data_source": f"synthetic-{number % 3}",
        "response": response,
        "ground_truth": json.dumps({"inputs": inputs, "outputs": outputs}),
    }
    if place == 98:
        made["response"] = None
    return made, wanted


def write(path: Path, count: int, cases: int) -> Counter[str]:
    """So many rows of so many cases into a file, whose suffix says how; one after the other.

    Returns:
        How many rows have to come out with which status.
    """
    wanted: Counter[str] = Counter()

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(count):
            made, status = row(number, cases)
            wanted[status] += 1
            yield made

    if path.suffix == ".parquet":
        _parquet(path, rows())
        return wanted
    with contextlib.ExitStack() as opened:
        if path.suffix == ".gz":
            file: Any = opened.enter_context(gzip.open(path, "wb", compresslevel=1))
        elif path.suffix == ".zst":
            import zstandard

            plain = opened.enter_context(path.open("wb"))
            packed = opened.enter_context(zstandard.ZstdCompressor().stream_writer(plain))
            file = opened.enter_context(io.BufferedWriter(packed))
        else:
            file = opened.enter_context(path.open("wb"))
        for made in rows():
            file.write(json.dumps(made).encode() + b"\n")
    return wanted


def _parquet(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema(
        [(name, pa.string()) for name in ("id", "data_source", "response", "ground_truth")]
    )
    with parquet.ParquetWriter(path, schema) as writer:
        while batch := list(itertools.islice(rows, _GROUP_ROWS)):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
