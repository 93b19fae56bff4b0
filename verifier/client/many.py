"""Many calls over a stream to each gateway: out of order, bounded, none waits for another's fault.

    waiting --(a gateway has room)--> on its stream --answer----------------> done
       ^                                   |-----its deadline passed--------> done (INFRA_ERROR)
       +---refused as overloaded, or the stream died; attempts are left-------+

A call whose ground truth is big waits until that is uploaded (`uploads`), and others go first.

When a stream dies, only what it had not answered is sent again, to another gateway where there is
one. A call's deadline begins when it is first sent, and goes with it, so that the gateway kills its
program too. Streams that die without one answer, and health checks without success, are counted:
after `max_attempts` of them in a row all that is left is given up, so a dead gateway costs bounded
time however many calls there are. An overloaded gateway halves its stream's window; each answer
widens it. A call that is late is hedged with a unary call to another gateway, which can be
cancelled by itself; on a stream that is possible at its end only.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine, Sequence
from typing import Any

from verifier.client.budget import Budget
from verifier.client.convert import score_request
from verifier.client.counts import Counting
from verifier.client.gateway import Gateway
from verifier.client.lane import Item, Lane, items_of
from verifier.client.options import Options
from verifier.client.pool import Pool
from verifier.client.retry import RETRYABLE, Backoff, pause
from verifier.client.types import ScoreCall
from verifier.client.uploads import ATTEMPTS, Big, affinity, big_of
from verifier.errors import (
    BackendError,
    DeadlineError,
    GatewayUnavailableError,
    OverloadedError,
    RequestError,
    UnknownSuiteError,
    VerifierError,
)
from verifier.types import Outcome, Result
from verifier.v1 import verifier_pb2 as pb
from verifier.wire import convert as values
from verifier.wire.status import error_from_code

__all__ = ["ManyCalls", "unserved"]

# A request above this is held against the gateway's own bound before it is sent: it would end the
# stream.
_SURELY_FITS = 1024 * 1024
# Where every stream is full, look this often whether a gateway came back.
_LOOK_AGAIN_S = 1.0
_INFO_S = 10.0


def unserved(error: VerifierError, request_id: str) -> Result:
    """The result of a call that could not be served."""
    return Result(
        Outcome.INFRA_ERROR, error=f"{type(error).__name__}: {error}", request_id=request_id
    )


class ManyCalls:
    """One batch. Used once.

    Args:
        pool: The gateways.
        calls: What to score.
        options: Of the client.
        retries: Its budget.
        hedges: The same, of second requests.
        counting: Its counters.
    """

    def __init__(
        self,
        pool: Pool,
        calls: Sequence[ScoreCall],
        options: Options,
        retries: Budget,
        hedges: Budget,
        counting: Counting,
    ) -> None:
        """Nothing is sent yet."""
        self._pool = pool
        self._calls = calls
        self._options = options
        self._backoff = Backoff(options.retry)
        self._retries = retries
        self._hedges = hedges
        self._counting = counting
        # Of equal objects one is looked at; the calls keep them alive.
        self._bigs: dict[tuple[int, str, str | None, str], Big | None] = {}
        self._results: list[Result | None] = [None] * len(calls)
        self._waiting = deque(items_of(calls))
        self._left = len(calls)
        self._lanes: dict[Gateway, Lane] = {}
        # Streams that died without an answer, and failed health checks, in a row.
        self._barren = 0
        self._pause_s = 0.0
        self._room = asyncio.Event()
        self._all_done = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._timers: set[asyncio.TimerHandle] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._bug: BaseException | None = None

    async def run(self) -> list[Result]:
        """Results in the order of the calls."""
        try:
            await self._pool.admit()
            self._spawn(self._dispatch())
            await self._all_done.wait()
            if self._bug is not None:
                raise self._bug
            await asyncio.gather(*(lane.finish() for lane in self._lanes.values()))
        except GatewayUnavailableError as exc:
            self._give_up(exc)
        finally:
            for lane in self._lanes.values():
                for item in list(lane.items.values()):
                    item.disarm()
                    lane.drop(item)
            for item in self._waiting:
                item.disarm()
            for timer in self._timers:
                timer.cancel()
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return [result for result in self._results if result is not None]

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            # Never one of ours: a batch that waited on after it would wait for ever.
            self._bug = error
            self._all_done.set()

    # ------------------------------------------------------------ from waiting to a stream

    async def _dispatch(self) -> None:
        while True:
            item = await self._next()
            try:
                await self._look_at(item)
            except VerifierError as exc:
                self._finish(item, unserved(exc, item.call.request_id))
                continue
            lane = await self._lane_for(item)
            if lane is not None:
                lane.take(item)

    async def _next(self) -> Item:
        while True:
            while self._waiting and self._in_flight() < self._options.max_in_flight:
                item = self._waiting.popleft()
                if self._results[item.index] is None:
                    return item
            self._room.clear()
            await self._room.wait()

    def _in_flight(self) -> int:
        return sum(len(lane.items) for lane in self._lanes.values())

    async def _look_at(self, item: Item) -> None:
        """Whether its ground truth goes up first, and where its suite should be."""
        if item.key is None:
            call = item.call
            key = (id(call.ground_truth), call.ground_truth_format, call.fn_name, call.data_source)
            if key not in self._bigs:
                self._bigs[key] = await big_of(call, self._options.upload_above_bytes)
            item.big = self._bigs[key]
            item.key = affinity(call, item.big)

    async def _lane_for(self, item: Item) -> Lane | None:
        """A stream with room; None: the item is done meanwhile."""
        while self._results[item.index] is None:
            if self._pause_s:
                wait_s, self._pause_s = self._pause_s, 0.0
                await pause(wait_s)
            full = [lane.gateway for lane in self._lanes.values() if lane.full]
            gateway = self._pool.pick(item.key, avoid=item.avoid, without=full)
            if gateway is not None:
                return self._lanes.get(gateway) or self._open(gateway)
            if self._pool.usable:
                self._room.clear()
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._room.wait(), _LOOK_AGAIN_S)
            elif not await self._pool.revive():
                self._barren += 1
                self._end_if_hopeless(self._pool.unavailable())
        return None

    def _open(self, gateway: Gateway) -> Lane:
        lane = self._lanes[gateway] = Lane(gateway, self._options.max_in_flight)
        lane.task = self._spawn(self._serve(lane))
        return lane

    async def _serve(self, lane: Lane) -> None:
        error = await lane.run(self._build, self._take)
        self._lanes.pop(lane.gateway, None)
        if self._left:
            self._died(lane, error)

    def _died(self, lane: Lane, error: VerifierError) -> None:
        self._pool.failed(lane.gateway, lane.link, error)
        unfinished = list(lane.items.values())
        for item in reversed(unfinished):
            lane.drop(item)
            item.avoid.add(lane.gateway)
            self._again_or_never(item, error, to_front=True)
        self._room.set()
        self._barren = 0 if lane.answers else self._barren + 1
        if not isinstance(error, RETRYABLE) or not self._retries.take():
            if not self._lanes:
                self._give_up(error)
            return
        self._end_if_hopeless(error)
        if not lane.gateway.aside and not self._pool.elsewhere(lane.gateway):
            self._pause_s = self._backoff.wait_s(max(1, self._barren), error)

    def _end_if_hopeless(self, error: VerifierError) -> None:
        attempts = self._options.retry.attempts(len(self._pool.gateways))
        if self._barren >= attempts and not self._lanes:
            self._give_up(error)

    # ------------------------------------------------------------ what is written

    async def _build(self, lane: Lane, item: Item) -> pb.ScoreRequest | None:
        if item.lane is not lane:
            return None
        self._arm(item)
        try:
            big = item.big if item.unknown < ATTEMPTS else None
            if big is not None and not lane.gateway.uploads.ready(big):
                self._spawn(self._upload(lane, item, big))
                return None
            request = await self._request(lane, item)
        except VerifierError as exc:
            self._finish(item, unserved(exc, item.call.request_id))
            return None
        if item.lane is not lane:
            return None
        self._counting.sent(again=item.attempts > 0)
        item.attempts += 1
        return request

    async def _upload(self, lane: Lane, item: Item, big: Big) -> None:
        try:
            await lane.gateway.uploads.named(item.call, big)
        except VerifierError as exc:
            if item.lane is not lane:
                return
            lane.drop(item)
            self._room.set()
            if isinstance(exc, RETRYABLE):
                item.attempts += 1
                item.avoid.add(lane.gateway)
                self._pool.failed(lane.gateway, lane.link, exc)
                self._again_or_never(item, exc)
            else:
                self._finish(item, unserved(exc, item.call.request_id))
        else:
            if item.lane is lane:
                lane.again(item)

    async def _request(self, lane: Lane, item: Item) -> pb.ScoreRequest:
        request, item.upload = await self._message(lane.gateway, item)
        size = request.ByteSize()
        if size > _SURELY_FITS:
            ceiling = await _message_bound(lane.gateway)
            if ceiling is not None and size > ceiling:
                raise RequestError(
                    "message",
                    f"{size} bytes, and the gateway takes {ceiling}: upload the ground truth "
                    "with put_suite and send its digest",
                )
        return request

    async def _message(self, gateway: Gateway, item: Item) -> tuple[pb.ScoreRequest, int]:
        call, upload = item.call, 0
        if item.big is not None and item.unknown < ATTEMPTS:
            call, upload = await gateway.uploads.named(call, item.big)
        # The wire takes no zero; the timer is about to fire.
        left_s = None if item.end is None else max(item.end - self._loop.time(), 1e-3)
        request = score_request(
            call,
            request_id=item.wire_id,
            client_id=self._options.client_id,
            deadline_s=left_s,
        )
        return request, upload

    # ------------------------------------------------------------ what comes back

    def _take(self, lane: Lane, message: pb.ScoreResponse) -> None:
        item = lane.items.get(message.request_id)
        if item is None:
            # It came after its deadline, or after another's answer.
            return
        lane.drop(item)
        self._room.set()
        if not message.error_code:
            lane.widen()
            self._answered(lane)
            self._settle(item, message)
            return
        error = error_from_code(message.error_code, message.error, message.retry_after_s)
        if isinstance(error, UnknownSuiteError) and self._asks_again(lane, item):
            self._waiting.appendleft(item)
        elif isinstance(error, RETRYABLE):
            lane.narrow()
            item.avoid.add(lane.gateway)
            self._refused(lane, error)
            self._again_or_never(item, error)
        else:
            self._answered(lane)
            self._counting.answered()
            self._finish(item, unserved(error, item.call.request_id))

    def _asks_again(self, lane: Lane, item: Item) -> bool:
        """After an answer that the suite is not known."""
        if item.upload and item.big is not None:
            lane.gateway.uploads.forget(item.big, item.upload)
            item.upload, item.unknown = 0, item.unknown + 1
            return True
        # The caller's own digest: another gateway may hold it.
        item.avoid.add(lane.gateway)
        return item.call.suite_digest is not None and any(
            gateway not in item.avoid for gateway in self._pool.usable
        )

    def _answered(self, lane: Lane) -> None:
        lane.answers += 1
        self._barren = 0
        self._pool.answered(lane.gateway)
        self._retries.earn()
        self._hedges.earn()

    def _refused(self, lane: Lane, error: VerifierError) -> None:
        if isinstance(error, OverloadedError):
            self._pool.failed(lane.gateway, lane.link, error)
        else:
            # Its code does not tell a slot from the whole: only several in a row count.
            self._pool.refused(lane.gateway, lane.link, error)

    def _settle(self, item: Item, message: pb.ScoreResponse) -> None:
        self._counting.answered()
        result = values.result_from_pb(message)
        self._finish(item, result.replace(request_id=item.call.request_id))

    # ------------------------------------------------------------ late ones

    def _arm(self, item: Item) -> None:
        """Start the item's clocks when it is first sent."""
        if item.timers or self._results[item.index] is not None:
            return
        own, options = item.call.deadline_s, self._options
        timeout_s = options.timeout_s if own is None else own
        if timeout_s is not None:
            item.end = self._loop.time() + timeout_s
            item.timers.append(self._loop.call_later(timeout_s, self._expire, item, timeout_s))
        if options.hedge_after_s is not None:
            self._hedge_in(options.hedge_after_s, item)

    def _expire(self, item: Item, timeout_s: float) -> None:
        if item.lane is not None:
            item.lane.abandoned = True
        error = DeadlineError(f"no answer within {timeout_s:g} s")
        self._finish(item, unserved(error, item.call.request_id))

    def _hedge_in(self, after_s: float, item: Item) -> None:
        item.timers.append(self._loop.call_later(after_s, self._hedge, after_s, item))

    def _hedge(self, after_s: float, item: Item) -> None:
        item.timers.pop()
        if item.lane is not None and item.attempts:
            other = self._pool.pick(without=(item.lane.gateway,))
            if other is not None and self._hedges.take():
                item.hedge = self._spawn(self._second(item, other))
                return
        # Not on a stream just now, or the share is used up: it may be different later.
        self._hedge_in(max(after_s, 0.05), item)

    async def _second(self, item: Item, other: Gateway) -> None:
        link = other.link
        try:
            with other.busy():
                request, _ = await self._message(other, item)
                link = other.link
                self._counting.sent(hedged=True)
                left_s = None if item.end is None else max(0.0, item.end - self._loop.time())
                message: pb.ScoreResponse = await link.unary("Score", request, left_s)
        except VerifierError as exc:
            self._pool.failed(other, link, exc)
            return
        if message.error_code or self._results[item.index] is not None:
            return
        if item.lane is not None:
            item.lane.abandoned = True
        self._settle(item, message)

    # ------------------------------------------------------------ the end of one

    def _again_or_never(self, item: Item, error: VerifierError, *, to_front: bool = False) -> None:
        if self._results[item.index] is not None:
            return
        if item.attempts >= self._options.retry.attempts(len(self._pool.gateways)):
            self._finish(item, unserved(error, item.call.request_id))
        elif to_front:
            self._waiting.appendleft(item)
        else:
            self._requeue_later(item, error)

    def _requeue_later(self, item: Item, error: VerifierError) -> None:
        def requeue() -> None:
            self._timers.discard(timer)
            self._waiting.append(item)
            self._room.set()

        if any(gateway not in item.avoid for gateway in self._pool.usable):
            # It goes to one that did not ask for a pause.
            wait_s = self._backoff.sleep_s(item.attempts, None)
        else:
            wait_s = self._backoff.sleep_s(item.attempts, error)
        timer = self._loop.call_later(wait_s, requeue)
        self._timers.add(timer)

    def _give_up(self, error: VerifierError) -> None:
        if isinstance(error, (GatewayUnavailableError, BackendError)):
            self._pool.gave_up()
        for index, result in enumerate(self._results):
            if result is None:
                self._results[index] = unserved(error, self._calls[index].request_id)
        self._left = 0
        self._all_done.set()

    def _finish(self, item: Item, result: Result) -> None:
        item.disarm()
        if self._results[item.index] is not None:
            return
        self._results[item.index] = result
        if item.lane is not None:
            item.lane.drop(item)
        if item.hedge is not None and item.hedge is not asyncio.current_task():
            item.hedge.cancel()
        self._room.set()
        self._left -= 1
        if not self._left:
            self._all_done.set()


async def _message_bound(gateway: Gateway) -> int | None:
    """What the gateway says of its messages; None where it does not."""
    if gateway.max_message_bytes is None:
        try:
            found = await gateway.link.unary("GetInfo", pb.GetInfoRequest(), _INFO_S)
        except VerifierError:
            return None
        gateway.max_message_bytes = found.max_message_bytes
    return gateway.max_message_bytes
