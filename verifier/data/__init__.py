"""Data sets in, results out: JSON Lines. A bad row is reported and never stops the rest."""

from __future__ import annotations

from verifier.data.results import bad_row_to_dict, result_to_dict, to_line
from verifier.data.rows import BadRow, Row, parse_row, read_rows

__all__ = [
    "BadRow",
    "Row",
    "bad_row_to_dict",
    "parse_row",
    "read_rows",
    "result_to_dict",
    "to_line",
]
