"""How many calls may be open, and how long the message of a unary one may take to arrive.

gRPC has a bound for calls of its own, which refuses without saying when to come back; ours says it,
before anything of the message is read. So does a queue that is full.

gRPC also receives a message before it calls a handler, and a client that sends half of one, and
stays, would hold what it sent for as long as it likes. So each unary handler is served as one that
reads its message itself: as many operations, and a wait that ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from verifier._within import Within
from verifier.errors import DeadlineError, OverloadedError, RequestError, VerifierError
from verifier.gateway.interceptor import Interceptor
from verifier.wire.status import status_of

__all__ = ["PROBES", "GrpcCalls", "refusing"]

PROBES = "/grpc.health.v1.Health/"
"""Methods of probes, which carry no secrets, and are answered however much there is to do."""

_RETRY_AFTER_S = 1.0
# Nobody shows a token with these. Apart from the others, so that they are answered while those are
# many.
_MAX_PROBES = 256

# Its stubs do not know it.
_EOF: Any = grpc.aio.__dict__["EOF"]


class GrpcCalls(Interceptor):  # type: ignore[misc]
    """Bounds open calls, and the wait for the message of a unary one.

    Args:
        max_calls: Calls that may be open at once, streams among them; asked for at each call.
        timeout_s: Seconds for a message.
        knock: Told the method of each call that is not a probe; raises what refuses it.
    """

    def __init__(
        self,
        max_calls: Callable[[], int],
        timeout_s: Callable[[], float],
        knock: Callable[[str], None] = lambda _: None,
    ) -> None:
        """None is open."""
        self._max_calls = max_calls
        self._timeout_s = timeout_s
        self._knock = knock
        self._open = 0
        self._probes = 0
        # Method -> its handler, and what is served in its place.
        self._made: dict[str, tuple[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[Any], Awaitable[Any]],
        handler_call_details: Any,
    ) -> Any:
        """The handler of the call, which reads with a bound."""
        probe = handler_call_details.method.startswith(PROBES)
        held = self._probes if probe else self._open
        if held >= (_MAX_PROBES if probe else self._max_calls()):
            return refusing(OverloadedError(f"{held} calls are open", _RETRY_AFTER_S))
        if not probe:
            try:
                self._knock(handler_call_details.method.rpartition("/")[2])
            except VerifierError as exc:
                return refusing(exc)
        task = asyncio.current_task()
        if task is not None:  # it is the call's: the interceptors run in it, and the handler does
            if probe:
                self._probes += 1
            else:
                self._open += 1
            task.add_done_callback(self._probe_closed if probe else self._closed)
        handler = await continuation(handler_call_details)
        if handler is None or handler.request_streaming or handler.response_streaming:
            return handler
        method = handler_call_details.method
        made = self._made.get(method)
        if made is None or made[0] is not handler:
            made = self._made[method] = handler, self._reading(handler)
        return made[1]

    def _reading(self, handler: Any) -> Any:
        """The same, as a handler that reads its one message itself."""

        async def serve(requests: Any, context: Any) -> Any:
            del requests  # an iterator over the same messages
            seconds = self._timeout_s()
            try:
                async with Within(seconds):
                    message = await context.read()
            except asyncio.TimeoutError:
                error = DeadlineError(f"the message did not arrive within {seconds:g} s")
                return await _abort(context, error)
            if message is _EOF:
                return await _abort(context, RequestError("message", "missing"))
            return await handler.unary_unary(message, context)

        return grpc.stream_unary_rpc_method_handler(
            serve, handler.request_deserializer, handler.response_serializer
        )

    def _closed(self, _: object) -> None:
        self._open -= 1

    def _probe_closed(self, _: object) -> None:
        self._probes -= 1


def refusing(error: VerifierError) -> Any:
    """A handler that refuses every kind of call, and reads nothing."""

    async def refuse(requests: Any, context: Any) -> None:
        del requests
        await _abort(context, error)

    return grpc.stream_stream_rpc_method_handler(refuse)


async def _abort(context: Any, error: VerifierError) -> None:
    status = status_of(error)
    await context.abort(status.code, status.message, status.trailers)
