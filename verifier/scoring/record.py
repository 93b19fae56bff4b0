"""One sample's score in the one shape that reaches the logs, whatever the scorer returned.

verl stacks the extra info of a batch column by column over the first sample's keys. A column that
is missing for one sample raises there, a `None` in a numeric column turns it into an object array,
and one long string pads all rows of its fixed-width array. So every sample has exactly
`EXTRA_KEYS`: numbers, then four short strings. What does not fit there is fetched by `request_id`.

Two columns keep the three outcomes apart: `valid` is 0 where nothing could be scored, and
`infra_error` says that it was the machinery's fault (else the data's). `acc` is 1 for a program
that passes every case, while `score` is the pass rate: verl's validation metrics read `acc`, and a
solve rate is what is reported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from verifier.errors import RequestError
from verifier.types import Outcome, Result, Status

NUMBER_KEYS = (
    "score",
    "acc",
    "passed",
    "total",
    "valid",
    "infra_error",
    "fallback",
    "cpu_time_ms",
    "wall_time_ms",
    "queue_ms",
    "latency_ms",
)
STRING_KEYS = ("status", "outcome", "scorer", "request_id")
EXTRA_KEYS = NUMBER_KEYS + STRING_KEYS
"""The keys of `reward_extra_info`, in order. Never `reward`: that key corrupts verl's validation
metrics."""

_INT_KEYS = frozenset({"passed", "total", "valid", "infra_error", "fallback"})
_STRING_CHARS = 64


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """What one sample is worth, with the columns that are logged.

    Attributes:
        score: What is written on the token; 0.0 where `valid` is 0 (then it must not be learned
            from).
        acc: 1.0 for a fully accepted program, or what the scorer says.
        passed: Accepted cases.
        total: Cases.
        valid: 1 when `score` is a score.
        infra_error: 1 when the machinery, not the data, is why there is none.
        fallback: 1 when the local fallback scored it.
        cpu_time_ms: CPU of all its cases.
        wall_time_ms: Wall-clock time of all its cases.
        queue_ms: Time it waited for a slot.
        latency_ms: Time until the scorer answered.
        status: The verdict's name, "" where there is none.
        outcome: The outcome's name.
        scorer: Who scored it.
        request_id: By which the rest can be fetched.
        error: For a person; not a column.
    """

    score: float = 0.0
    acc: float = 0.0
    passed: int = 0
    total: int = 0
    valid: int = 1
    infra_error: int = 0
    fallback: int = 0
    cpu_time_ms: float = 0.0
    wall_time_ms: float = 0.0
    queue_ms: float = 0.0
    latency_ms: float = 0.0
    status: str = ""
    outcome: str = Outcome.SCORED.value
    scorer: str = ""
    request_id: str = ""
    error: str = ""

    def extra_info(self) -> dict[str, Any]:
        """The columns of this sample: exactly `EXTRA_KEYS`."""
        return {key: getattr(self, key) for key in EXTRA_KEYS}

    def with_request_id(self, request_id: str) -> ScoreRecord:
        """The same, under the sample's id."""
        return replace(self, request_id=_short(request_id))

    def with_error(self, error: str) -> ScoreRecord:
        """The same, with another message."""
        return replace(self, error=error)

    def as_fallback(self) -> ScoreRecord:
        """The same, marked as what the fallback gave."""
        return replace(self, fallback=1)


def from_result(result: Result) -> ScoreRecord:
    """The record of a sandbox's answer."""
    timing = result.timing
    scored = result.outcome is Outcome.SCORED and result.score is not None
    return ScoreRecord(
        score=float(result.score) if scored and result.score is not None else 0.0,
        acc=float(scored and result.status is Status.ACCEPTED),
        passed=result.passed,
        total=result.total,
        valid=int(scored),
        infra_error=int(result.outcome is Outcome.INFRA_ERROR),
        fallback=int(bool(result.fallback)),
        cpu_time_ms=timing.cpu_time_s * 1e3,
        wall_time_ms=timing.wall_time_s * 1e3,
        queue_ms=timing.queue_s * 1e3,
        latency_ms=timing.total_s * 1e3,
        status=result.status.value if result.status is not None else "",
        outcome=result.outcome.value,
        scorer=_short(result.scorer),
        request_id=_short(result.request_id),
        error=result.error,
    )


def infra_fault(error: str, *, scorer: str = "", request_id: str = "") -> ScoreRecord:
    """The record of a sample that the machinery could not score."""
    return ScoreRecord(
        valid=0,
        infra_error=1,
        outcome=Outcome.INFRA_ERROR.value,
        scorer=_short(scorer),
        request_id=_short(request_id),
        error=error,
    )


def broken_data(error: str, *, scorer: str = "", request_id: str = "") -> ScoreRecord:
    """The record of a sample whose data cannot be scored by anybody."""
    return ScoreRecord(
        valid=0,
        outcome=Outcome.INVALID_SUITE.value,
        scorer=_short(scorer),
        request_id=_short(request_id),
        error=error,
    )


def from_value(value: object, *, scorer: str = "", where: str = "scorer") -> ScoreRecord:
    """The record of whatever a scorer returned.

    A number (bool, NumPy and 0-d tensor scalars too) is the score, a mapping is read by
    `EXTRA_KEYS`, the first item of a tuple or list is the score (verl's code scorers return
    `(score, metadata)`), a `Result` is a `Result`. None, NaN, infinities and all else are no score:
    an infrastructure fault, never 0.0.

    Args:
        value: What the scorer returned.
        scorer: Its name, for the record.
        where: What an error message calls the sample.

    Raises:
        RequestError: A mapping has no `score`; the message names the keys that it has.
    """
    if isinstance(value, Result):
        return from_result(value)
    if isinstance(value, ScoreRecord):
        return value
    if isinstance(value, Mapping):
        return _from_mapping(value, scorer, where)
    if isinstance(value, (tuple, list)):
        if not value:
            return infra_fault(
                f"{where}: the scorer returned an empty {type(value).__name__}", scorer=scorer
            )
        if isinstance(value[0], (tuple, list)):
            return infra_fault(f"{where}: the scorer returned nested sequences", scorer=scorer)
        return from_value(value[0], scorer=scorer, where=where)
    number = as_number(value)
    if number is None:
        return infra_fault(
            f"{where}: the scorer returned {_describe(value)}, not a number", scorer=scorer
        )
    return ScoreRecord(score=number, acc=number, scorer=_short(scorer))


def as_number(value: object) -> float | None:
    """A finite float of a number-like value (not of a string), else None."""
    if isinstance(value, (str, bytes, bytearray)) or value is None:
        return None
    if not isinstance(value, (bool, int, float)):
        item = getattr(value, "item", None)  # a scalar of NumPy or torch
        if not callable(item):
            return None
        try:
            value = item()
        except (TypeError, ValueError, RuntimeError):
            return None
        if not isinstance(value, (bool, int, float)):
            return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _from_mapping(value: Mapping[Any, Any], scorer: str, where: str) -> ScoreRecord:
    if "score" not in value:
        keys = ", ".join(sorted(map(str, value))) or "none"
        raise RequestError(where, f"the scorer returned a dict without 'score'; its keys: {keys}")
    name = value.get("scorer")
    base = from_value(value["score"], scorer=name if isinstance(name, str) else scorer, where=where)
    changes: dict[str, Any] = {}
    for key in EXTRA_KEYS:
        if key == "score" or key not in value:
            continue
        given = value[key]
        if key in STRING_KEYS:
            changes[key] = _short(given.value if isinstance(given, (Status, Outcome)) else given)
            continue
        number = as_number(given)
        if number is not None:
            changes[key] = int(number) if key in _INT_KEYS else number
    if not base.valid:  # nothing the scorer adds can make a score of what is none
        for key in ("valid", "infra_error", "outcome"):
            changes.pop(key, None)
    elif changes.get("valid") == 0 or changes.get("infra_error"):
        # The scorer itself says that its number is no score: our own default scorer does, as a
        # dict.
        return replace(base, **{**changes, "score": 0.0, "valid": 0})
    return replace(base, **changes)


def _describe(value: object) -> str:
    if value is None or isinstance(value, float):
        return repr(value)
    return f"a {type(value).__name__}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text[:_STRING_CHARS]
