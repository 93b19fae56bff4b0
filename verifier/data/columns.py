"""Which column is which: from an object as a data set has it to rows.

What is named by the caller is taken as named ("reward_model.ground_truth" is a path). All else is
looked for under the names that data sets use. Where there is no ground truth of its own, but the
object as a whole has the shape of a known format (`verifier.testcases`), it is the ground truth. A
list of responses is as many rows, samples of one problem.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verifier._loading import load_object
from verifier.data.files import Record
from verifier.data.rows import BadRow, Row, RowError, decode_row, row_of
from verifier.errors import ConfigError, DataError
from verifier.testcases import has_known_shape

__all__ = ["FIELDS", "Columns", "load_adapter", "parse_columns"]

# Field of a row -> where data sets have it, the first that is there.
FIELDS: dict[str, tuple[str, ...]] = {
    "id": ("id", "task_id", "question_id", "problem_id", "uid", "extra_info.index"),
    "response": ("response", "completion", "output", "generation", "model_output", "prediction"),
    "responses": ("responses", "completions", "outputs", "generations", "samples"),
    "ground_truth": ("ground_truth", "reward_model.ground_truth"),
    "data_source": ("data_source", "source", "dataset"),
    "language": ("language", "lang"),
    "limits": ("limits",),
    "extra_info": ("extra_info",),
    "problem_id": ("problem_id", "task_id", "question_id"),
}
# Not for a line of ours: there, "output" or "source" may be anything.
_OURS = ("id", "response", "ground_truth", "data_source")
Adapter = Callable[[dict[str, Any]], Any]


def parse_columns(given: Iterable[str]) -> dict[str, str]:
    """FIELD=COLUMN, as flags give it.

    Raises:
        ConfigError: Not of that form, or there is no such field.
    """
    named = {}
    for item in given:
        field, equals, column = item.partition("=")
        if not equals or not column or field not in FIELDS:
            raise ConfigError(
                f"column {item!r}: must be FIELD=COLUMN, with FIELD one of {', '.join(FIELDS)}"
            )
        named[field] = column
    return named


def load_adapter(path: str) -> Adapter:
    """A function by "pkg.module:function": an object in; an object, a list of them, or None out.

    Raises:
        ConfigError: There is no such thing.
    """
    module, colon, name = path.rpartition(":")
    if not colon or not module:
        raise ConfigError(f"adapter {path!r}: must be pkg.module:function, or FILE.py:function")
    found: Adapter = load_object(module if module.endswith(".py") else f"pkg://{module}", name)
    return found


class Columns:
    """Makes rows of records.

    Args:
        named: Field -> column; the rest is looked for.
        adapter: Applied to each object first.
        data_source: Of rows that have none.
    """

    def __init__(
        self,
        named: Mapping[str, str] | None = None,
        adapter: Adapter | None = None,
        data_source: str = "",
    ) -> None:
        """See the class."""
        self._named = dict(named or {})
        self._adapter = adapter
        self._data_source = data_source

    def check(self, names: tuple[str, ...] | None) -> None:
        """Refuse a file whose columns cannot make rows, before any is read.

        Raises:
            DataError: Says what is missing, and what there is.
        """
        if names is None or self._adapter is not None:
            return
        for field, column in self._named.items():
            if column.split(".")[0] not in names:
                raise DataError(f"{field}={column}: there is no such column: {_listed(names)}")
        if not any(
            column.split(".")[0] in names
            for field in ("response", "responses")
            for column in self._places(field)
        ):
            raise DataError(
                f"no column of responses: name one with --column response=NAME; {_listed(names)}"
            )

    def rows(self, record: Record) -> Iterator[Row | BadRow]:
        """The rows of one record, usually one."""
        try:
            for one in self._adapted(record):
                yield from self._rows(one, record)
        except RowError as error:
            yield BadRow(record.line, str(error), None, record.file)

    def adapted(self, record: Record) -> Iterator[Record | BadRow]:
        """The objects of one record: itself, or what the adapter makes of it."""
        if self._adapter is None:
            yield record
            return
        try:
            for one in self._adapted(record):
                yield Record(record.file, record.line, data=one)
        except RowError as error:
            yield BadRow(record.line, str(error), None, record.file)

    def id_of(self, data: dict[str, Any]) -> str:
        """The id of an object; "" where it has none."""
        value = self.find("id", data)
        return value if isinstance(value, str) else "" if value is None else str(value)

    def _adapted(self, record: Record) -> list[dict[str, Any]]:
        data = decode_row(record.raw) if record.data is None else record.data
        if self._adapter is None:
            return [data]
        try:
            made = self._adapter(data)
        except Exception as error:  # noqa: BLE001 - whatever a user's function raises is about this row
            raise RowError(f"adapter: {type(error).__name__}: {error}") from None
        found = [] if made is None else made if isinstance(made, list) else [made]
        if not all(isinstance(one, dict) for one in found):
            raise RowError("adapter: must give an object, a list of objects, or None")
        return found

    def _rows(self, data: dict[str, Any], record: Record) -> Iterator[Row | BadRow]:
        if not self._named and all(field in data for field in _OURS):
            yield row_of(data, record.line, record.file)
            return
        made = {field: value for field in FIELDS if (value := self.find(field, data)) is not None}
        responses = made.pop("responses", None)
        if "ground_truth" not in made and has_known_shape(data):
            places = (*self._places("response"), *self._places("responses"))
            used = next((at for at in places if _at(data, at) is not None), "")
            made["ground_truth"] = {k: v for k, v in data.items() if k != used.split(".")[0]}
        made.setdefault("data_source", self._data_source)
        if "id" not in made and "reward_model" in data:
            made["id"] = _numbered(record)  # verl's training files need none
        made = {**data, **made}
        if responses is None or "response" in made:
            yield row_of(made, record.line, record.file)
            return
        if not isinstance(responses, list) or not responses:
            raise RowError("responses: must be a list, and not an empty one")
        made.setdefault("id", _numbered(record))
        problem = made.get("problem_id", made["id"])
        for number, response in enumerate(responses):
            sample = {**made, "id": f"{made['id']}/{number}", "response": response}
            yield row_of({**sample, "problem_id": problem}, record.line, record.file)

    def _places(self, field: str) -> tuple[str, ...]:
        if field in self._named:
            return (self._named[field],)
        return FIELDS[field]

    def find(self, field: str, data: dict[str, Any]) -> object:
        """What an object has for a field of a row; None where it has nothing."""
        for place in self._places(field):
            value = _at(data, place)
            # Beside "inputs" they are what is expected.
            if value is not None and not (place == "outputs" and "inputs" in data):
                return value
        return None


def _at(data: object, path: str) -> object:
    """What is at a path; objects on the way may be JSON text."""
    if isinstance(data, dict) and path in data:
        return data[path]
    for part in path.split("."):
        if isinstance(data, str):
            try:
                data = json.loads(data)
            except (ValueError, RecursionError):
                return None
        if not isinstance(data, dict) or part not in data:
            return None
        data = data[part]
    return data


def _numbered(record: Record) -> str:
    """An id for what has none, of the record's place."""
    return f"{Path(record.file).name}:{record.line}"


def _listed(names: tuple[str, ...]) -> str:
    return f"the columns are {', '.join(names[:30])}"
