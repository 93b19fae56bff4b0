"""Many calls over one bidirectional stream: out of order, bounded, none waits for another's fault.

    waiting --(the window has room)--> in flight --answer----------------> done
       ^                                   |-----its deadline passed-----> done (INFRA_ERROR)
       +---refused as overloaded, or the stream died; attempts are left----+

A call whose ground truth is big waits until that is uploaded (`uploads`), and others go first.

When the stream dies, a new one carries only what has no answer yet. A call's deadline begins when
it is first sent, and goes with it, so that the gateway kills its program too. Streams that die
without one answer are counted: after `max_attempts` of them in a row all that is left is given up,
so a dead gateway costs bounded time however many calls there are. An overloaded gateway halves the
window; each answer widens it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import grpc.aio

from verifier.client.convert import score_request
from verifier.client.retry import RETRYABLE, Backoff, RetryPolicy, pause
from verifier.client.types import ScoreCall
from verifier.client.uploads import ATTEMPTS, Big, Uploads
from verifier.errors import (
    DeadlineError,
    GatewayUnavailableError,
    RequestError,
    UnknownSuiteError,
    VerifierError,
)
from verifier.types import Outcome, Result
from verifier.v1 import verifier_pb2 as pb
from verifier.wire import convert as values
from verifier.wire.status import error_from_code, error_from_status

__all__ = ["ManyCalls", "unserved"]

# A request above this is held against the gateway's own bound before it is sent: it would end the
# stream.
_SURELY_FITS = 1024 * 1024
_CLOSE_S = 2.0


def unserved(error: VerifierError, request_id: str) -> Result:
    """The result of a call that could not be served."""
    return Result(
        Outcome.INFRA_ERROR, error=f"{type(error).__name__}: {error}", request_id=request_id
    )


@dataclass(eq=False, slots=True)
class _Item:
    index: int
    call: ScoreCall
    wire_id: str
    attempts: int = 0
    end: float | None = None
    timer: asyncio.TimerHandle | None = None
    big: Big | None = None
    # How it was last sent: of which upload the digest is, and how often that was not known.
    upload: int = 0
    unknown: int = 0


class ManyCalls:
    """One batch. Used once.

    Args:
        open_stream: Starts a ScoreStream RPC.
        calls: What to score.
        client_id: Of the client.
        policy: How often.
        timeout_s: Deadline of a call that has none of its own.
        window: Calls in flight at most.
        max_message_bytes: Asks the gateway for its bound; None when it does not say.
        uploads: Of the client.
    """

    def __init__(
        self,
        open_stream: Callable[[], Any],
        calls: Sequence[ScoreCall],
        *,
        client_id: str,
        policy: RetryPolicy,
        timeout_s: float | None,
        window: int,
        max_message_bytes: Callable[[], Awaitable[int | None]],
        uploads: Uploads,
    ) -> None:
        """Nothing is sent yet."""
        self._uploads = uploads
        self._uploading: set[asyncio.Task[None]] = set()
        # Of equal objects one is looked at; the calls keep them alive.
        self._bigs: dict[tuple[int, str, str | None, str], Big | None] = {}
        self._open_stream = open_stream
        self._calls = calls
        self._client_id = client_id
        self._policy = policy
        self._backoff = Backoff(policy)
        self._timeout_s = timeout_s
        self._max_window = self._window = window
        self._max_message_bytes = max_message_bytes
        self._results: list[Result | None] = [None] * len(calls)
        self._waiting = deque(_items(calls))
        self._left = len(calls)
        self._in_flight: dict[str, _Item] = {}
        self._abandoned = False
        self._answers = 0
        self._room = asyncio.Event()
        self._all_done = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._timers: set[asyncio.TimerHandle] = set()

    async def run(self) -> list[Result]:
        """Results in the order of the calls."""
        try:
            await self._run()
        finally:
            for item in (*self._waiting, *self._in_flight.values()):
                _disarm(item)
            for timer in self._timers:
                timer.cancel()
            for task in self._uploading:
                task.cancel()
            await asyncio.gather(*self._uploading, return_exceptions=True)
        return [result for result in self._results if result is not None]

    async def _run(self) -> None:
        barren = 0
        while self._left:
            before = self._answers
            error = await self._one_stream()
            if not self._left:
                return
            barren = 0 if self._answers > before else barren + 1
            if barren >= self._policy.max_attempts or not isinstance(error, RETRYABLE):
                self._give_up(error)
                return
            for item in reversed(list(self._in_flight.values())):
                self._again_or_never(item, error, to_front=True)
            self._in_flight.clear()
            await pause(self._backoff.wait_s(max(1, barren), error))

    async def _one_stream(self) -> VerifierError:
        """Until all is done or the stream died; answers why it died."""
        stream = self._open_stream()
        writer = asyncio.create_task(self._write(stream))
        reader = asyncio.create_task(self._read(stream))
        done = asyncio.create_task(self._all_done.wait())
        try:
            await asyncio.wait((reader, done), return_when=asyncio.FIRST_COMPLETED)
            if reader.done():
                return reader.result()
            writer.cancel()
            if not self._abandoned:
                # Nothing is running there for us: end politely, so that it does not count as a
                # cancellation.
                with contextlib.suppress(
                    asyncio.TimeoutError, grpc.aio.AioRpcError, asyncio.InvalidStateError
                ):
                    await stream.done_writing()
                    await asyncio.wait_for(asyncio.shield(reader), _CLOSE_S)
            return GatewayUnavailableError("done")
        finally:
            stream.cancel()
            for task in (writer, reader, done):
                task.cancel()
            await asyncio.gather(writer, reader, done, return_exceptions=True)

    async def _read(self, stream: Any) -> VerifierError:
        try:
            async for message in stream:
                self._take(message)
            return GatewayUnavailableError("the gateway ended the stream early")
        except grpc.aio.AioRpcError as exc:
            return error_from_status(exc.code(), exc.details(), exc.trailing_metadata())

    async def _write(self, stream: Any) -> None:
        while True:
            item = await self._next()
            try:
                if await self._goes_up_first(item):
                    continue
                request = await self._request(item)
            except VerifierError as exc:
                self._finish(item, unserved(exc, item.call.request_id))
                continue
            if self._results[item.index] is not None:
                continue
            item.attempts += 1
            self._in_flight[item.wire_id] = item
            try:
                await stream.write(request)
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                # The reader learns why.
                return

    async def _next(self) -> _Item:
        while True:
            while self._waiting and len(self._in_flight) + len(self._uploading) < self._window:
                item = self._waiting.popleft()
                if self._results[item.index] is None:
                    return item
            self._room.clear()
            await self._room.wait()

    async def _goes_up_first(self, item: _Item) -> bool:
        """Whether its ground truth has to be uploaded; then it comes back when that is done."""
        if item.unknown >= ATTEMPTS:
            return False
        if item.big is None:
            call = item.call
            key = (id(call.ground_truth), call.ground_truth_format, call.fn_name, call.data_source)
            if key not in self._bigs:
                self._bigs[key] = await self._uploads.big(call)
            item.big = self._bigs[key]
        if item.big is None or self._uploads.ready(item.big):
            return False
        self._arm(item)
        task = asyncio.create_task(self._upload(item, item.big))
        self._uploading.add(task)
        return True

    async def _upload(self, item: _Item, big: Big) -> None:
        try:
            await self._uploads.named(item.call, big)
        except VerifierError as exc:
            self._finish(item, unserved(exc, item.call.request_id))
        else:
            self._waiting.appendleft(item)
        finally:
            task = asyncio.current_task()
            if task is not None:
                self._uploading.discard(task)
            self._room.set()

    async def _request(self, item: _Item) -> pb.ScoreRequest:
        left = self._arm(item)
        call = item.call
        if item.big is not None and item.unknown < ATTEMPTS:
            call, item.upload = await self._uploads.named(call, item.big)
        request = score_request(
            call, request_id=item.wire_id, client_id=self._client_id, deadline_s=left
        )
        size = request.ByteSize()
        if size > _SURELY_FITS:
            ceiling = await self._max_message_bytes()
            if ceiling is not None and size > ceiling:
                raise RequestError(
                    "message",
                    f"{size} bytes, and the gateway takes {ceiling}: upload the ground truth "
                    "with put_suite and send its digest",
                )
        return request

    def _arm(self, item: _Item) -> float | None:
        """Start the item's clock when it is first sent; seconds left."""
        now = self._loop.time()
        if item.timer is None:
            own = item.call.deadline_s
            timeout_s = self._timeout_s if own is None else own
            if timeout_s is None:
                return None
            item.end = now + timeout_s
            item.timer = self._loop.call_later(timeout_s, self._expire, item, timeout_s)
        # The wire takes no zero; the timer is about to fire.
        return None if item.end is None else max(item.end - now, 1e-3)

    def _expire(self, item: _Item, timeout_s: float) -> None:
        self._abandoned = self._abandoned or item.wire_id in self._in_flight
        error = DeadlineError(f"no answer within {timeout_s:g} s")
        self._finish(item, unserved(error, item.call.request_id))

    def _take(self, message: pb.ScoreResponse) -> None:
        item = self._in_flight.pop(message.request_id, None)
        if item is None:
            # It came after its deadline.
            return
        self._room.set()
        if message.error_code:
            error = error_from_code(message.error_code, message.error, message.retry_after_s)
            if isinstance(error, UnknownSuiteError) and item.upload and item.big is not None:
                self._uploads.forget(item.big, item.upload)
                item.upload, item.unknown = 0, item.unknown + 1
                self._waiting.appendleft(item)
                return
            if isinstance(error, RETRYABLE):
                self._window = max(1, self._window // 2)
                self._again_or_never(item, error)
                return
            self._answers += 1
            self._finish(item, unserved(error, item.call.request_id))
            return
        self._answers += 1
        self._window = min(self._max_window, self._window + 1)
        self._finish(item, values.result_from_pb(message).replace(request_id=item.call.request_id))

    def _again_or_never(self, item: _Item, error: VerifierError, *, to_front: bool = False) -> None:
        if self._results[item.index] is not None:
            return
        if item.attempts >= self._policy.max_attempts:
            self._finish(item, unserved(error, item.call.request_id))
        elif to_front:
            self._waiting.appendleft(item)
        else:
            self._requeue_later(item, error)

    def _requeue_later(self, item: _Item, error: VerifierError) -> None:
        def requeue() -> None:
            self._timers.discard(timer)
            self._waiting.append(item)
            self._room.set()

        timer = self._loop.call_later(self._backoff.sleep_s(item.attempts, error), requeue)
        self._timers.add(timer)

    def _give_up(self, error: VerifierError) -> None:
        for index, result in enumerate(self._results):
            if result is None:
                self._results[index] = unserved(error, self._calls[index].request_id)
        self._left = 0

    def _finish(self, item: _Item, result: Result) -> None:
        _disarm(item)
        if self._results[item.index] is not None:
            return
        self._results[item.index] = result
        self._in_flight.pop(item.wire_id, None)
        self._room.set()
        self._left -= 1
        if not self._left:
            self._all_done.set()


def _disarm(item: _Item) -> None:
    if item.timer is not None:
        item.timer.cancel()


def _items(calls: Sequence[ScoreCall]) -> list[_Item]:
    """With ids that are unique within the stream; the caller's own where they are."""
    taken: set[str] = set()
    items = []
    for index, call in enumerate(calls):
        wire_id = call.request_id
        if not wire_id or wire_id in taken:
            wire_id = f"{wire_id}#{index}"
        while wire_id in taken:
            wire_id += "'"
        taken.add(wire_id)
        items.append(_Item(index, call, wire_id))
    return items
