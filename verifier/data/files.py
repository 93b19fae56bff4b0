"""Where rows come from: files of several kinds, as one stream of objects.

JSON Lines (plain, gzip, zstd), Parquet and Arrow, a folder of such shards, and a folder that the
`datasets` library saved. A file's kind is told by its first bytes, not by its name. All are read
with memory that does not grow with the file: lines one by one, Parquet by row groups.

pyarrow and zstandard are in the extra `data`.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from verifier.errors import DataError

__all__ = ["Record", "columns_of", "count_records", "records", "shards"]

GZIP, ZSTD, PARQUET, ARROW = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"ARROW1"
# A stream of Arrow messages begins with a continuation marker.
ARROW_STREAM = b"\xff\xff\xff\xff"
_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson", ".parquet", ".arrow")
_BOM = b"\xef\xbb\xbf"
# Rows of a Parquet file are decoded so many bytes at a time, as far as its own figures tell.
_BATCH_BYTES = 16 * 1024 * 1024
_MAX_BATCH_ROWS = 1024
_PIECE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Record:
    """One object of a file, as it stands there.

    Attributes:
        file: Which file.
        line: Line (or row) number in it, from 1.
        raw: The bytes of a line, with its newline; b"" for a file of columns.
        data: The decoded object of a file of columns; None for a line, which is decoded later.
    """

    file: str
    line: int
    raw: bytes = b""
    data: dict[str, Any] | None = None


def records(path: str | Path) -> Iterator[Record]:
    """Everything in a file or a folder, in order; empty lines are skipped.

    Raises:
        DataError: It is damaged, or cannot be read; says where. What stood before was yielded.
        OSError: The file cannot be opened.
    """
    for file in shards(path):
        kind = _kind(file)
        if kind == PARQUET:
            yield from _parquet(file)
        elif kind in (ARROW, ARROW_STREAM):
            yield from _arrow(file, kind)
        else:
            yield from _lines(file, kind)


def shards(path: str | Path) -> list[Path]:
    """The files that make a data set, in order.

    Raises:
        DataError: A folder holds none.
    """
    path = Path(path)
    if not path.is_dir():
        return [path]
    state = path / "state.json"
    if state.is_file():  # `Dataset.save_to_disk`
        try:
            names = [entry["filename"] for entry in json.loads(state.read_bytes())["_data_files"]]
        except (ValueError, LookupError, TypeError) as error:
            raise DataError(f"{state}: not as the datasets library writes it ({error!r})") from None
        return [path / Path(name).name for name in names]
    if (path / "dataset_dict.json").is_file():
        splits = sorted(entry.name for entry in path.iterdir() if entry.is_dir())
        raise DataError(f"{path} holds several splits: name one, {path}/{'|'.join(splits)}")
    found = sorted(
        file for file in path.iterdir() if file.is_file() and file.name.endswith(_SUFFIXES)
    )
    if not found:
        raise DataError(f"{path} holds no file that ends with {', '.join(_SUFFIXES)}")
    return found


def count_records(path: str | Path) -> int | None:
    """How many there are, where that is cheap to say; None where it is not (compressed lines)."""
    total = 0
    for file in shards(path):
        kind = _kind(file)
        if kind == PARQUET:
            total += _open_parquet(file).metadata.num_rows
        elif kind == b"":
            with file.open("rb") as lines:
                total += sum(1 for line in lines if not line.isspace())
        else:
            return None
    return total


def columns_of(path: str | Path) -> tuple[str, ...] | None:
    """Names of the columns that every file has; None for lines, each of which has its own."""
    names: tuple[str, ...] | None = None
    for file in shards(path):
        if _kind(file) != PARQUET:
            return None
        here = tuple(_open_parquet(file).schema_arrow.names)
        names = here if names is None else tuple(name for name in names if name in here)
    return names


# ---------------------------------------------------------------- lines


def _lines(file: Path, kind: bytes) -> Iterator[Record]:
    number = 0
    try:
        with file.open("rb") as plain:
            for number, raw in enumerate(_unpacked(plain, kind), start=1):
                line = raw.removeprefix(_BOM) if number == 1 else raw
                if line and not line.isspace():
                    yield Record(str(file), number, line)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{file}: damaged after line {number}: {error}") from None


def _unpacked(plain: BinaryIO, kind: bytes) -> Iterable[bytes]:
    if kind == GZIP:
        return cast("Iterable[bytes]", gzip.open(plain, "rb"))
    if kind == ZSTD:
        return io.BufferedReader(cast("io.RawIOBase", _Pieces(_zstd(plain))), _PIECE_BYTES)
    return plain


def _zstd(plain: BinaryIO) -> Iterator[bytes]:
    zstandard = _needed("zstandard")
    unpack = None
    data = b""
    while True:
        data = data or plain.read(_PIECE_BYTES)
        if not data:
            break
        if unpack is None:
            unpack = zstandard.ZstdDecompressor().decompressobj()
        try:
            piece = unpack.decompress(data)
        except zstandard.ZstdError as error:
            raise EOFError(str(error)) from None
        data = b""
        if unpack.eof:
            data, unpack = unpack.unused_data, None
        if piece:
            yield piece
    if unpack is not None:
        raise EOFError("the compressed file ends before its end")


class _Pieces(io.RawIOBase):
    """A readable file over an iterator of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = memoryview(next(self._pieces, b""))
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


# ---------------------------------------------------------------- columns


def _parquet(file: Path) -> Iterator[Record]:
    opened = _open_parquet(file)
    number = 0
    meta = opened.metadata
    size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    each = size // max(meta.num_rows, 1) + 1
    rows = max(1, min(_BATCH_BYTES // each, _MAX_BATCH_ROWS))
    try:
        for batch in opened.iter_batches(batch_size=rows):
            for data in batch.to_pylist():
                number += 1
                yield Record(str(file), number, data=data)
    except OSError as error:  # pyarrow's own errors are ValueErrors and OSErrors
        raise DataError(f"{file}: damaged after row {number}: {error}") from None


def _open_parquet(file: Path) -> Any:
    parquet, arrow = _needed("pyarrow.parquet"), _needed("pyarrow")
    try:
        return parquet.ParquetFile(file)
    except (arrow.ArrowException, OSError) as error:
        raise DataError(f"{file}: not a whole Parquet file: {error}") from None


def _arrow(file: Path, kind: bytes) -> Iterator[Record]:
    arrow = _needed("pyarrow")
    number = 0
    try:
        with arrow.memory_map(str(file)) as source:
            if kind == ARROW:
                whole = arrow.ipc.open_file(source)
                batches = (whole.get_batch(i) for i in range(whole.num_record_batches))
            else:
                batches = iter(arrow.ipc.open_stream(source))
            for batch in batches:
                for at in range(0, batch.num_rows, _MAX_BATCH_ROWS):
                    for data in batch.slice(at, _MAX_BATCH_ROWS).to_pylist():
                        number += 1
                        yield Record(str(file), number, data=data)
    except (arrow.ArrowException, OSError) as error:
        raise DataError(f"{file}: damaged after row {number}: {error}") from None


def _kind(file: Path) -> bytes:
    with file.open("rb") as opened:
        start = opened.read(8)
    kinds = (GZIP, ZSTD, PARQUET, ARROW, ARROW_STREAM)
    return next((kind for kind in kinds if start.startswith(kind)), b"")


def _needed(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        package = name.split(".", maxsplit=1)[0]
        raise DataError(
            f"{package} is not installed: pip install 'sandbox-verifier[data]'"
        ) from None
