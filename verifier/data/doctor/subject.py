"""A row as the doctor sees it: everything is optional, and what is missing is a finding."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verifier.data.columns import Columns, parse_columns
from verifier.data.files import Record
from verifier.data.joined import completed
from verifier.data.rows import BadRow, Row, RowError, decode_row, row_of
from verifier.testcases import has_known_shape

__all__ = ["OWN_FIELDS", "Reader", "Reference", "Subject", "Unreadable"]

# What no other command reads, and where data sets have it; the first that is there.
OWN_FIELDS: dict[str, tuple[str, ...]] = {
    "prompt": ("prompt", "question", "problem", "description", "extra_info.question"),
    "reference": (
        "reference",
        "reference_solution",
        "canonical_solution",
        "gold_standard_solution",
        "golden_standard_solution",
        "solutions",
        "solution",
        "extra_info.reference",
        "extra_info.solution",
        "extra_info.solutions",
        "reward_model.solution",
    ),
    "finish_reason": ("finish_reason", "finish_reasons", "stop_reason", "extra_info.finish_reason"),
    "response_tokens": ("response_tokens", "completion_tokens", "response_length", "num_tokens"),
}
# Numbers of CodeContests' languages.
_CODECONTESTS = {1: "python", 2: "cpp", 3: "python", 4: "java"}
# More references than these say nothing new.
_MAX_REFERENCES = 3


@dataclass(frozen=True, slots=True)
class Reference:
    """A solution that the data set has of its own; `language` None: it is the row's."""

    source: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """One row.

    Attributes:
        index: Its place in the data set, from 0.
        id: Its id, or its file and line.
        named: It has an id of its own.
        data_source: Whatever stands there.
        truth: The ground truth, None where there is none.
        prompt: Its text; a chat is joined.
        responses: Any number.
        references: See `Reference`.
        finish: Why each response ended, as far as the data says.
        tokens: How many tokens each response has, as far as the data says.
        data: The object as a whole.
        record: Where it is from.
        sample: It is one of a problem's responses, joined with it: its problem is there again.
    """

    index: int
    id: str
    named: bool
    data_source: object
    truth: object
    prompt: str
    responses: tuple[str, ...]
    references: tuple[Reference, ...]
    finish: tuple[str, ...]
    tokens: tuple[int, ...]
    data: Mapping[str, Any]
    record: Record
    sample: bool = False

    @property
    def language(self) -> str | None:
        """The language that is wanted."""
        value = self.data.get("language")
        return value if isinstance(value, str) and value else None

    @property
    def problem(self) -> str:
        """What samples of one problem share: as the row says, else its id without their number."""
        said = self.data.get("problem_id")
        if said is not None:
            return str(said)
        head, _, sample = self.id.rpartition("/")
        return head if head and sample.isdigit() and self.responses else self.id

    def row(self, response: str, language: str | None) -> Row | BadRow:
        """The row with another response, to be run."""
        made = {
            "id": self.id,
            "data_source": str(self.data_source),
            "response": response,
            "ground_truth": self.truth,
            "language": language,
            "limits": self.data.get("limits"),
        }
        return row_of(made, self.record.line, self.record.file)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that is no object, or that could not be joined or adapted."""

    index: int
    id: str
    reason: str
    record: Record


class Reader:
    """Makes subjects of records.

    Args:
        named: FIELD=COLUMN, as the flags give it; `OWN_FIELDS` count too.
        data_source: Of rows that have none.
        joined: Rows are responses, joined with their problems.

    Raises:
        ConfigError: A column is not given as it has to be.
    """

    def __init__(
        self, named: Iterable[str] = (), data_source: str = "", *, joined: bool = False
    ) -> None:
        """See the class."""
        own = [item for item in named if item.partition("=")[0] in OWN_FIELDS]
        usual = parse_columns(item for item in named if item not in own)
        self._own = Columns({**{k: v for k, _, v in (item.partition("=") for item in own)}})
        self._columns = Columns(usual)
        self._named = {item.partition("=")[0] for item in own}
        self._data_source = data_source
        self._joined = joined

    def read(self, records: Iterable[Record | BadRow]) -> Iterator[Subject | Unreadable]:
        """One for each record, in order."""
        for index, record in enumerate(records):
            if isinstance(record, BadRow):
                where = Record(record.file, record.line)
                place = record.id or f"{Path(record.file).name}:{record.line}"
                yield Unreadable(index, place, record.reason, where)
                continue
            place = f"{Path(record.file).name}:{record.line}"
            try:
                data = decode_row(record.raw) if record.data is None else record.data
            except RowError as error:
                yield Unreadable(index, place, str(error), record)
                continue
            yield self._subject(index, place, data, record)

    def _subject(self, index: int, place: str, data: dict[str, Any], record: Record) -> Subject:
        name = self._columns.id_of(data)
        truth = self._columns.find("ground_truth", data)
        if truth is None and has_known_shape(data):
            truth = data
        source = self._columns.find("data_source", data)
        responses = self._columns.find("responses", data)
        if responses is None:
            responses = self._columns.find("response", data)
        texts = [text for text in _many(responses) if isinstance(text, str)]
        if self._joined:
            texts = [completed(text, truth) for text in texts]
        return Subject(
            index=index,
            id=name or place,
            named=bool(name),
            data_source=self._data_source if source is None else source,
            truth=truth,
            prompt=_prompt(self._find("prompt", data) or _of_object(truth, "prompt")),
            responses=tuple(texts),
            references=self._references(data, truth),
            finish=tuple(str(item) for item in _many(self._find("finish_reason", data))),
            tokens=tuple(
                item for item in _many(self._find("response_tokens", data)) if isinstance(item, int)
            ),
            data=data,
            record=record,
            sample=self._joined,
        )

    def _references(self, data: dict[str, Any], truth: object) -> tuple[Reference, ...]:
        found = self._find("reference", data)
        if found is None and isinstance(truth, Mapping):
            found = self._find("reference", dict(truth))
        kept = []
        for one in _references(found):
            source = one.source
            entry, head = _of_object(truth, "entry_point"), _of_object(truth, "prompt")
            # HumanEval's references are the bodies of what the prompt begins.
            if isinstance(entry, str) and isinstance(head, str) and f"def {entry}" not in source:
                source = head + source
            kept.append(Reference(source, one.language))
        return tuple(kept[:_MAX_REFERENCES])

    def _find(self, field: str, data: dict[str, Any]) -> object:
        if field in self._named:
            return self._own.find(field, data)
        for place in OWN_FIELDS[field]:
            found = Columns({"id": place}).find("id", data)
            if found is not None:
                return found
        return None


def _references(found: object) -> Iterator[Reference]:
    if isinstance(found, str):
        if found.lstrip()[:1] == "[":  # APPS: a list, as JSON text
            try:
                listed = json.loads(found)
            except (ValueError, RecursionError):
                listed = None
            if isinstance(listed, list):
                yield from _references(listed)
                return
        if found.strip():
            yield Reference(found)
    elif isinstance(found, list):
        for one in found:
            yield from _references(one)
    elif isinstance(found, Mapping):
        sources = found.get("source", found.get("code", found.get("solution")))
        languages = _many(found.get("language"))
        for number, source in enumerate(_many(sources)):
            language = languages[number] if number < len(languages) else None
            if isinstance(language, int):
                language = _CODECONTESTS.get(language)
            if isinstance(source, str) and source.strip():
                yield Reference(source, language if isinstance(language, str) else None)


def _many(value: object) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _of_object(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def _prompt(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(_prompt(_of_object(one, "content") or one) for one in value)
    if isinstance(value, Mapping):
        return _prompt(value.get("text") or value.get("content") or "")
    return value if isinstance(value, str) else ""
