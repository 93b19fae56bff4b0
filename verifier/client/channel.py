"""Connections to gateways, and every RPC that goes over one.

A gateway's address may see several connections (`Link`) in its life: one that failed is replaced by
the one that a health check came through, so that nobody dials a dead gateway in the background.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from verifier.client.credentials import open_channel
from verifier.client.endpoints import Address
from verifier.errors import GatewayUnavailableError, VerifierError
from verifier.v1 import verifier_pb2_grpc as rpc
from verifier.wire.forked import mark_used
from verifier.wire.status import error_from_status
from verifier.wire.trace import trace_metadata

__all__ = ["CONNECT_TIMEOUT_S", "Link"]

CONNECT_TIMEOUT_S = 3.0
_CONNECT_MS = int(CONNECT_TIMEOUT_S * 1000)
_OPTIONS = (
    # The gateway bounds what it takes and what it gives.
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # A peer that vanished without a word is noticed within half a minute.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Retries are ours: they know the deadline, and count.
    ("grpc.enable_retries", 0),
    # The longest of these bounds the making of a connection: a busy gateway at the other side of
    # the world is slow, and one that takes a connection and says nothing is gone. A link that
    # failed is replaced by one that a health check came through, so gRPC's own dialing may be slow.
    *((f"grpc.{which}_reconnect_backoff_ms", _CONNECT_MS) for which in ("initial", "min", "max")),
    # Two clients in one process do not share a connection's fate.
    ("grpc.use_local_subchannel_pool", 1),
)
# A gateway that answers a health check with one of these is there, and has no such service, or does
# not tell us.
_THERE = (
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED,
)


_live: weakref.WeakSet[Link] = weakref.WeakSet()
# Channels that came through a fork are kept for ever: freeing one would call into a dead gRPC.
_inherited: list[Link] = []
os.register_at_fork(after_in_child=lambda: _inherited.extend(_live))


class Link:
    """One channel to one gateway. Closed when it is dropped and the last of its users is gone."""

    __slots__ = ("__weakref__", "_dropped", "_health", "_stub", "_users", "channel")

    def __init__(self, address: Address) -> None:
        """Nothing is dialed before the first RPC."""
        mark_used()
        target, options = address.target, (*_OPTIONS, *_known_as(address.authority))
        self.channel = open_channel(target, options)
        # The generated stubs are untyped; the callers of this know what they call.
        self._stub: Any = rpc.VerifierStub(self.channel)
        self._health: Any = health_pb2_grpc.HealthStub(self.channel)
        self._users = 0
        self._dropped = False
        _live.add(self)

    async def unary(self, method: str, request: Any, timeout_s: float | None) -> Any:
        """One RPC with one answer; the request is a message, or makes an iterator of messages.

        Raises:
            VerifierError: What its status stands for.
        """
        call = getattr(self._stub, method)
        self._users += 1
        try:
            message = request() if callable(request) else request
            return await call(message, timeout=timeout_s, metadata=trace_metadata())
        except grpc.aio.AioRpcError as exc:
            raise error_from_status(exc.code(), exc.details(), exc.trailing_metadata()) from None
        except grpc.aio.UsageError as exc:
            # It was closed between being picked and being used.
            raise GatewayUnavailableError(str(exc)) from None
        finally:
            await self.release()

    def stream(self) -> Any:
        """A ScoreStream that begins. Call `release` when it is over."""
        self._users += 1
        return self._stub.ScoreStream(metadata=trace_metadata())

    async def check(self, timeout_s: float) -> VerifierError | None:
        """Ask for its health; None: it serves. Otherwise why it does not."""
        request = health_pb2.HealthCheckRequest()
        try:
            answer = await self._health.Check(request, timeout=timeout_s, metadata=trace_metadata())
        except grpc.aio.AioRpcError as exc:
            if exc.code() in _THERE:
                return None
            return error_from_status(grpc.StatusCode.UNAVAILABLE, exc.details(), None)
        if answer.status == health_pb2.HealthCheckResponse.SERVING:
            return None
        name = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
        return error_from_status(grpc.StatusCode.UNAVAILABLE, f"the gateway is {name}", None)

    async def release(self) -> None:
        """A user is gone."""
        self._users -= 1
        await self._close_if_unused()

    async def drop(self) -> None:
        """No new users."""
        self._dropped = True
        await self._close_if_unused()

    async def close(self) -> None:
        """At once; what runs ends as cancelled."""
        await self.channel.close(None)

    async def _close_if_unused(self) -> None:
        if self._dropped and self._users <= 0:
            await self.close()


def _known_as(authority: str) -> tuple[tuple[str, str], ...]:
    if not authority:
        return ()
    host = authority.rpartition(":")[0]
    return (("grpc.default_authority", authority), ("grpc.ssl_target_name_override", host))
