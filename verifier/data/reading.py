"""Result rows as `verifier score` wrote them, in lines or in columns: checked, one by one.

A last line that is broken is what a run leaves that was killed, or is not over. Any other line that
is no result is an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verifier.data.files import Record, records
from verifier.errors import DataError

__all__ = ["NESTED", "read_results"]

# As text of JSON in columns: their shape is not the same in every row.
NESTED = ("cases", "extraction", "compile", "timing")
# Field -> what it may be. What this module's readers use; all else is looked at leniently.
_FIELDS: dict[str, tuple[type, ...]] = {
    "id": (str, type(None)),
    "outcome": (str,),
    "score": (int, float, type(None)),
    "status": (str, type(None)),
    "passed": (int,),
    "total": (int,),
    "cases": (list,),
    "timing": (dict,),
    "error": (str,),
}
_CASE: dict[str, tuple[type, ...]] = {
    "index": (int,),
    "status": (str,),
    "cpu_time_s": (int, float),
    "memory_bytes": (int,),
    "stdout": (str,),
    "stderr": (str,),
    "message": (str,),
}


def read_results(results: Path, notes: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a results file, JSON Lines (plain, gzip, zstd) or Parquet.

    Memory does not grow with the file.

    Args:
        results: The file.
        notes: Gets a sentence for a broken last line, which is left out; None: it is an error.

    Raises:
        DataError: It is no results file, is damaged, or is one of another version; says where.
    """
    fault, line, rows = "", 0, 0
    try:
        for record in records(results):
            if fault:  # it was not the last line
                raise DataError(fault)
            line = record.line
            row = _decoded(record)
            if row is None:
                fault = f"{results}:{line}: not a result of `verifier score`"
            else:
                yield _checked(row, f"{results}:{line}")
                rows += 1
    except OSError as error:
        raise DataError(f"cannot read {results}: {error.strerror or error}") from None
    if fault and (notes is None or not rows):
        raise DataError(fault)
    if fault and notes is not None:
        notes.append(
            f"The last line of the results is not whole (line {line}): it is left out. The "
            "run was stopped, or still goes on."
        )


def _decoded(record: Record) -> Any:
    """None where it is not JSON."""
    try:
        if record.data is None:
            return json.loads(record.raw)
        texts = {name: record.data[name] for name in NESTED if name in record.data}
        unpacked = {k: json.loads(v) if isinstance(v, str) else v for k, v in texts.items()}
    except (ValueError, RecursionError):
        return None
    return {**record.data, **unpacked}


def _checked(row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, dict) or not {"id", "outcome", "score"} <= row.keys():
        raise DataError(f"{where}: not a result of `verifier score`")
    _expect(row, _FIELDS, where)
    _expect(row["timing"], {"cpu_time_s": (int, float)}, f"{where}: timing")
    for case in row["cases"]:
        _expect(case, _CASE, f"{where}: a case")
    return row


def _expect(found: Any, fields: dict[str, tuple[type, ...]], where: str) -> None:
    """Raise where a field is not there, is of another type, or is no finite number."""
    for name, kinds in fields.items():
        if not isinstance(found, dict) or name not in found:
            raise DataError(f"{where}: a result of another version: {name!r} is missing")
        value = found[name]
        if not isinstance(value, kinds) or (isinstance(value, float) and not math.isfinite(value)):
            raise DataError(f"{where}: a result of another version: {name!r} is {str(value)[:40]}")
