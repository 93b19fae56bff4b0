"""One bidirectional stream of score requests: bounded, out of order, ended by its client only.

    reader --(a place is free)--> item task --> engine --> write (one at a time) --> the place is
    free again

Backpressure goes both ways: nothing is read while all places are taken, and a place is free only
after its answer was written, so a client that sends and never reads holds at most
`stream_in_flight` requests, for `write_timeout_s` at most. A refused request is an answer with
`error_code`; it does not end the stream.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import grpc.aio

from verifier.errors import GatewayUnavailableError, InfraError, RequestError, VerifierError
from verifier.gateway.timeouts import seconds_left
from verifier.v1 import verifier_pb2 as pb
from verifier.wire.convert import text
from verifier.wire.status import code_of, retry_after_of

if TYPE_CHECKING:
    from verifier.gateway.service import Service

__all__ = ["ScoreSession"]

_log = logging.getLogger("verifier.gateway")

_IDLE, _STUCK = "idle", "stuck"
_IDLE_STEP_S = 1.0


class ScoreSession:
    """Serves one stream.

    Args:
        service: What scores.
        requests: The RPC's messages; reads one when it is asked for one.
        context: The RPC; nobody else writes to it.
    """

    def __init__(
        self,
        service: Service,
        requests: AsyncIterator[pb.ScoreRequest],
        context: grpc.aio.ServicerContext[pb.ScoreRequest, pb.ScoreResponse],
    ) -> None:
        """Nothing is read yet."""
        self._requests = requests
        self._service = service
        self._context = context
        self._places = asyncio.Semaphore(service.settings.stream_in_flight)
        self._writing = asyncio.Lock()
        self._items: dict[str, asyncio.Task[None]] = {}
        self._loop = asyncio.get_running_loop()
        self._active = self._loop.time()
        # Why the stream has to end before its client ends it.
        self._end: asyncio.Future[str] = self._loop.create_future()

    async def serve(self) -> None:
        """Until the client has sent all and has every answer, or the gateway shuts down.

        Raises:
            GatewayUnavailableError: The gateway shut down first; what it had read is answered. Or
                nothing came for too long.
        """
        work = asyncio.create_task(self._work())
        idle = self._watch()
        try:
            await asyncio.wait((work, self._end), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
                return
        finally:
            # The client is gone, or all is done: whatever still runs is killed, and has ended
            # before we return.
            idle.cancel()
            leftover = [work, *self._items.values()]
            for task in leftover:
                task.cancel()
            await asyncio.gather(*leftover, return_exceptions=True)
        if self._end.result() == _IDLE:
            seconds = self._service.settings.stream_idle_s
            raise GatewayUnavailableError(f"the stream was idle for {seconds:g} s")
        # Its write is pending for ever, and no status can overtake it: the call ends with its
        # connection, and has nothing any more but that answer.
        await self._loop.create_future()

    def _watch(self) -> asyncio.Task[None]:
        async def look() -> None:
            while not self._end.done():
                left = self._active + self._service.settings.stream_idle_s - self._loop.time()
                if left > 0 or self._items:
                    await asyncio.sleep(left if left > 0 else _IDLE_STEP_S)
                else:
                    self._finish(_IDLE)

        return asyncio.create_task(look())

    def _finish(self, why: str) -> None:
        if not self._end.done():
            self._end.set_result(why)

    async def _work(self) -> None:
        reader = asyncio.create_task(self._read())
        draining = asyncio.create_task(self._service.admission.draining.wait())
        try:
            await asyncio.wait((reader, draining), return_when=asyncio.FIRST_COMPLETED)
            if not reader.done():
                # The reader goes on meanwhile: it answers what still comes in with a refusal.
                await self._settle()
                raise GatewayUnavailableError("the gateway is shutting down")
            reader.result()
            await self._settle()
        finally:
            for task in (reader, draining):
                task.cancel()
            await asyncio.gather(reader, draining, return_exceptions=True)

    async def _settle(self) -> None:
        while self._items:
            await asyncio.wait(list(self._items.values()))

    async def _read(self) -> None:
        while True:
            await self._places.acquire()
            request = await anext(self._requests, None)
            self._active = self._loop.time()
            if request is None:
                return
            refusal = self._refusal(request.request_id)
            if refusal is not None:
                await self._write(_refused(request.request_id, refusal))
                self._places.release()
                continue
            # In a box: while it waits for a slot, nobody holds the message (see `Service.score`).
            box = [request]
            request_id = request.request_id
            del request
            self._items[request_id] = asyncio.create_task(self._item(request_id, box))

    def _refusal(self, request_id: str) -> RequestError | None:
        if not request_id:
            return RequestError("request_id", "missing: answers in a stream are matched by it")
        if request_id in self._items:
            return RequestError(
                "request_id", f"{request_id[:80]!r} is in flight in this stream already"
            )
        return None

    async def _item(self, request_id: str, box: list[pb.ScoreRequest]) -> None:
        try:
            try:
                response = await self._service.score(box.pop(), seconds_left(self._context))
            except VerifierError as exc:
                response = _refused(request_id, exc)
            except Exception as exc:  # noqa: BLE001 - the boundary: no item ends the stream
                # A bug of ours: this item has no verdict, the others go on.
                _log.exception("unexpected error in a stream")
                response = _refused(request_id, InfraError(f"internal error: {type(exc).__name__}"))
            await self._write(response)
        except grpc.aio.BaseError:
            # The RPC ended before its answer was written; `serve` is cancelled for the same reason.
            _log.debug("an answer was ready after its stream had ended")
        finally:
            del self._items[request_id]
            self._places.release()

    async def _write(self, response: pb.ScoreResponse) -> None:
        writing = self._service.writing
        with writing.counted(response.ByteSize()):
            async with self._writing:
                timer = writing.bounded(self._context, lambda: self._finish(_STUCK))
                try:
                    await self._context.write(response)
                finally:
                    timer.cancel()
        self._active = self._loop.time()


def _refused(request_id: str, error: VerifierError) -> pb.ScoreResponse:
    return pb.ScoreResponse(
        request_id=request_id,
        outcome=pb.OUTCOME_INFRA_ERROR,
        error=text(str(error)),
        error_code=code_of(error).value[0],
        retry_after_s=retry_after_of(error),
    )
