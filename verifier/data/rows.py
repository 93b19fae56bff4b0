"""Reading rows. Nothing in a file raises: what cannot be a row is a `BadRow` with the reason.

A row is one JSON object a line:

    {"id": "p1/0", "data_source": "codecontests", "response": "...", "ground_truth": {...},
     "language": "python", "limits": {"cpu_time_s": 2, "memory_mb": 256}, "extra_info": {...}}

`id`, `data_source`, `response` and `ground_truth` are required. The ground truth is not looked into
here: whether it can be used is the business of `verifier.testcases`. Model responses hold any text,
also lone surrogates (half of an emoji that the tokenizer cut): JSON escapes carry them, so they
survive reading and writing.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from verifier.types import LimitOverrides

_BOM = b"\xef\xbb\xbf"
_MEBIBYTE = 1024 * 1024
_REQUIRED = ("id", "data_source", "response", "ground_truth")

# Limit as a row names it -> (field of LimitOverrides, factor).
_LIMITS: dict[str, tuple[str, int]] = {
    "cpu_time_s": ("cpu_time_s", 1),
    "wall_time_s": ("wall_time_s", 1),
    "memory_mb": ("memory_bytes", _MEBIBYTE),
    "output_bytes": ("output_bytes", 1),
    "processes": ("processes", 1),
    "file_mb": ("file_bytes", _MEBIBYTE),
    "open_files": ("open_files", 1),
}
_SECONDS = frozenset({"cpu_time_s", "wall_time_s"})


@dataclass(frozen=True, slots=True)
class Row:
    """One response with what is needed to score it.

    Attributes:
        line: Line number in the file, from 1.
        id: As the file has it (a number becomes its text).
        data_source: Names the data set.
        response: The model's text; may hold lone surrogates.
        ground_truth: As the file has it: a string of JSON, an object or a list.
        language: Wanted language, or None to take it from the response.
        limits: What the row states; all else is the server's default.
        extra_info: Whatever else the data set carries.
        file: Which file it is from.
        problem: What its samples have in common: all rows of a problem count for its pass@k.
    """

    line: int
    id: str
    data_source: str
    response: str
    ground_truth: Any
    language: str | None = None
    limits: LimitOverrides = LimitOverrides()
    extra_info: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line that cannot be scored.

    Attributes:
        line: Line number in the file, from 1.
        reason: Names the field, for a person.
        id: The row's id where at least that could be read.
        file: Which file it is from.
    """

    line: int
    reason: str
    id: str | None = None
    file: str = ""


class RowError(Exception):
    """A field is wrong; the message names it. Never leaves this package."""


def read_rows(path: str | PathLike[str]) -> Iterator[Row | BadRow]:
    """Read a JSON Lines file, one row at a time. Empty lines are skipped.

    Raises:
        OSError: The file cannot be read.
    """
    with Path(path).open("rb") as file:
        for number, raw in enumerate(file, start=1):
            line = raw.removeprefix(_BOM) if number == 1 else raw
            if line.strip():
                yield parse_row(line, number)


def parse_row(raw: bytes, line: int) -> Row | BadRow:
    """One line of a file as a row, or the reason why it is none."""
    try:
        data = decode_row(raw)
    except RowError as error:
        return BadRow(line, str(error))
    return row_of(data, line)


def row_of(data: dict[str, Any], line: int, file: str = "") -> Row | BadRow:
    """An object with the fields of a row as a row, or the reason why it is none."""
    row_id: str | None = None
    try:
        row_id = _identifier(data)
        return _row(data, row_id, line, file)
    except RowError as error:
        return BadRow(line, str(error), row_id, file)


def decode_row(raw: bytes) -> dict[str, Any]:
    """The object in a line.

    Raises:
        RowError: It is none.
    """
    try:
        data = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RowError(f"not UTF-8: byte {error.start + 1} of the line") from None
    except json.JSONDecodeError as error:
        raise RowError(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise RowError("not JSON: nested too deeply") from None
    except ValueError as error:  # an integer with more digits than Python converts
        raise RowError(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise RowError(f"a row is a JSON object, this is {_kind(data)}")
    return data


def _row(data: dict[str, Any], row_id: str, line: int, file: str) -> Row:
    missing = [name for name in _REQUIRED if name not in data]
    if missing:
        raise RowError(_missing(missing, data))
    if data["ground_truth"] is None:
        raise RowError("ground_truth: null")
    extra_info = data.get("extra_info")
    if extra_info is not None and not isinstance(extra_info, dict):
        raise RowError(f"extra_info: must be an object, not {_kind(extra_info)}")
    return Row(
        line=line,
        id=row_id,
        data_source=_text(data, "data_source"),
        response=_text(data, "response"),
        ground_truth=data["ground_truth"],
        language=None if data.get("language") is None else _text(data, "language"),
        limits=_limits(data.get("limits")),
        extra_info=extra_info or {},
        file=file,
        problem=_problem(data, row_id),
    )


def _problem(data: dict[str, Any], row_id: str) -> str:
    """As the row says, else its id without the number of a sample ("p1/0")."""
    said = data.get("problem_id")
    if said is not None:
        return said if isinstance(said, str) else json.dumps(said, default=str)
    head, _, sample = row_id.rpartition("/")
    return head if head and sample.isdigit() else row_id


def _missing(missing: list[str], data: dict[str, Any]) -> str:
    first = missing[0]
    near = difflib.get_close_matches(first, data, n=1)
    hint = f"; did you mean the row's {near[0]!r}?" if near and near[0] not in _REQUIRED else ""
    return f"{first}: missing{hint}"


def _identifier(data: dict[str, Any]) -> str:
    value = data.get("id")
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if "id" not in data:
        raise RowError(_missing(["id"], data))
    raise RowError(f"id: must be a string or an integer, not {_kind(value)}")


def _text(data: dict[str, Any], name: str) -> str:
    value = data[name]
    if not isinstance(value, str):
        raise RowError(f"{name}: must be a string, not {_kind(value)}")
    return value


def _limits(value: object) -> LimitOverrides:
    if value is None:
        return LimitOverrides()
    if not isinstance(value, dict):
        raise RowError(f"limits: must be an object, not {_kind(value)}")
    given: dict[str, Any] = {}
    for name, number in value.items():
        if name not in _LIMITS:
            near = difflib.get_close_matches(name, _LIMITS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(_LIMITS)}"
            raise RowError(f"limits.{name}: unknown; {hint}")
        if number is not None:
            target, factor = _LIMITS[name]
            given[target] = _limit(name, number, factor)
    return LimitOverrides(**given)


def _limit(name: str, value: object, factor: int) -> float | int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RowError(f"limits.{name}: must be a number, not {_kind(value)}")
    if (isinstance(value, float) and not math.isfinite(value)) or value <= 0:
        raise RowError(f"limits.{name}: must be positive and finite, not {value}")
    try:
        if name in _SECONDS:
            return float(value)
        scaled = int(value * factor)
    except OverflowError:
        raise RowError(f"limits.{name}: too large") from None
    if scaled < 1 or (factor == 1 and scaled != value):
        raise RowError(f"limits.{name}: must be a whole number of at least 1, not {value}")
    return scaled


def _kind(value: object) -> str:
    """The JSON name of a value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    names: dict[type, str] = {str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)
