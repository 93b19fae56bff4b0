"""From what a scorer returned or raised to a record; shared by all managers of both interfaces.

A manager that declares `extra_keys` carries those entries of a scorer's dict as columns of its own
(GDPO's reward components are such). They are declared, so that every sample has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verifier.errors import ConfigError, RequestError, SuiteError, UnimplementedError
from verifier.scoring.record import (
    EXTRA_KEYS,
    ScoreRecord,
    as_number,
    broken_data,
    from_value,
    infra_fault,
)
from verifier.scoring.sample import Sample

_STRING_CHARS = 64


@dataclass(frozen=True, slots=True)
class DetailedRecord(ScoreRecord):
    """A record with columns that the manager declared.

    Attributes:
        extra: Their values.
    """

    extra: Mapping[str, Any] = field(default_factory=dict)


def check_extra_keys(keys: Sequence[str]) -> tuple[str, ...]:
    """The declared keys.

    Raises:
        ConfigError: One is a column already, or would corrupt verl's metrics.
    """
    if isinstance(keys, str):
        raise ConfigError(f"extra_keys={keys!r} is a string; give a list of keys")
    for key in keys:
        if key == "reward":
            raise ConfigError(
                "extra_keys has 'reward': that key corrupts verl's metrics; rename it"
            )
        if key in EXTRA_KEYS:
            raise ConfigError(f"extra_keys has {key!r}, which every sample has already")
    return tuple(keys)


def record_of_answer(
    sample: Sample, answer: object, scorer: str, keys: Sequence[str] = ()
) -> ScoreRecord:
    """The record of what a scorer returned.

    Raises:
        RequestError: A dict has no `score`, or misses a declared key; names the sample and the keys
            that it has.
    """
    where = f"samples[{sample.index}]"
    record = from_value(answer, scorer=scorer, where=where)
    if not record.request_id:
        record = record.with_request_id(sample.request_id)
    return with_extra(record, _extra(answer, record, where, keys)) if keys else record


def record_of_error(sample: Sample, error: BaseException, scorer: str) -> ScoreRecord:
    """The record of what a scorer raised.

    Raises:
        RequestError: The scorer says that a field is wrong; names the sample.
        ConfigError: A setting is wrong: no sample can be scored.
        UnimplementedError: The same.
    """
    if isinstance(error, SuiteError):
        where = f"samples[{sample.index}].ground_truth"
        return broken_data(f"{where}.{error}", scorer=scorer, request_id=sample.request_id)
    if isinstance(error, RequestError):
        raise type(error)(f"samples[{sample.index}].{error.field}", error.problem) from error
    if isinstance(error, (ConfigError, UnimplementedError)):
        raise error
    if not isinstance(error, (Exception, SystemExit)):
        raise error  # KeyboardInterrupt, cancellation
    return infra_fault(fault_text(error), scorer=scorer, request_id=sample.request_id)


def with_extra(record: ScoreRecord, extra: Mapping[str, Any]) -> DetailedRecord:
    """The record, with these columns beside those that it has."""
    values = {name: getattr(record, name) for name in ScoreRecord.__dataclass_fields__}
    return DetailedRecord(**values, extra={**extra_of(record), **extra})


def extra_of(record: ScoreRecord) -> Mapping[str, Any]:
    """The declared columns of a record."""
    return record.extra if isinstance(record, DetailedRecord) else {}


def scorer_name(scorer: object) -> str:
    """What the records call a scorer."""
    while not hasattr(scorer, "__name__") and hasattr(scorer, "func"):  # functools.partial
        named = getattr(scorer, "args", ())
        # verl binds a custom function's arguments by a partial of a helper that gets the function.
        helper = getattr(scorer.func, "__name__", "").startswith("_call_with_kwargs")
        scorer = named[0] if helper and named and callable(named[0]) else scorer.func
    return str(getattr(scorer, "__name__", type(scorer).__name__))


def fault_text(error: BaseException) -> str:
    """An exception as the text of a record."""
    return f"{type(error).__name__}: {error}"


def _extra(answer: object, record: ScoreRecord, where: str, keys: Sequence[str]) -> dict[str, Any]:
    given = answer if isinstance(answer, Mapping) else {}
    extra: dict[str, Any] = {}
    for key in keys:
        if key in given:
            number = as_number(given[key])
            extra[key] = str(given[key])[:_STRING_CHARS] if number is None else number
        elif record.valid:
            has = ", ".join(sorted(map(str, given))) or "none"
            raise RequestError(
                where, f"the scorer returned no {key!r}, which extra_keys declares; its keys: {has}"
            )
        else:
            extra[key] = 0.0
    return extra
