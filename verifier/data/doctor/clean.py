"""The data set without its faulty rows, and beside it the reason for each row that is gone."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from verifier.data.doctor.finding import Finding
from verifier.data.files import Record, columns_of, shards
from verifier.data.rows import BadRow
from verifier.errors import ConfigError, DataError

__all__ = ["check_clean", "reasons_file", "write_clean"]

_BATCH_ROWS = 500


def reasons_file(output: Path) -> Path:
    """Where the reasons go."""
    return output.with_name(output.name + ".dropped.jsonl")


def check_clean(output: Path, source: Path | None) -> None:
    """Refuse, before anything is run, what could not be written.

    Raises:
        ConfigError: It is to be Parquet where the source is not; see `write_clean`.
        DataError: There is no such folder.
    """
    if output.suffix == ".parquet" and (source is None or columns_of(source) is None):
        raise ConfigError(f"--clean {output}: the rows are not of Parquet; name a .jsonl")
    if not output.parent.is_dir():
        raise DataError(f"cannot write {output}: there is no folder {output.parent}")


def write_clean(
    rows: Iterable[Record | BadRow],
    output: Path,
    dropped: Mapping[int, list[Finding]],
    source: Path | None = None,
) -> int:
    """Write both files; how many rows were kept.

    Args:
        rows: Those that were looked at, read again one by one.
        output: JSON Lines (lines as they are), or Parquet by its suffix.
        dropped: Index of a row -> why it is left out.
        source: Where the columns and their types are, for Parquet; None: rows are not as they
            stand in a file.

    Raises:
        ConfigError: `output` is to be Parquet where the source is not.
        DataError: A file cannot be written.
    """
    check_clean(output, source)
    try:
        with reasons_file(output).open("w", encoding="utf-8") as reasons:
            for index, found in sorted(dropped.items()):
                why = [{"name": f.name, "reason": f.reason} for f in found]
                line = {"id": found[0].row_id, "index": index, "reasons": why}
                reasons.write(json.dumps(line) + "\n")
        kept = (
            row
            for index, row in enumerate(rows)
            if index not in dropped and isinstance(row, Record)
        )
        if output.suffix == ".parquet" and source is not None:
            return _parquet(source, kept, output)
        count = 0
        with output.open("wb") as lines:
            for record in kept:
                lines.write(_line(record))
                count += 1
    except OSError as error:
        raise DataError(f"cannot write {output}: {error.strerror or error}") from None
    return count


def _line(record: Record) -> bytes:
    if record.data is None:
        return record.raw if record.raw.endswith(b"\n") else record.raw + b"\n"
    return json.dumps(record.data, default=str).encode() + b"\n"


def _parquet(source: Path, kept: Iterator[Record], output: Path) -> int:
    """With the columns, and their types, of the source."""
    arrow = importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    schema = parquet.ParquetFile(shards(source)[0]).schema_arrow
    count = 0
    with parquet.ParquetWriter(output, schema) as writer:
        while batch := [record.data for record in islice(kept, _BATCH_ROWS)]:
            writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
            count += len(batch)
    return count
