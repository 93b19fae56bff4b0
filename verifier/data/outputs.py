"""Results in other forms, made of the lines when a run is over: Parquet, JUnit."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from verifier.data.reading import NESTED, read_results
from verifier.errors import DataError

__all__ = ["to_parquet", "write_junit"]

_BATCH_ROWS = 2000
_TEXTS = ("id", "file", "problem", "data_source", "difficulty", "outcome", "status", "error")
_TEXTS_AFTER = ("trust", "scorer", "runner", "fallback")
_WHOLE = ("line", "passed", "total")
_FLAGS = ("cached", "flaky")
# What XML 1.0 has no way to say.
_NO_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535), "�")


def to_parquet(lines: Path, output: Path) -> None:
    """The same rows as columns; `cases`, `extraction`, `compile`, `timing` are JSON text.

    Raises:
        DataError: pyarrow is not installed, or the file cannot be written.
    """
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise DataError(
            f"pyarrow is not installed, so that the results stay in {lines}: "
            "pip install 'sandbox-verifier[data]', then --resume"
        ) from None
    schema = arrow.schema(
        [
            *((name, arrow.string()) for name in (*_TEXTS, *_TEXTS_AFTER, *NESTED)),
            *((name, arrow.int64()) for name in _WHOLE),
            *((name, arrow.bool_()) for name in _FLAGS),
            ("score", arrow.float64()),
        ]
    )
    unfinished = output.with_name(output.name + ".unfinished")
    try:
        with parquet.ParquetWriter(unfinished, schema) as writer:
            for batch in _batches(lines):
                writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
        unfinished.replace(output)
    except OSError as error:
        raise DataError(f"cannot write {output}: {error.strerror or error}") from None


def _batches(lines: Path) -> Iterator[list[dict[str, Any]]]:
    batch = []
    for row in read_results(lines):
        batch.append({**row, **{name: json.dumps(row[name]) for name in NESTED}})
        batch[-1] = {key: _plain(value) for key, value in batch[-1].items()}
        if len(batch) == _BATCH_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _plain(value: object) -> object:
    """Half of a surrogate pair has no place in a column of text."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def write_junit(lines: Path, output: Path) -> None:
    """A JUnit report: a row is a test; one that scores below 1 failed, one without a score erred.

    Raises:
        DataError: It cannot be written.
    """
    counts = {"tests": 0, "failures": 0, "errors": 0}
    for row in read_results(lines):
        counts["tests"] += 1
        counts["errors"] += row["score"] is None
        counts["failures"] += row["score"] is not None and row["score"] < 1
    try:
        with output.open("w", encoding="utf-8") as file:
            file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
            said = " ".join(f'{name}="{count}"' for name, count in counts.items())
            file.write(f'<testsuite name="verifier score" {said}>\n')
            for row in read_results(lines):
                file.write(_testcase(row))
            file.write("</testsuite>\n")
    except OSError as error:
        raise DataError(f"cannot write {output}: {error.strerror or error}") from None


def _testcase(row: dict[str, Any]) -> str:
    seconds = row["timing"]["total_s"]
    name, source = _xml(row["id"] or f"line {row['line']}"), _xml(row["data_source"] or "")
    head = f'  <testcase classname={quoteattr(source)} name={quoteattr(name)} time="{seconds}"'
    if row["score"] is None:
        inside = (
            f"<error message={quoteattr(_xml(row['outcome']))}>{escape(_xml(row['error']))}</error>"
        )
    elif row["score"] < 1:
        said = f"{row['status']}: {row['passed']} of {row['total']} passed"
        inside = f"<failure message={quoteattr(said)}>{escape(_xml(_first_failure(row)))}</failure>"
    else:
        return f"{head}/>\n"
    return f"{head}>{inside}</testcase>\n"


def _first_failure(row: dict[str, Any]) -> str:
    for case in row["cases"]:
        if case["status"] != "ACCEPTED":
            return f"case {case['index']}: {case['status']}: {case['message']}"
    return ""


def _xml(text: str) -> str:
    return text.encode("utf-8", "replace").decode().translate(_NO_XML)
