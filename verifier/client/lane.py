"""One stream of a batch to one gateway, and the requests that are on it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import grpc.aio

from verifier.client.gateway import Gateway
from verifier.client.types import ScoreCall
from verifier.client.uploads import Big
from verifier.errors import GatewayUnavailableError, VerifierError
from verifier.v1 import verifier_pb2 as pb
from verifier.wire.status import error_from_status

__all__ = ["Item", "Lane", "items_of"]

_CLOSE_S = 2.0


@dataclass(eq=False, slots=True)
class Item:
    """A call on its way.

    Attributes:
        index: In the batch.
        call: As it was given.
        wire_id: Unique in the batch.
        attempts: How often it was sent on a stream.
        end: When its time is over, on the loop's clock.
        timers: For that, and for a second request.
        big: Its ground truth, where that goes up first.
        key: What decides on its gateway.
        upload: Of which upload the digest is that it was last sent by.
        unknown: How often that was not known.
        avoid: Gateways where it failed.
        lane: Where it is.
        hedge: A second request for it.
    """

    index: int
    call: ScoreCall
    wire_id: str
    attempts: int = 0
    end: float | None = None
    timers: list[asyncio.TimerHandle] = field(default_factory=list)
    big: Big | None = None
    key: bytes | None = None
    upload: int = 0
    unknown: int = 0
    avoid: set[Gateway] = field(default_factory=set)
    lane: Lane | None = None
    hedge: asyncio.Task[None] | None = None

    def disarm(self) -> None:
        """No timer fires."""
        for timer in self.timers:
            timer.cancel()


class Lane:
    """A stream.

    Args:
        gateway: Where to.
        window: Requests in flight on it at most.
    """

    def __init__(self, gateway: Gateway, window: int) -> None:
        """Begin the RPC."""
        self.gateway = gateway
        self.link = gateway.link
        self.items: dict[str, Item] = {}
        self.answers = 0
        # Something runs there that nobody waits for any more.
        self.abandoned = False
        self._most = self._window = window
        self._queue: asyncio.Queue[Item] = asyncio.Queue()
        self._stream = self.link.stream()
        self.task: asyncio.Task[None] | None = None

    @property
    def full(self) -> bool:
        """Whether it takes no more now."""
        return len(self.items) >= self._window

    def narrow(self) -> None:
        """The gateway refused one: half as many at once."""
        self._window = max(1, self._window // 2)

    def widen(self) -> None:
        """It answered one: one more at once."""
        self._window = min(self._most, self._window + 1)

    def take(self, item: Item) -> None:
        """Put a request on it."""
        item.lane = self
        self.items[item.wire_id] = item
        self.gateway.in_flight += 1
        self.again(item)

    def again(self, item: Item) -> None:
        """Write one that is on it, now that it can be."""
        self._queue.put_nowait(item)

    def drop(self, item: Item) -> None:
        """It is not on it any more."""
        if self.items.pop(item.wire_id, None) is not None:
            self.gateway.in_flight -= 1
            item.lane = None

    async def run(
        self,
        build: Callable[[Lane, Item], Awaitable[pb.ScoreRequest | None]],
        take: Callable[[Lane, pb.ScoreResponse], None],
    ) -> VerifierError:
        """Until the stream ends.

        Args:
            build: Makes the message of a request; None: it is not sent now.
            take: Gets each answer.

        Returns:
            Why it ended.
        """
        writer = asyncio.create_task(self._write(build))
        reader = asyncio.create_task(self._read(take))
        try:
            await asyncio.wait((writer, reader), return_when=asyncio.FIRST_COMPLETED)
            if writer.done():
                writer.result()
                await asyncio.wait((reader,))
            if reader.cancelled():
                return GatewayUnavailableError("the connection was closed here")
            return reader.result()
        finally:
            self._stream.cancel()
            for task in (writer, reader):
                task.cancel()
            await asyncio.gather(writer, reader, return_exceptions=True)
            await self.link.release()

    async def _write(
        self, build: Callable[[Lane, Item], Awaitable[pb.ScoreRequest | None]]
    ) -> None:
        while True:
            item = await self._queue.get()
            request = await build(self, item)
            if request is None:
                continue
            try:
                await self._stream.write(request)
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                # The reader learns why.
                return

    async def _read(self, take: Callable[[Lane, pb.ScoreResponse], None]) -> VerifierError:
        try:
            async for message in self._stream:
                take(self, message)
            return GatewayUnavailableError("the gateway ended the stream early")
        except grpc.aio.AioRpcError as exc:
            return error_from_status(exc.code(), exc.details(), exc.trailing_metadata())

    async def finish(self) -> None:
        """The batch is over: end politely, so that it does not count as a cancellation there."""
        task = self.task
        if task is None:
            return
        if not self.abandoned:
            with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await self._stream.done_writing()
                await asyncio.wait((task,), timeout=_CLOSE_S)
        task.cancel()


def items_of(calls: Sequence[ScoreCall]) -> list[Item]:
    """With ids that are unique within the batch; the caller's own where they are."""
    taken: set[str] = set()
    items = []
    for index, call in enumerate(calls):
        wire_id = call.request_id
        if not wire_id or wire_id in taken:
            wire_id = f"{wire_id}#{index}"
        while wire_id in taken:
            wire_id += "'"
        taken.add(wire_id)
        items.append(Item(index, call, wire_id))
    return items
