"""The slots of one engine: who gets one, and what happens to one that failed.

A caller asks for one slot, or for a group at once (a solution and its checker run side by side;
taking one and then the other could deadlock). Waiting callers are served by priority, then in
order. A group that cannot be served yet holds the line: otherwise single callers could starve it
for ever.

A slot may have a partner: a second slot that goes wherever the first one goes, for a program that
takes turns with the solution (tests that call it, an interactor). Taking a slot grants its partner
too, so no two callers can hold half of what the other needs, and since the two take turns, one core
carries both.

A slot that failed, or that has served long enough, is closed and replaced in the background.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from verifier.errors import BackendError, InfraError
from verifier.sandbox.base import Sandbox, Slot

logger = logging.getLogger(__name__)

RECYCLE_AFTER = 20_000
REPLACE_RETRY_S = (0.05, 0.2, 1.0, 3.0)


@dataclass(order=True)
class _Waiter:
    key: tuple[int, int]
    count: int = field(compare=False)
    future: asyncio.Future[list[Slot]] = field(compare=False)


class SlotPool:
    """See the module. Belongs to one event loop."""

    def __init__(self, sandbox: Sandbox, size: int, recycle_after: int = RECYCLE_AFTER) -> None:
        """`size` slots are kept open from `start` to `close`."""
        self._sandbox = sandbox
        self.size = size
        self._recycle_after = recycle_after
        self._idle: list[Slot] = []
        self._uses: dict[str, int] = {}
        self._waiting: list[_Waiter] = []
        self._order = itertools.count()
        self._partners: dict[str, Slot] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._alive = 0
        self._closed = False
        self._last_error: Exception | None = None

    @property
    def idle(self) -> int:
        """Slots that could be taken right now."""
        return len(self._idle)

    @property
    def waiting(self) -> int:
        """Callers in line."""
        return sum(not w.future.done() for w in self._waiting)

    async def start(self) -> None:
        """Open all slots.

        Raises:
            BackendError: There can be none.
        """
        # One first: if the backend cannot serve at all, it is said once.
        self._add(await self._sandbox.open_slot())
        if self.size > 1:
            for slot in await asyncio.gather(
                *(self._sandbox.open_slot() for _ in range(self.size - 1))
            ):
                self._add(slot)

    async def close(self) -> None:
        """Fail who waits and close what is idle; slots in use are closed when they come back."""
        self._closed = True
        for waiter in self._waiting:
            if not waiter.future.done():
                waiter.future.set_exception(BackendError("the engine is closing"))
        self._waiting.clear()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        slots, self._idle = self._idle, []
        slots += self._partners.values()
        self._partners.clear()
        await asyncio.gather(*(slot.close() for slot in slots), return_exceptions=True)

    def try_take(self) -> Slot | None:
        """An idle slot, if nobody waits for it. Give it back with `give_back`."""
        if self._closed or not self._idle or self.waiting:
            return None
        return self._idle.pop()

    async def take(self, count: int = 1, priority: int = 0) -> list[Slot]:
        """`count` slots at once.

        Raises:
            BackendError: There are fewer slots than that, or none can be opened any more.
        """
        if self._closed:
            raise BackendError("the engine is closed")
        if count > self.size:
            raise BackendError(f"{count} slots are needed at once, the engine has {self.size}")
        if not self.waiting and len(self._idle) >= count:
            return [self._idle.pop() for _ in range(count)]
        if self._alive == 0 and not self._tasks:
            raise BackendError(f"no slot can be opened: {self._last_error}")
        waiter = _Waiter(
            (-priority, next(self._order)), count, asyncio.get_running_loop().create_future()
        )
        heapq.heappush(self._waiting, waiter)
        try:
            return await waiter.future
        except asyncio.CancelledError:
            if (
                waiter.future.done()
                and not waiter.future.cancelled()
                and waiter.future.exception() is None
            ):
                for slot in waiter.future.result():
                    self.give_back(slot)
            self._serve()
            raise

    async def partner(self, slot: Slot) -> Slot:
        """The slot that is granted together with this one; opened when it is first asked for.

        Raises:
            BackendError: It cannot be opened.
        """
        found = self._partners.get(slot.name)
        if found is not None and found.healthy:
            return found
        if found is not None:
            await found.close()
        self._partners[slot.name] = opened = await self._sandbox.open_slot()
        return opened

    def give_back(self, slot: Slot) -> None:
        """Return a slot; one that is not healthy is replaced."""
        uses = self._uses.get(slot.name, 0) + 1
        self._uses[slot.name] = uses
        if self._closed or not slot.healthy or uses >= self._recycle_after:
            self._alive -= 1
            self._uses.pop(slot.name, None)
            self._spawn(self._replace(slot))
        else:
            self._idle.append(slot)
        self._serve()

    @contextlib.asynccontextmanager
    async def group(self, count: int = 1, priority: int = 0) -> AsyncIterator[list[Slot]]:
        """`take` and `give_back` around a block."""
        slots = await self.take(count, priority)
        try:
            yield slots
        finally:
            for slot in slots:
                self.give_back(slot)

    # ------------------------------------------------------------ inside

    def _add(self, slot: Slot) -> None:
        self._alive += 1
        self._idle.append(slot)
        self._serve()

    def _serve(self) -> None:
        while self._waiting:
            first = self._waiting[0]
            if first.future.done():  # cancelled while it waited
                heapq.heappop(self._waiting)
                continue
            if len(self._idle) < first.count:
                return
            heapq.heappop(self._waiting)
            first.future.set_result([self._idle.pop() for _ in range(first.count)])

    async def _replace(self, old: Slot) -> None:
        await old.close()
        partner = self._partners.pop(old.name, None)
        if partner is not None:
            await partner.close()
        for attempt in itertools.count():
            if self._closed:
                return
            try:
                slot = await self._sandbox.open_slot()
            except InfraError as e:
                self._last_error = e
                logger.warning("cannot open a slot: %s", e)
                if attempt >= len(REPLACE_RETRY_S) and self._alive == 0:
                    self._fail_waiting(e)
                await asyncio.sleep(REPLACE_RETRY_S[min(attempt, len(REPLACE_RETRY_S) - 1)])
            else:
                if self._closed:
                    await slot.close()
                    return
                self._add(slot)
                return

    def _fail_waiting(self, error: Exception) -> None:
        for waiter in self._waiting:
            if not waiter.future.done():
                waiter.future.set_exception(BackendError(f"no slot can be opened: {error}"))
        self._waiting.clear()

    def _spawn(self, coroutine: object) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(coroutine)  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
