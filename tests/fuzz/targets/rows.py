"""A line of a data file."""

from __future__ import annotations

import json

from tests.fuzz.common import broken
from verifier.data.results import bad_row_to_dict, to_line
from verifier.data.rows import BadRow, parse_row

WORDS = (
    b'"id" "data_source" "response" "ground_truth" "language" "limits" "extra_info" "cpu_time_s"'
    b' "memory_mb" "output_bytes" [ ] { } , : null true -1 1e999 "x" \\ud800'
).split()


def target(data: bytes) -> None:
    row = parse_row(data, 1)
    if isinstance(row, BadRow):
        assert 0 < len(row.reason) < 1000
        json.loads(to_line(bad_row_to_dict(row)))


def seeds() -> list[bytes]:
    row = {
        "id": 1,
        "data_source": "x",
        "response": "\ud83d",
        "ground_truth": {"inputs": ["1"], "outputs": ["1"]},
        "language": "python",
        "limits": {"cpu_time_s": 2, "memory_mb": 256.5, "output_bytes": 1e3},
        "extra_info": {},
    }
    items = [row, *broken(row), [], "x"]
    return [*(json.dumps(item).encode() for item in items), b"\xff", b"{"]
