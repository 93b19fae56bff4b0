"""Result rows for the report: checked, and a file that is still written is read as far as it goes.

A last line that is broken is what a run leaves that was killed, or is not over: it is left out, and
the page says so. Any other line that is no result is an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verifier.errors import DataError

__all__ = ["read_rows"]

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


def read_rows(results: Path, notes: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of a results file in JSON Lines.

    Args:
        results: The file.
        notes: A sentence is added for what was left out.

    Raises:
        DataError: It is empty, is no results file, or is one of another version; says where.
    """
    number, fault = 0, ""
    try:
        with results.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if fault:  # it was not the last line
                    raise DataError(fault)
                if number == 1 and line.startswith(b"PAR1"):
                    lines = results.with_suffix(".parquet.jsonl").name
                    raise DataError(f"{results} is Parquet; its lines are in {lines}: name that")
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    fault = f"{results}:{number}: not a result of `verifier score`"
                    continue
                yield _checked(row, f"{results}:{number}")
    except OSError as error:
        raise DataError(f"cannot read {results}: {error.strerror or error}") from None
    if number == 0:
        raise DataError(f"{results} is empty: there is nothing to report")
    if fault and number == 1:
        raise DataError(fault)
    if fault:
        notes.append(
            f"The last line of the results is not whole (line {number}): it is left out. The run "
            "was stopped, or still goes on."
        )


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
