"""Our errors <-> gRPC statuses, both ways.

A status carries `google.rpc` details: ErrorInfo names our class, so that the client raises what the
gateway raised; BadRequest names the field; RetryInfo says when to come back. Statuses without them
(made by gRPC itself, or by a proxy) are told apart by their code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from verifier.errors import (
    AuthenticationError,
    BackendDownError,
    BackendError,
    ConfigError,
    DeadlineError,
    GatewayUnavailableError,
    InfraError,
    LimitError,
    OverloadedError,
    RequestError,
    SlotError,
    SuiteError,
    UnimplementedError,
    UnknownSuiteError,
    VerifierError,
)
from verifier.wire.convert import text

__all__ = [
    "RpcStatus",
    "code_of",
    "error_from_code",
    "error_from_status",
    "retry_after_of",
    "status_of",
]

_DETAILS_KEY = "grpc-status-details-bin"
_DOMAIN = "verifier"
# A status travels in HTTP/2 trailers, which peers cap at 8 KB by default; the text is in there four
# times.
_MAX_TEXT = 700

# The first that fits wins: subclasses before their bases.
_CODES: tuple[tuple[type[VerifierError], grpc.StatusCode], ...] = (
    (UnknownSuiteError, grpc.StatusCode.FAILED_PRECONDITION),
    (RequestError, grpc.StatusCode.INVALID_ARGUMENT),
    (SuiteError, grpc.StatusCode.INVALID_ARGUMENT),
    (UnimplementedError, grpc.StatusCode.UNIMPLEMENTED),
    (OverloadedError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (DeadlineError, grpc.StatusCode.DEADLINE_EXCEEDED),
    (AuthenticationError, grpc.StatusCode.UNAUTHENTICATED),
    (InfraError, grpc.StatusCode.UNAVAILABLE),
    # The operator's mistake: this gateway cannot serve, another one may.
    (ConfigError, grpc.StatusCode.UNAVAILABLE),
)
_WITH_FIELD: dict[str, type[RequestError | SuiteError]] = {
    cls.__name__: cls for cls in (RequestError, LimitError, UnknownSuiteError, SuiteError)
}
_PLAIN: dict[str, type[VerifierError]] = {
    cls.__name__: cls
    for cls in (
        AuthenticationError,
        UnimplementedError,
        DeadlineError,
        BackendDownError,
        BackendError,
        SlotError,
        GatewayUnavailableError,
        InfraError,
    )
}
_CODE_BY_NUMBER: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

# How gRPC reports a connection that the other side reset, depending on when it noticed: the last of
# the marks is a write that met a stream which had just died.
_RESET_CODES = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.CANCELLED)
_RESET_MARKS = (
    "RST_STREAM",
    "Stream removed",
    "GOAWAY",
    "Connection reset",
    "Internal error from Core",
)

_BIG_MESSAGE = (
    "upload a big ground truth in pieces with PutSuite and name it by its digest, or raise the "
    "gateway's max_message_bytes"
)

# How gRPC's versions say that one side does not accept the other's certificate.
_TLS_MARKS = ("handshake failed", "hostname verification", "peer certificate", "ssl_error")
_TLS_HINT = (
    "the gateway's certificate or this client's was not accepted: look at VERIFIER_CA_FILE, "
    "VERIFIER_SERVER_NAME (the name in its certificate) and VERIFIER_CLIENT_CERT"
)

Metadata: TypeAlias = "Iterable[Any]"
"""Pairs of key and value, in whatever class gRPC wraps them."""


class RpcStatus:
    """Code, message and trailing metadata of a refused RPC."""

    __slots__ = ("code", "message", "trailers")

    def __init__(
        self, code: grpc.StatusCode, message: str, trailers: tuple[tuple[str, bytes], ...] = ()
    ) -> None:
        """Keep the three."""
        self.code = code
        self.message = message
        self.trailers = trailers


def code_of(error: VerifierError) -> grpc.StatusCode:
    """The gRPC code of one of our errors."""
    return next((code for cls, code in _CODES if isinstance(error, cls)), grpc.StatusCode.INTERNAL)


def retry_after_of(error: VerifierError) -> float:
    """Seconds after which it makes sense to come back; 0 where the error does not say."""
    return error.retry_after_s if isinstance(error, InfraError) else 0.0


def status_of(error: VerifierError) -> RpcStatus:
    """The gRPC status of one of our errors, with its details."""
    code, message = code_of(error), _cut(str(error))
    info = error_details_pb2.ErrorInfo(reason=type(error).__name__, domain=_DOMAIN)
    status = status_pb2.Status(code=code.value[0], message=message)
    if isinstance(error, (RequestError, SuiteError)):
        field, problem = _cut(error.field), _cut(error.problem)
        info.metadata.update(field=field, problem=problem)
        violation = error_details_pb2.BadRequest.FieldViolation(field=field, description=problem)
        status.details.add().Pack(error_details_pb2.BadRequest(field_violations=[violation]))
    if isinstance(error, OverloadedError) or retry_after_of(error):
        delay = Duration()
        delay.FromNanoseconds(int(retry_after_of(error) * 1e9))
        status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=delay))
    status.details.add().Pack(info)
    return RpcStatus(code, message, ((_DETAILS_KEY, status.SerializeToString()),))


def error_from_status(
    code: grpc.StatusCode, message: str | None, trailers: Metadata | None
) -> VerifierError:
    """The error that a failed RPC stands for."""
    info, retry_after_s = _details(trailers)
    if info is not None:
        if info.reason in _WITH_FIELD:
            return _WITH_FIELD[info.reason](info.metadata["field"], info.metadata["problem"])
        if info.reason in _PLAIN:
            return _told(_PLAIN[info.reason](message or ""), retry_after_s)
    return _error(code, message or code.name, retry_after_s)


def error_from_code(number: int, message: str, retry_after_s: float = 0.0) -> VerifierError:
    """The error of one refused request of a stream, which has a code and a message only."""
    return _error(
        _CODE_BY_NUMBER.get(number, grpc.StatusCode.UNKNOWN), message, retry_after_s or None
    )


def _error(code: grpc.StatusCode, message: str, retry_after_s: float | None) -> VerifierError:
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        if "larger than max" in message:
            # gRPC's own refusal of a big message: sending it again cannot help.
            return RequestError("message", f"{message}; {_BIG_MESSAGE}")
        return OverloadedError(message, 0.0 if retry_after_s is None else retry_after_s)
    if code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE):
        field, colon, problem = message.partition(": ")
        return RequestError(field, problem) if colon else RequestError("request", message)
    if code is grpc.StatusCode.FAILED_PRECONDITION:
        return UnknownSuiteError("suite_digest", message.removeprefix("suite_digest: "))
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return UnimplementedError(message)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineError(message)
    if code is grpc.StatusCode.UNAUTHENTICATED:
        return AuthenticationError(message)
    if code is grpc.StatusCode.UNAVAILABLE or _is_dead_connection(code, message):
        hint = f"; {_TLS_HINT}" if any(mark in message.lower() for mark in _TLS_MARKS) else ""
        return _told(GatewayUnavailableError(message + hint), retry_after_s)
    return InfraError(f"{code.name}: {message}")


def _told(error: VerifierError, retry_after_s: float | None) -> VerifierError:
    if isinstance(error, InfraError) and retry_after_s is not None:
        error.retry_after_s = retry_after_s
    return error


def _is_dead_connection(code: grpc.StatusCode, message: str) -> bool:
    return code in _RESET_CODES and any(mark in message for mark in _RESET_MARKS)


def _details(trailers: Metadata | None) -> tuple[error_details_pb2.ErrorInfo | None, float | None]:
    """Our ErrorInfo and the delay of a RetryInfo, as far as they are there."""
    info, retry_after_s = None, None
    raw = next((value for key, value in trailers or () if key == _DETAILS_KEY), b"")
    try:
        status = status_pb2.Status.FromString(
            raw if isinstance(raw, bytes) else raw.encode("latin-1")
        )
        for detail in status.details:
            retry = error_details_pb2.RetryInfo()
            candidate = error_details_pb2.ErrorInfo()
            if detail.Unpack(retry):
                retry_after_s = retry.retry_delay.ToNanoseconds() / 1e9
            elif detail.Unpack(candidate) and candidate.domain == _DOMAIN:
                info = candidate
    except (DecodeError, ValueError):
        # A proxy's own details: the code says enough.
        return None, None
    return info, retry_after_s


def _cut(message: str) -> str:
    message = text(message)
    return message if len(message) <= _MAX_TEXT else message[:_MAX_TEXT] + " ..."
