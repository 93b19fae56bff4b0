"""Calls -> requests, GetInfo -> `ServerInfo`; the values' conversion is `verifier.wire.convert`."""

from __future__ import annotations

import json
from typing import TypeVar

from google.protobuf.message import Message

from verifier.client.types import LanguageInfo, RunCall, ScoreCall, ServerInfo
from verifier.errors import RequestError
from verifier.sandbox.base import Guarantee, GuaranteeName
from verifier.types import Checker, Interactor, LimitOverrides
from verifier.v1 import verifier_pb2 as pb
from verifier.wire import convert as values

__all__ = ["ground_truth_bytes", "info_from_pb", "run_request", "score_request"]

_NO_LIMITS = LimitOverrides()
_M = TypeVar("_M", bound=Message)

_GUARANTEES = {name.value: name for name in GuaranteeName}


def score_request(
    call: ScoreCall, *, request_id: str, client_id: str, deadline_s: float | None
) -> pb.ScoreRequest:
    """A score request.

    Raises:
        RequestError: Both or neither of ground truth and digest are set, or a value does not fit
            the wire.
    """
    if (call.ground_truth is None) == (call.suite_digest is None):
        raise RequestError("ground_truth", "set exactly one of ground_truth and suite_digest")
    truth = None if call.ground_truth is None else ground_truth_bytes(call.ground_truth)
    return _build(
        pb.ScoreRequest,
        request_id=request_id,
        client_id=client_id,
        priority=call.priority,
        response=_bytes(call.response),
        ground_truth=truth,
        suite_digest=call.suite_digest,
        ground_truth_format=call.ground_truth_format,
        data_source=call.data_source,
        language=call.language,
        fn_name=call.fn_name,
        extraction_policy=call.extraction_policy,
        limits=_limits(call.limits),
        comparator=values.comparator_to_pb(call.comparator)
        if call.comparator is not None
        else None,
        checker=_helper(call.checker, "checker"),
        interactor=_helper(call.interactor, "interactor"),
        score_policy=values.policy_to_pb(call.policy) if call.policy is not None else None,
        excerpt_bytes=call.excerpt_bytes,
        extra_info=call.extra_info,
        no_cache=call.no_cache,
        deadline_s=deadline_s,
    )


def run_request(call: RunCall, *, client_id: str) -> pb.RunRequest:
    """A run request.

    Raises:
        RequestError: Not exactly one of source and argv is set, or a value does not fit the wire.
    """
    if (call.source is None) == (not call.argv):
        raise RequestError("source", "set exactly one of source and argv")
    return _build(
        pb.RunRequest,
        request_id=call.request_id,
        client_id=client_id,
        priority=call.priority,
        source=None
        if call.source is None
        else _build(pb.Source, language=call.language, source=_bytes(call.source)),
        argv=_build(pb.Argv, args=call.argv) if call.argv else None,
        stdin=_bytes(call.stdin),
        limits=_limits(call.limits),
        excerpt_bytes=call.excerpt_bytes,
    )


def ground_truth_bytes(ground_truth: object) -> bytes:
    """The ground truth as it travels.

    Raises:
        RequestError: It is not text and cannot be written as JSON.
    """
    if isinstance(ground_truth, (bytes, bytearray, memoryview)):
        return bytes(ground_truth)
    if isinstance(ground_truth, str):
        return _bytes(ground_truth)
    try:
        return json.dumps(ground_truth, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise RequestError("ground_truth", f"cannot be written as JSON: {exc}") from exc


def info_from_pb(message: pb.GetInfoResponse) -> ServerInfo:
    """What the gateway says of itself."""
    return ServerInfo(
        version=message.version,
        backend=message.backend,
        languages=tuple(
            LanguageInfo(
                language.name,
                tuple(language.aliases),
                language.version,
                language.available,
                dict(language.packages),
            )
            for language in message.languages
        ),
        default_limits=values.limits_from_pb(message.default_limits),
        max_limits=values.limits_from_pb(message.max_limits),
        guarantees=tuple(
            Guarantee(_GUARANTEES[g.name], g.holds, g.mechanism, g.remedy)
            for g in message.guarantees
            if g.name in _GUARANTEES
        ),
        accepted=frozenset(g.name for g in message.guarantees if g.accepted),
        slots=message.slots,
        max_message_bytes=message.max_message_bytes,
        max_cases=message.max_cases,
        max_suite_bytes=message.max_suite_bytes,
        max_queue=message.max_queue,
        comparators=tuple(message.comparators),
        score_policies=tuple(message.score_policies),
        ground_truth_formats=tuple(message.ground_truth_formats),
        extraction_policies=tuple(message.extraction_policies),
        notes=tuple(message.notes),
    )


def _limits(limits: LimitOverrides) -> pb.Limits | None:
    if limits == _NO_LIMITS:
        return None
    for name in LimitOverrides.__dataclass_fields__:
        value = getattr(limits, name)
        if isinstance(value, bool) or not (value is None or isinstance(value, (int, float))):
            raise RequestError(f"limits.{name}", f"must be a number, got {value!r}")
        try:
            pb.Limits(**{name: value})  # type: ignore[arg-type]
        except (ValueError, TypeError) as exc:
            # A negative or fractional count cannot even be written.
            raise RequestError(
                f"limits.{name}", f"must be positive and whole, got {value!r}"
            ) from exc
    return values.overrides_to_pb(limits)


def _helper(helper: Checker | Interactor | None, field: str) -> pb.Helper | None:
    if helper is None:
        return None
    try:
        return values.helper_to_pb(helper)
    except (ValueError, TypeError) as exc:
        raise RequestError(field, f"a value does not fit the wire: {exc}") from exc


def _plain(value: object) -> object:
    """What JSON does not know, in rows that came through numpy or pandas."""
    for method in ("tolist", "item"):
        if hasattr(value, method):
            return getattr(value, method)()
    raise TypeError(f"{type(value).__name__} is not plain data")


def _bytes(data: str | bytes) -> bytes:
    if isinstance(data, str):
        # A lone surrogate is one odd character of a response, not a reason to have no score.
        return data.encode("utf-8", "surrogatepass")
    return data


def _build(kind: type[_M], **fields: object) -> _M:
    """A message, with protobuf's complaint about a value as an error that names the field.

    Raises:
        RequestError: A value does not fit.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    try:
        return kind(**given)
    except (TypeError, ValueError):
        for name, value in given.items():
            try:
                kind(**{name: value})
            except (TypeError, ValueError) as exc:  # noqa: PERF203 - only after something failed
                raise RequestError(name, str(exc)) from exc
        raise
