"""Data sets in, results out. A bad row is reported and never stops the rest."""

from __future__ import annotations

from verifier.data.columns import FIELDS, Columns, load_adapter, parse_columns
from verifier.data.files import Record, columns_of, count_records, records, shards
from verifier.data.journal import Journal
from verifier.data.passing import PassAtK, pass_at_k, pass_chance
from verifier.data.results import bad_row_to_dict, result_of, result_to_dict, to_line
from verifier.data.rows import BadRow, Row, parse_row, read_rows
from verifier.data.select import Selection, parse_shard
from verifier.data.workers import RowScorer

__all__ = [
    "FIELDS",
    "BadRow",
    "Columns",
    "Journal",
    "PassAtK",
    "Record",
    "Row",
    "RowScorer",
    "Selection",
    "bad_row_to_dict",
    "columns_of",
    "count_records",
    "load_adapter",
    "parse_columns",
    "parse_row",
    "parse_shard",
    "pass_at_k",
    "pass_chance",
    "read_rows",
    "records",
    "result_of",
    "result_to_dict",
    "shards",
    "to_line",
]
