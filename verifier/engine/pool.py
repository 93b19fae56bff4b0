"""The slots of one engine: who gets one, and what happens to one that failed.

A caller asks for one slot, or for a group at once (a solution and its checker run side by side;
taking one and then the other could deadlock). Whose turn it is, is decided in `engine.shares`. A
group that cannot be served yet holds the line: otherwise single callers could starve it for ever.

A slot may have a partner: a second slot that goes wherever the first one goes, for a program that
takes turns with the solution (tests that call it, an interactor). Taking a slot grants its partner
too, so no two callers can hold half of what the other needs, and since the two take turns, one core
carries both.

A slot that failed, died while it was idle, or has served long enough, is closed and replaced in the
background, again and again until there is a new one. Where that fails again and again, or slots
fail as soon as they are used, a breaker opens (`engine.breaker`): who waits in line is told when to
come back, and one probe at a time is made until a slot gives the right answer to a known program.

Where slots come and go by themselves (`sandbox.runners`), `resize` says how many there can be.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from verifier.engine import canary
from verifier.engine.breaker import DEFAULT_RULE, Breaker, Rule, State
from verifier.engine.cores import Cores
from verifier.engine.shares import Claim, Line, Place
from verifier.errors import BackendDownError, BackendError, InfraError
from verifier.sandbox.base import ElasticSandbox, Sandbox, Slot

logger = logging.getLogger(__name__)

RECYCLE_AFTER = 20_000
# A partner that is free is there by then.
PARTNER_PATIENCE_S = 0.5
# Bounds of the waits between two tries to open a slot; each is drawn from a bound's upper half.
REPLACE_RETRY_S = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)


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
        breaker: Breaker | None = None,
        probes: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`size` slots are kept open from `start` to `close`.

        Args:
            sandbox: Where they come from.
            size: How many.
            recycle_after: So many uses, and a slot is replaced.
            pin: Bind each slot and its partner to one core.
            cores: Which cores; shared by pools that run beside each other.
            breaker: Of the backend; shared by the pools that open slots there.
            probes: Whether this pool is the one that probes the backend while that is open.
            clock: Monotonic seconds.
        """
        self._sandbox = sandbox
        self._elastic = sandbox if isinstance(sandbox, ElasticSandbox) else None
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
        self.breaker = breaker or Breaker(rule_for(size), clock=clock)
        self.breaker.watch(self._turned)
        self._probes = probes
        self._turn = asyncio.Event()
        # Slots to be opened (in the place of others, or more of them), and those that a probe left
        # for them.
        self._owed = 0
        self._prober: asyncio.Task[None] | None = None
        self._proven: list[Slot] = []
        # Slots that were thrown away: they failed, died, or were worn out.
        self.replaced = 0

    @property
    def idle(self) -> int:
        """Slots that could be taken right now."""
        return len(self._idle)

    @property
    def busy(self) -> int:
        """Slots that somebody has."""
        return len(self._grants)

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
        self._fail_waiting(lambda: BackendError("the engine is closing"))
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        slots, self._idle = self._idle + self._proven, []
        slots += self._partners.values()
        self._partners.clear()
        self._proven.clear()
        await asyncio.gather(*(slot.close() for slot in slots), return_exceptions=True)

    def try_take(self, claim: Claim | int = 0) -> Slot | None:
        """An idle slot, if nobody waits for it. Give it back with `give_back`."""
        self._drop_dead()
        if self._closed or not self.spare:
            return None
        return self._grant(_claim(claim), 1)[0]

    async def take(self, count: int = 1, claim: Claim | int = 0) -> list[Slot]:
        """`count` slots at once.

        Args:
            count: How many.
            claim: Of the task that asks, for all it takes; a number is a priority and nothing else.

        Raises:
            BackendError: There are fewer slots than that.
            BackendDownError: None can be opened at the moment.
        """
        claim = _claim(claim)
        if self._closed:
            raise BackendError("the engine is closed")
        if count > self.size:
            raise BackendError(f"{count} slots are needed at once, the engine has {self.size}")
        self._drop_dead()
        if self.spare >= self._whole(count):
            return self._grant(claim, self._whole(count))
        if not self.breaker.closed:
            raise self.down()
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
            BackendDownError: It cannot be opened at the moment.
        """
        found = self._partners.get(slot.name)
        if found is not None and found.healthy:
            return found
        if found is not None:
            del self._partners[slot.name]
            await _close(found)
        opened = await self._open_partner(self._bound.get(slot.name))
        self._partners[slot.name] = opened
        return opened

    def paired(self, slot: Slot) -> bool:
        """Whether a slot's partner is open."""
        return slot.name in self._partners

    def resize(self, size: int) -> None:
        """There can be so many slots from now on (one at the least); who has gone is replaced."""
        self.size = max(size, 1)
        self._drop_dead()
        while self._alive > self.size and self._idle:
            self._retire(self._idle.pop())
        for _ in range(self.size - self._alive - self._owed):
            self._owed += 1
            self._spawn(self._fill())
        self._serve()

    def down(self) -> BackendDownError:
        """What is said while the breaker is not closed."""
        return BackendDownError(
            f"the {self._sandbox.name} backend is down and being probed: {self.breaker.reason}",
            self.breaker.retry_after_s(),
        )

    def give_back(self, slot: Slot) -> None:
        """Return a slot; one that is not healthy is replaced."""
        grant = self._grants.pop(slot.name)
        self._charge(grant)
        self._line.end(grant.claim)
        uses = self._uses.get(slot.name, 0) + 1
        self._uses[slot.name] = uses
        worn = not slot.healthy or uses >= self._recycle_after
        if self._closed or worn or self._alive > self.size:
            self._retire(slot)
        else:
            self.breaker.worked()
            self._idle.append(slot)
            self._lend_partner(slot)
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
        watch = getattr(slot, "watch", None)
        if watch is not None:
            watch(lambda: self._lost(slot))
        self._serve()

    async def _open_partner(self, core: int | None) -> Slot:
        if self._elastic is None:
            try:
                return await self._sandbox.open_slot(core)
            except InfraError as e:
                self.breaker.failed(f"a slot cannot be opened: {e}")
                raise BackendDownError(str(e), self.breaker.retry_after_s()) from e
        opening = asyncio.create_task(self._elastic.open_partner(core))
        try:
            await asyncio.wait([opening], timeout=PARTNER_PATIENCE_S)
            for idle in self._idle:
                self._lend_partner(idle)
            return await opening
        except BaseException:
            if opening.done() and not opening.cancelled() and opening.exception() is None:
                self._spawn(_close(opening.result()))
            raise
        finally:
            opening.cancel()

    def _lend_partner(self, idle: Slot) -> None:
        """Let go of the partner of a slot that does nothing, where others wait for one."""
        if self._elastic is not None and self._elastic.partners_wanted:
            partner = self._partners.pop(idle.name, None)
            if partner is not None:
                self._spawn(_close(partner))

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
        self._drop_dead()
        while self._idle and self._line.waiting:
            for grant in self._grants.values():
                self._charge(grant)
            first: Place[_Wanted] | None = self._line.first()
            # All of them are fewer than when they were asked for, if some have gone since.
            if first is None:
                return
            count = self._whole(first.item.count)
            if len(self._idle) < count:
                return
            if not first.item.future.done():  # else cancelled, and about to leave
                first.item.future.set_result(self._grant(first.claim, count))
            self._line.leave(first)

    def _whole(self, count: int) -> int:
        """How many slots a group of so many gets: all of them are those that there are.

        One that is being replaced comes soon, or the breaker opens. Slots that come and go by
        themselves may be another gateway's, and never come.
        """
        return min(count, self.size if self._elastic is None else max(self._alive, 1))

    def _retire(self, slot: Slot) -> None:
        """Throw a slot away that nobody has; another is opened."""
        self._alive -= 1
        self.replaced += 1
        self._uses.pop(slot.name, None)
        self._owed += 1
        self._spawn(self._replace(slot))

    def _lost(self, slot: Slot) -> None:
        """A slot died. Who has it finds out by itself."""
        if slot in self._idle and not self._closed:
            self._idle.remove(slot)
            self._failed(f"{slot.name} died while it was idle")
            self._retire(slot)

    def _failed(self, problem: str) -> None:
        """Tell the breaker; not of slots that go by themselves, while there are others."""
        if self._elastic is None or not self._alive:
            self.breaker.failed(problem)

    def _drop_dead(self) -> None:
        for slot in [slot for slot in self._idle if not slot.healthy]:
            self._lost(slot)

    async def _replace(self, old: Slot) -> None:
        try:
            await self._discard(old)
        except BaseException:
            self._owed -= 1
            raise
        await self._fill()

    async def _fill(self) -> None:
        """Open a slot that is owed, however often it has to be tried, while there can be one."""
        try:
            failures = 0
            while not self._closed and self._alive + self._owed <= self.size:
                await self._breaker_closes()
                try:
                    slot = self._proven.pop() if self._proven else await self._open()
                # Whatever it was (a thread that cannot be started, a full disk): it is tried again,
                # or the slot would be gone for good.
                except Exception as e:  # noqa: BLE001
                    self._last_error = e
                    logger.warning("cannot open a slot: %s", e)
                    self._failed(f"a slot cannot be opened: {e}")
                    bound = REPLACE_RETRY_S[min(failures, len(REPLACE_RETRY_S) - 1)]
                    failures += 1
                    await asyncio.sleep(bound * random.uniform(0.5, 1.0))  # noqa: S311
                else:
                    if self._closed:
                        await self._discard(slot)
                    else:
                        self._add(slot)
                    return
        finally:
            self._owed -= 1

    async def _discard(self, slot: Slot) -> None:
        """Close a slot, and give back what went with it."""
        await _close(slot)
        core = self._bound.pop(slot.name, None)
        if core is not None and self._cores is not None:
            self._cores.give_back(core)
        partner = self._partners.pop(slot.name, None)
        if partner is not None:
            await _close(partner)

    # ------------------------------------------------------------ while the backend is down

    def _turned(self) -> None:
        """The breaker has another state."""
        self._turn.set()
        if self._closed or self.breaker.closed:
            return
        if self.breaker.state is State.OPEN:
            self._fail_waiting()
            if self._probes and self._prober is None:
                self._prober = self._spawn(self._probe())

    async def _breaker_closes(self) -> None:
        while not self.breaker.closed:
            self._turn.clear()
            await self._turn.wait()

    async def _probe(self) -> None:
        try:
            while not self.breaker.closed:
                await asyncio.sleep(self.breaker.wait_s())
                if self.breaker.probe():
                    self.breaker.probed(await self._problem())
        finally:
            self._prober = None

    async def _problem(self) -> str:
        """Open a slot and ask it something: what is wrong, or "" when nothing is."""
        slot: Slot | None = None
        try:
            slot = await self._open()
            if not getattr(self._sandbox, "scripted", False):
                await canary.sing(slot)
        except Exception as e:  # noqa: BLE001 - as above
            logger.warning("the %s backend is still down: %s", self._sandbox.name, e)
            if slot is not None:
                await self._discard(slot)
            return str(e) or type(e).__name__
        if self._owed > len(self._proven):
            self._proven.append(slot)
        else:
            await self._discard(slot)
        return ""

    def _fail_waiting(self, error: Callable[[], BackendError] | None = None) -> None:
        while (first := self._line.first()) is not None:
            if not first.item.future.done():
                first.item.future.set_exception((error or self.down)())
            self._line.leave(first)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def rule_for(slots: int) -> Rule:
    """When so many slots are a backend that fails: each of them once, all at once, is one event."""
    return Rule(failures=max(DEFAULT_RULE.failures, 2 * slots + 1))


async def _close(slot: Slot) -> None:
    """Close a slot that may be in any state; what it leaves is swept later."""
    try:
        await slot.close()
    except Exception as e:  # noqa: BLE001 - a dead engine, a full disk: there is a new slot anyway
        logger.warning("%s: cannot be closed: %s", slot.name, e)


def _claim(given: Claim | int) -> Claim:
    return given if isinstance(given, Claim) else Claim(priority=given)
