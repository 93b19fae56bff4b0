"""One thing to score, as a batch or a data row states it, and how it becomes a task of the engine.

The ground truth goes through `verifier.testcases.load_suite` and nothing else, the response through
the engine's extraction and nothing else: the fallback judges by the same rules as the gateway
because it is the same functions.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from verifier.errors import RequestError, SuiteError
from verifier.testcases import load_suite
from verifier.types import LimitOverrides, Outcome, Result, ScorePolicy, ScoreTask, Suite

OPTIONS_KEY = "verifier"
"""Key of `extra_info` that holds `CallOptions`. A key of our own: data sets have a `language` that
is "en"."""

_LIMIT_FIELDS = tuple(f.name for f in dataclasses.fields(LimitOverrides))


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What a row may say about how it is scored.

    Attributes:
        language: Wanted language, or None to take it from the response.
        limits: Replace the defaults.
        fn_name: Entry point, where the ground truth does not name it.
        ground_truth_format: One of `verifier.testcases.FORMATS`; "auto" detects it.
    """

    language: str | None = None
    limits: LimitOverrides = LimitOverrides()
    fn_name: str | None = None
    ground_truth_format: str = "auto"


@dataclass(frozen=True, slots=True)
class Sample:
    """One response with its ground truth.

    Attributes:
        data_source: Which data set it is from; chooses the scorer.
        solution_str: The response's text.
        ground_truth: As the data set has it.
        extra_info: The row's other facts, for scorers.
        request_id: Echoed in the result.
        group: Samples of one prompt share it; None where there are no groups.
        index: Position in its batch, for messages.
    """

    data_source: str
    solution_str: str | bytes
    ground_truth: object
    extra_info: Mapping[str, Any] = field(default_factory=dict)
    request_id: str = ""
    group: object = None
    index: int = 0


def options_of(sample: Sample) -> CallOptions:
    """The options under a sample's `extra_info["verifier"]`.

    Raises:
        RequestError: They are malformed; names the sample and the key.
    """
    try:
        return read_options(sample.extra_info.get(OPTIONS_KEY))
    except RequestError as error:
        raise RequestError(f"samples[{sample.index}].{error.field}", error.problem) from None


def read_options(given: object) -> CallOptions:
    """Read `CallOptions` from a mapping such as `{"language": "cpp", "limits": {"cpu_time_s": 2}}`.

    Raises:
        RequestError: A key is unknown or of the wrong type.
    """
    if given is None:
        return CallOptions()
    where = f"extra_info.{OPTIONS_KEY}"
    options = _mapping(given, where, tuple(f.name for f in dataclasses.fields(CallOptions)))
    for key in ("language", "fn_name", "ground_truth_format"):
        if not isinstance(options.get(key, ""), (str, type(None))):
            raise RequestError(f"{where}.{key}", "expected a string")
    return CallOptions(
        language=options.get("language") or None,
        limits=read_limits(options.get("limits"), f"{where}.limits"),
        fn_name=options.get("fn_name") or None,
        ground_truth_format=options.get("ground_truth_format") or "auto",
    )


def read_limits(given: object, where: str = "limits") -> LimitOverrides:
    """Read limits from a mapping; `memory_mb` stands for `memory_bytes` in units of 2**20.

    Only the types are checked here. Whether a limit is positive and under the ceiling is decided
    where the ceilings are known.

    Raises:
        RequestError: A key is unknown or not a number.
    """
    if given is None:
        return LimitOverrides()
    if isinstance(given, LimitOverrides):
        return given
    values: dict[str, Any] = {}
    for key, value in _mapping(given, where, (*_LIMIT_FIELDS, "memory_mb")).items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise RequestError(f"{where}.{key}", "expected a number")
        if key == "memory_mb":
            values["memory_bytes"] = _whole(value * 1024 * 1024, f"{where}.{key}")
        elif key.endswith("_s"):
            values[key] = float(value)
        else:
            values[key] = _whole(value, f"{where}.{key}")
    return LimitOverrides(**values)


def merge_limits(base: LimitOverrides, over: LimitOverrides) -> LimitOverrides:
    """`base`, with what `over` states."""
    given = {name: getattr(over, name) for name in _LIMIT_FIELDS if getattr(over, name) is not None}
    return dataclasses.replace(base, **given)


def build_tasks(
    samples: Iterable[Sample],
    *,
    limits: LimitOverrides = LimitOverrides(),
    deadline_s: float | None = None,
    client_id: str = "",
    policy: ScorePolicy = ScorePolicy(),
    priority: int = 0,
) -> list[ScoreTask | Result]:
    """Tasks of the engine, in order; in the place of a sample whose data is broken, its Result.

    A ground truth that several samples share (the responses to one prompt) is loaded once.

    Raises:
        RequestError: The options of a sample are malformed; names the sample.
    """
    # By identity: the samples of one call keep their ground truths alive. Texts are shared by
    # value.
    loaded: dict[tuple[object, str | None, str], Suite | SuiteError] = {}
    tasks: list[ScoreTask | Result] = []
    for sample in samples:
        options = options_of(sample)
        truth = plain(sample.ground_truth)
        key = (
            truth if isinstance(truth, (str, bytes)) else id(sample.ground_truth),
            options.fn_name,
            options.ground_truth_format,
        )
        if key not in loaded:
            try:
                loaded[key] = load_suite(
                    truth, fmt=options.ground_truth_format, fn_name=options.fn_name
                )
            except SuiteError as error:
                loaded[key] = error
        suite = loaded[key]
        if isinstance(suite, SuiteError):
            tasks.append(
                Result(
                    outcome=Outcome.INVALID_SUITE,
                    error=str(suite),
                    request_id=sample.request_id,
                )
            )
            continue
        tasks.append(
            ScoreTask(
                response=sample.solution_str,
                suite=suite,
                language=options.language,
                limits=merge_limits(limits, options.limits),
                request_id=sample.request_id,
                client_id=client_id,
                policy=policy,
                priority=priority,
                deadline_s=deadline_s,
            )
        )
    return tasks


def plain(value: object) -> object:
    """A ground truth as plain data: what parquet readers give has NumPy arrays in it."""
    if isinstance(value, (str, bytes, int, float, type(None))):
        return value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    to_list = getattr(value, "tolist", None)
    return plain(to_list()) if callable(to_list) else value


def nearest(name: str, known: Iterable[str]) -> str:
    """What to say about a name that is not known: the nearest, or all where none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return "did you mean " + " or ".join(repr(n) for n in near) + "?"
    return "known: " + (", ".join(names) or "none")


def _mapping(given: object, where: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise RequestError(where, f"expected a mapping, not a {type(given).__name__}")
    for key in given:
        if key not in known:
            raise RequestError(f"{where}.{key}", f"unknown key; {nearest(str(key), known)}")
    return given


def _whole(value: float, where: str) -> int:
    try:
        whole = int(value)
    except (OverflowError, ValueError):
        raise RequestError(where, "expected a finite number") from None
    if whole != value:
        raise RequestError(where, "expected a whole number")
    return whole
