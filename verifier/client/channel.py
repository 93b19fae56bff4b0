"""Channels: made when first needed, one per process and event loop, used nowhere else."""

from __future__ import annotations

import asyncio
import os
import weakref
from typing import TYPE_CHECKING, Any

import grpc.aio

from verifier.v1 import verifier_pb2_grpc as rpc
from verifier.wire.forked import mark_used

if TYPE_CHECKING:
    from verifier.client.uploads import Uploads

__all__ = ["Channels"]

_OPTIONS = (
    # The gateway bounds what it takes and what it gives.
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # A peer that vanished without a word is noticed within half a minute.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Retries are ours: they know the deadline, and count.
    ("grpc.enable_retries", 0),
    # After a failure gRPC waits by itself before it dials again: keep that below our own waits.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # Two clients in one process do not share a connection's fate.
    ("grpc.use_local_subchannel_pool", 1),
)


class _Open:
    """What one loop of one process has: a channel, its stub, places for unary calls, uploads."""

    __slots__ = ("__weakref__", "channel", "loop", "pid", "places", "stub", "uploads")

    def __init__(self, target: str, loop: asyncio.AbstractEventLoop, max_in_flight: int) -> None:
        self.pid = os.getpid()
        self.loop = weakref.ref(loop)
        self.channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        # The generated stubs are untyped; the two callers of this know what they call.
        self.stub: Any = rpc.VerifierStub(self.channel)
        self.places = asyncio.Semaphore(max_in_flight)
        self.uploads: Uploads | None = None


_live: weakref.WeakSet[_Open] = weakref.WeakSet()
# Channels that came through a fork are kept for ever: freeing one would call into a dead gRPC.
_inherited: list[_Open] = []
os.register_at_fork(after_in_child=lambda: _inherited.extend(_live))


class Channels:
    """The channels of one client."""

    def __init__(self, target: str, max_in_flight: int) -> None:
        """Nothing is made yet."""
        self._target = target
        self._max_in_flight = max_in_flight
        self._open: dict[int, _Open] = {}

    def here(self) -> _Open:
        """The channel of this process and the running loop."""
        loop = asyncio.get_running_loop()
        found = self._open.get(id(loop))
        if found is not None and found.pid == os.getpid() and found.loop() is loop:
            return found
        self._sweep()
        mark_used()
        made = self._open[id(loop)] = _Open(self._target, loop, self._max_in_flight)
        _live.add(made)
        return made

    async def close(self) -> None:
        """Close the running loop's channel; those of other loops go with their loops."""
        found = self._open.pop(id(asyncio.get_running_loop()), None)
        if found is not None and found.pid == os.getpid():
            await found.channel.close(None)

    def _sweep(self) -> None:
        """Forget channels whose loop is gone, or that another process made."""
        for key, entry in list(self._open.items()):
            loop = entry.loop()
            if entry.pid != os.getpid() or loop is None or loop.is_closed():
                del self._open[key]
