"""The data set without its faulty rows, and beside it the reason for each row that is gone."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from verifier.data.doctor.finding import Finding
from verifier.data.files import Record, columns_of, records, shards
from verifier.errors import ConfigError, DataError

__all__ = ["reasons_file", "write_clean"]

_BATCH_ROWS = 500


def reasons_file(output: Path) -> Path:
    """Where the reasons go."""
    return output.with_name(output.name + ".dropped.jsonl")


def write_clean(
    source: Path, output: Path, dropped: Mapping[int, list[Finding]], limit: int | None = None
) -> int:
    """Write both files; how many rows were kept.

    Args:
        source: The data set; read again, record by record.
        output: JSON Lines (lines of the source as they are), or Parquet by its suffix.
        dropped: Index of a row -> why it is left out.
        limit: So many rows were looked at; no others are kept.

    Raises:
        ConfigError: `output` is the source, or is to be Parquet where the source is not.
        DataError: A file cannot be written.
    """
    if output.exists() and source.exists() and output.samefile(source):
        raise ConfigError(f"--clean {output}: it is the data set itself; name another file")
    try:
        with reasons_file(output).open("w", encoding="utf-8") as reasons:
            for index, found in sorted(dropped.items()):
                why = [{"name": f.name, "reason": f.reason} for f in found]
                line = {"id": found[0].row_id, "index": index, "reasons": why}
                reasons.write(json.dumps(line) + "\n")
        kept = (
            record
            for index, record in enumerate(records(source))
            if index not in dropped and (limit is None or index < limit)
        )
        if output.suffix == ".parquet":
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
    if columns_of(source) is None:
        raise ConfigError(f"--clean {output}: the data set is no Parquet; name a .jsonl")
    arrow = importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    schema = parquet.ParquetFile(shards(source)[0]).schema_arrow
    count = 0
    with parquet.ParquetWriter(output, schema) as writer:
        while batch := [record.data for record in islice(kept, _BATCH_ROWS)]:
            writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
            count += len(batch)
    return count
