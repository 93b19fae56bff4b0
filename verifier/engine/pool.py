"""The slots of one engine: who gets one, and what happens to one that failed.

A caller asks for one slot, or for a group at once (a solution and its checker run side by side;
taking one and then the other could deadlock). Whose turn it is, is decided in `engine.shares`. A
group that cannot be served yet holds the line: otherwise single callers could starve it for ever.

A slot may have a partner: a second slot that goes wherever the first one goes, for a program that
takes turns with the solution (tests that call it, an interactor). Taking a slot grants its partner
too, so no two callers can hold half of what the other needs, and since the two take turns, one core
carries both.

A slot that failed, or that has served long enough, is closed and replaced in the background.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from verifier.engine.cores import Cores
from verifier.engine.shares import Claim, Line, Place
from verifier.errors import BackendError, InfraError
from verifier.sandbox.base import Sandbox, Slot

logger = logging.getLogger(__name__)

RECYCLE_AFTER = 20_000
REPLACE_RETRY_S = (0.05, 0.2, 1.0, 3.0)


@dataclass(eq=False, slots=True)
class _Wanted:
    count: int
    future: asyncio.Future[list[Slot]]


@dataclass(eq=False, slots=True)
class _Grant:
    claim: Claim
    since: float


class SlotPool:
    """See the module. Belongs to one event loop."""

    def __init__(
        self,
        sandbox: Sandbox,
        size: int,
        recycle_after: int = RECYCLE_AFTER,
        *,
        pin: bool = False,
        cores: Cores | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`size` slots are kept open from `start` to `close`.

        Args:
            sandbox: Where they come from.
            size: How many.
            recycle_after: So many uses, and a slot is replaced.
            pin: Bind each slot and its partner to one core.
            cores: Which cores; shared by pools that run beside each other.
            clock: Monotonic seconds.
        """
        self._sandbox = sandbox
        self.size = size
        self._recycle_after = recycle_after
        self._cores = (cores or Cores()) if pin else None
        self._clock = clock
        self._idle: list[Slot] = []
        self._uses: dict[str, int] = {}
        self._line: Line[_Wanted] = Line()
        self._grants: dict[str, _Grant] = {}
        self._partners: dict[str, Slot] = {}
        self._bound: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._alive = 0
        self._closed = False
        self._last_error: Exception | None = None

    @property
    def idle(self) -> int:
        """Slots that could be taken right now."""
        return len(self._idle)

    @property
    def spare(self) -> int:
        """Idle slots that nobody waits for."""
        return 0 if self._line.waiting else len(self._idle)

    @property
    def waiting(self) -> int:
        """Callers in line."""
        return self._line.waiting

    async def start(self) -> None:
        """Open all slots.

        Raises:
            BackendError: There can be none.
        """
        # One first: if the backend cannot serve at all, it is said once.
        self._add(await self._open())
        if self.size > 1:
            for slot in await asyncio.gather(*(self._open() for _ in range(self.size - 1))):
                self._add(slot)

    async def close(self) -> None:
        """Fail who waits and close what is idle; slots in use are closed when they come back."""
        self._closed = True
        self._fail_waiting("the engine is closing")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        slots, self._idle = self._idle, []
        slots += self._partners.values()
        self._partners.clear()
        await asyncio.gather(*(slot.close() for slot in slots), return_exceptions=True)

    def try_take(self, claim: Claim | int = 0) -> Slot | None:
        """An idle slot, if nobody waits for it. Give it back with `give_back`."""
        if self._closed or not self.spare:
            return None
        return self._grant(_claim(claim), 1)[0]

    async def take(self, count: int = 1, claim: Claim | int = 0) -> list[Slot]:
        """`count` slots at once.

        Args:
            count: How many.
            claim: Of the task that asks, for all it takes; a number is a priority and nothing else.

        Raises:
            BackendError: There are fewer slots than that, or none can be opened any more.
        """
        claim = _claim(claim)
        if self._closed:
            raise BackendError("the engine is closed")
        if count > self.size:
            raise BackendError(f"{count} slots are needed at once, the engine has {self.size}")
        if self.spare >= count:
            return self._grant(claim, count)
        if self._alive == 0 and not self._tasks:
            raise BackendError(f"no slot can be opened: {self._last_error}")
        future: asyncio.Future[list[Slot]] = asyncio.get_running_loop().create_future()
        place = self._line.enter(claim, _Wanted(count, future))
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                for slot in future.result():
                    self.give_back(slot)
            self._line.leave(place)
            self._serve()
            raise

    def outranked(self, slot: Slot) -> bool:
        """Whether who holds this slot should give it back now, for somebody in line."""
        if not self._line.waiting:
            return False
        grant = self._grants[slot.name]
        self._charge(grant)
        return self._line.outranked(grant.claim)

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
        opened = await self._sandbox.open_slot(self._bound.get(slot.name))
        self._partners[slot.name] = opened
        return opened

    def give_back(self, slot: Slot) -> None:
        """Return a slot; one that is not healthy is replaced."""
        grant = self._grants.pop(slot.name)
        self._charge(grant)
        self._line.end(grant.claim)
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
    async def group(self, count: int = 1, claim: Claim | int = 0) -> AsyncIterator[list[Slot]]:
        """`take` and `give_back` around a block."""
        slots = await self.take(count, claim)
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

    async def _open(self) -> Slot:
        if self._cores is None:
            return await self._sandbox.open_slot()
        core = self._cores.take()
        try:
            slot = await self._sandbox.open_slot(core)
        except BaseException:
            self._cores.give_back(core)
            raise
        self._bound[slot.name] = core
        return slot

    def _grant(self, claim: Claim, count: int) -> list[Slot]:
        now = self._clock()
        self._line.grant(claim, count)
        slots = []
        for _ in range(count):
            # Its last one, where it is idle: its program is there already.
            at = next((i for i, s in enumerate(self._idle) if s.name == claim.slot), -1)
            slot = self._idle.pop(at)
            claim.slot = slot.name
            self._grants[slot.name] = _Grant(claim, now)
            slots.append(slot)
        return slots

    def _charge(self, grant: _Grant) -> None:
        now = self._clock()
        self._line.charge(grant.claim, now - grant.since)
        grant.since = now

    def _serve(self) -> None:
        while self._idle and self._line.waiting:
            for grant in self._grants.values():
                self._charge(grant)
            first: Place[_Wanted] | None = self._line.first()
            if first is None or len(self._idle) < first.item.count:
                return
            if not first.item.future.done():  # else cancelled, and about to leave
                first.item.future.set_result(self._grant(first.claim, first.item.count))
            self._line.leave(first)

    async def _replace(self, old: Slot) -> None:
        await old.close()
        core = self._bound.pop(old.name, None)
        if core is not None and self._cores is not None:
            self._cores.give_back(core)
        partner = self._partners.pop(old.name, None)
        if partner is not None:
            await partner.close()
        for attempt in itertools.count():
            if self._closed:
                return
            try:
                slot = await self._open()
            except InfraError as e:
                self._last_error = e
                logger.warning("cannot open a slot: %s", e)
                if attempt >= len(REPLACE_RETRY_S) and self._alive == 0:
                    self._fail_waiting(f"no slot can be opened: {e}")
                await asyncio.sleep(REPLACE_RETRY_S[min(attempt, len(REPLACE_RETRY_S) - 1)])
            else:
                if self._closed:
                    await slot.close()
                    return
                self._add(slot)
                return

    def _fail_waiting(self, why: str) -> None:
        while (first := self._line.first()) is not None:
            if not first.item.future.done():
                first.item.future.set_exception(BackendError(why))
            self._line.leave(first)

    def _spawn(self, coroutine: object) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(coroutine)  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _claim(given: Claim | int) -> Claim:
    return given if isinstance(given, Claim) else Claim(priority=given)
