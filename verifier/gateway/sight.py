"""What the gateway tells of its requests: metrics, the page, an access line, a span.

    interceptor (method, traceparent) -> @watched (ids, clock) -> engine's answer (`note`)
        -> `Sight.end`: the one place where a request is reported, once

A request that is watched costs some microseconds (docs/observability.md), and its message is held
no longer than without.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Protocol, TypeVar

from typing_extensions import ParamSpec

from verifier.errors import (
    GatewayUnavailableError,
    InfraError,
    OverloadedError,
    VerifierError,
)
from verifier.gateway.auth import caller
from verifier.gateway.interceptor import Interceptor
from verifier.telemetry.current import CURRENT, INCOMING, Incoming, Seen, note
from verifier.telemetry.logs import ACCESS, access_line
from verifier.types import Result
from verifier.v1 import verifier_pb2 as pb
from verifier.wire.status import code_of

if TYPE_CHECKING:
    from verifier.telemetry.board import Board
    from verifier.telemetry.metrics import ServerMetrics
    from verifier.telemetry.tracing import Tracing

__all__ = ["Sight", "Watcher", "note", "watched"]

_P = ParamSpec("_P")
_T = TypeVar("_T")
# Those of ours, and HTTP.
_METHODS = frozenset({*pb.DESCRIPTOR.services_by_name["Verifier"].methods_by_name, "HTTP"})
_CARRIED = ("traceparent", "tracestate")


class Sight:
    """Where a gateway's requests are reported.

    Args:
        metrics: Where somebody can read them.
        board: The page's numbers; the same.
        tracing: Where traces are wanted.
        access_log: Write a line for each request, where the logger "verifier.access" is enabled.
    """

    def __init__(
        self,
        metrics: ServerMetrics | None = None,
        board: Board | None = None,
        tracing: Tracing | None = None,
        *,
        access_log: bool = True,
    ) -> None:
        """Nothing was seen yet."""
        self.metrics = metrics
        self.board = board
        self.tracing = tracing
        self._access_log = access_log

    def begin(self, method: str, request_id: str = "", client_id: str = "") -> Seen:
        """A request was read."""
        seen = Seen(method, request_id, client_id)
        if self.tracing is not None:
            self.tracing.begin(seen, INCOMING.get())
        return seen

    def end(self, seen: Seen, error: BaseException | None = None, code: str = "") -> None:
        """A request has its answer.

        Args:
            seen: Of `begin`.
            error: What came out instead.
            code: gRPC's or HTTP's; taken from the error where it is not given.
        """
        seconds = time.perf_counter() - seen.started
        code = code or _code(error)
        if self.metrics is not None:
            self._measure(self.metrics, seen, error, code, seconds)
        if self.board is not None:
            _show(self.board, seen, error, seconds)
        if self.tracing is not None:
            self.tracing.end(seen, error, code)
        if self._access_log and ACCESS.isEnabledFor(logging.INFO):
            access_line(seen, code, seconds, error)

    def refused(self, method: str) -> None:
        """A call without a valid token: nothing of it was read.

        Whoever may not call can send any name of a method: it is no label.
        """
        if self.metrics is not None:
            self.metrics.refused(method if method in _METHODS else "other")

    @staticmethod
    def _measure(
        metrics: ServerMetrics, seen: Seen, error: BaseException | None, code: str, seconds: float
    ) -> None:
        from verifier.telemetry.metrics import cause_of

        metrics.request(seen.method, code, seconds)
        answer = seen.answer
        if isinstance(answer, Result):
            metrics.result(answer)
        elif answer is not None:
            metrics.outcome(answer, seen.language)
        if isinstance(error, InfraError):
            metrics.fault(cause_of(error))
        elif isinstance(error, Exception) and not isinstance(error, VerifierError):
            metrics.fault("internal")


def _show(board: Board, seen: Seen, error: BaseException | None, seconds: float) -> None:
    answer = seen.answer
    if isinstance(answer, Result):
        board.scored(answer, seen.client_id, seen.request_id, seconds)
    elif answer is not None:
        board.ran(answer.status, seen.client_id, seconds, answer.facts.cpu_time_s)
    elif isinstance(error, Exception):
        # What was not taken in: it was wrong, or this gateway is full, starting or draining.
        refused = isinstance(error, VerifierError) and not isinstance(error, InfraError)
        refused = refused or isinstance(error, (OverloadedError, GatewayUnavailableError))
        verdict = "REFUSED" if refused else "INFRA_ERROR"
        text = f"{type(error).__name__}: {error}"
        board.refused(verdict, seen.client_id, seen.request_id, seconds, text)


def _code(error: BaseException | None) -> str:
    if error is None:
        return "OK"
    if isinstance(error, asyncio.CancelledError):
        return "CANCELLED"
    return str(code_of(error).name) if isinstance(error, VerifierError) else "UNAVAILABLE"


class Watcher(Interceptor):  # type: ignore[misc]
    """Notes what is known of an RPC before its first message.

    An RPC has a task of its own, and a context with it: what is set here is this RPC's alone.
    """

    async def intercept_service(
        self,
        continuation: Callable[[Any], Awaitable[Any]],
        handler_call_details: Any,
    ) -> Any:
        """Note it, then go on."""
        method = handler_call_details.method.rpartition("/")[2]
        carrier = {
            key: value
            for key, value in handler_call_details.invocation_metadata or ()
            if key in _CARRIED
        }
        INCOMING.set(Incoming(method, carrier))
        return await continuation(handler_call_details)


class _Seeing(Protocol):
    @property
    def sight(self) -> Sight | None: ...


_S = TypeVar("_S", bound=_Seeing)


def watched(
    operation: Callable[Concatenate[_S, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[_S, _P], Coroutine[Any, Any, _T]]:
    """Report each call of a method of the service; its first argument may be a request with ids."""

    @functools.wraps(operation)
    def call(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> Coroutine[Any, Any, _T]:
        # Not a coroutine function: its frame would hold the message while the request waits.
        work = operation(self, *args, **kwargs)
        if self.sight is None:
            return work
        incoming = INCOMING.get()
        method = operation.__name__ if incoming is None else incoming.method
        request = args[0] if args else None
        client = caller.get().client_id(getattr(request, "client_id", ""))
        seen = self.sight.begin(method, getattr(request, "request_id", ""), client)
        return _watch(self.sight, seen, work)

    return call


async def _watch(sight: Sight, seen: Seen, work: Awaitable[_T]) -> _T:
    token = CURRENT.set(seen)
    try:
        answer = await work
    except BaseException as error:
        sight.end(seen, error)
        raise
    finally:
        CURRENT.reset(token)
    sight.end(seen)
    return answer
