"""Rows over workers that may die: each row is with one of them, and with another if that one died.

A worker is a process somewhere that holds a scorer: an actor of Ray's (`ray_engine`), or a fake.
Here is what is the same for all of them. Every worker is kept by a task: it waits until the worker
is there and has opened its scorer, then gives it rows, and begins anew when it died. A row goes to
the worker that is least busy for its size; where all that are there have what they can carry, rows
wait in order, as the pipeline bounds how many there are.

    a worker dies             its rows are given to others; what it answered is kept
    rows die with a worker    again and again: from the second death on one of them at a time, so
                              that the one at fault is alone with its third, and has no score then
    a fault of a sandbox      the row is tried once more, by another worker
    a worker cannot open      it is left out, and said; without any left the run ends
    no worker is there        the rows wait, and the run ends when that takes too long

An end of the run is an error and not a result for each row: `--resume` goes on with those.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from verifier.data.rows import Row
from verifier.errors import InfraError, VerifierError
from verifier.types import Outcome, Result

__all__ = ["Opened", "RowScorer", "Worker", "WorkerDied", "WorkersScorer"]

# Workers that may die over a row before it counts as the cause.
DEATHS = 3
# Deaths in a row of a worker that is being opened.
_OPENINGS = 3
# Until the first worker is there: a cluster may have to start a machine for it.
START_S = 300.0


class RowScorer(Protocol):
    """Scores rows, many at once."""

    @property
    def slots(self) -> int:
        """Programs that run at once."""
        ...

    @property
    def backend(self) -> str:
        """Which sandbox runs them."""
        ...

    async def score(self, row: Row) -> Result:
        """Score one row. Raises nothing for a row's own faults, nor for a fault of the machinery.

        Raises:
            InfraError: There is nothing left to score with: the run ends.
        """
        ...

    async def close(self) -> None:
        """Stop what runs and free everything."""
        ...


@dataclass(frozen=True, slots=True)
class Opened:
    """A worker that has its scorer.

    Attributes:
        node: Where it is, for a person.
        slots: Programs that run at once there.
        backend: Which sandbox runs them.
    """

    node: str
    slots: int
    backend: str


class WorkerDied(Exception):  # noqa: N818 - an event, which is no fault of anybody's yet
    """The process, or its machine, is gone, and what it was asked with it."""


class Worker(Protocol):
    """A process somewhere that scores rows. Every method may raise `WorkerDied`."""

    async def open(self) -> Opened:
        """Wait until it is there, however long, and have it open its scorer.

        Raises:
            VerifierError: It cannot; says where, and why.
        """
        ...

    async def score(self, row: bytes) -> bytes:
        """A pickled row in, its pickled result out."""
        ...

    async def news(self) -> str:
        """Wait for something that a user should know."""
        ...

    async def close(self) -> None:
        """End it. Raises nothing."""
        ...


class _Seat:
    """A worker, and what is known of it."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.room = 0  # rows at once; 0 while it is not there
        self.busy = 0
        self.node = ""
        self.backend = ""
        self.gone = _future()  # why it died, as a row found out

    @property
    def load(self) -> float:
        return self.busy / self.room if self.room else float("inf")


class WorkersScorer:
    """A `RowScorer` over workers.

    Args:
        workers: One at least; closed with the scorer.
        slots: Of all of them, or None where each has the same ones before it (clients of gateways).
        per_slot: Rows at once for each slot.
        patience_s: How long rows wait while no worker is there.
        start_s: How long the first one may take.
        say: Gets what a user should know.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        *,
        slots: int | None,
        per_slot: int,
        patience_s: float,
        start_s: float = START_S,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`start` begins."""
        self._seats = [_Seat(worker) for worker in workers]
        self._slots = slots
        self._per_slot = per_slot
        self._patience_s = patience_s
        self._start_s = start_s
        self._say = say
        self._keepers: list[asyncio.Task[None]] = []
        self._waiting: deque[asyncio.Future[_Seat]] = deque()
        self._suspects = asyncio.Lock()
        self._left_out: list[VerifierError] = []
        self._end: VerifierError | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Wait for the first worker; the others come when they are there.

        Raises:
            VerifierError: None of them can open its scorer, or none is there in time.
        """
        self._end_in(
            self._start_s,
            f"no worker is there after {self._start_s:g} s: see `ray status` for the cores that "
            "they wait for",
        )
        self._keepers = [asyncio.create_task(self._keep(seat)) for seat in self._seats]
        self._give_back(await self._take())

    @property
    def slots(self) -> int:
        """Slots of all workers, also of those that are not there yet."""
        return self._slots or 1

    @property
    def backend(self) -> str:
        """Those of the workers that were there so far: nodes may differ."""
        return ", ".join(sorted({seat.backend for seat in self._seats} - {""}))

    async def score(self, row: Row) -> Result:
        """Have a worker score the row; see the module.

        Raises:
            InfraError: No worker is left.
        """
        try:
            data = pickle.dumps(row)
        except Exception as error:  # noqa: BLE001 - whatever an adapter put into the row
            problem = f"ground_truth: cannot be sent: {type(error).__name__}: {error}"
            return Result(Outcome.INVALID_SUITE, error=problem)
        died = ""
        for deaths in range(DEATHS):
            # Innocent rows died with the one at fault: it shall not take them along once more.
            alone = deaths == DEATHS - 1
            async with self._suspects if alone else contextlib.nullcontext():
                try:
                    return await self._score(data)
                except WorkerDied as error:
                    died = str(error)
        return Result(
            Outcome.INFRA_ERROR, error=f"{DEATHS} workers died while they scored it: {died}"
        )

    async def close(self) -> None:
        """End the workers."""
        if self._timer is not None:
            self._timer.cancel()
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        await asyncio.gather(*(seat.worker.close() for seat in self._seats))

    # ------------------------------------------------------------ a row

    async def _score(self, data: bytes) -> Result:
        seat = await self._take()
        result = await self._ask(seat, data)
        others = [other for other in self._seats if other.room and other is not seat]
        if result.outcome is not Outcome.INFRA_ERROR or not others:
            return result
        # Whether it has room or not: the one that has is, of all, the one with the fault.
        other = min(others, key=lambda one: one.load)
        other.busy += 1
        return await self._ask(other, data)

    async def _ask(self, seat: _Seat, data: bytes) -> Result:
        gone = seat.gone
        try:
            answer = await seat.worker.score(data)
        except WorkerDied as error:
            if not gone.done():
                gone.set_result(str(error))
                seat.room = 0
            raise
        finally:
            self._give_back(seat)
        result: Result = pickle.loads(answer)  # noqa: S301 - from a process of this run
        return result

    async def _take(self) -> _Seat:
        """The least busy worker that has room, when there is one."""
        if self._end is not None:
            raise self._end
        turn: asyncio.Future[_Seat] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._hand_out()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._give_back(turn.result())
            raise

    def _give_back(self, seat: _Seat) -> None:
        seat.busy -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting:
            if self._waiting[0].done():  # cancelled
                self._waiting.popleft()
                continue
            seat = min(self._seats, key=lambda one: one.load)
            if seat.busy >= seat.room:
                return
            seat.busy += 1
            self._waiting.popleft().set_result(seat)

    # ------------------------------------------------------------ a worker

    async def _keep(self, seat: _Seat) -> None:
        """Have a worker, again and again; returns when it is left out."""
        tries = 0
        while True:
            try:
                opened = await seat.worker.open()
            except WorkerDied as error:
                tries += 1
                if tries == _OPENINGS:
                    self._leave_out(InfraError(f"a worker does not start: {error}"))
                    return
                continue
            except VerifierError as error:
                self._leave_out(error)
                return
            tries = 0
            self._welcome(seat, opened)
            why = await self._listen(seat)
            seat.room = 0
            if not seat.gone.done():
                seat.gone.set_result(why)
            self._say(f"the worker on node {seat.node} died: {why}")
            if not any(one.room for one in self._seats):
                self._end_in(
                    self._patience_s,
                    f"no worker came back in {self._patience_s:g} s; what was scored is written, "
                    "and --resume goes on",
                )

    def _welcome(self, seat: _Seat, opened: Opened) -> None:
        self._slots = self._slots or opened.slots
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        seat.node, seat.backend = opened.node, opened.backend
        seat.gone = _future()
        seat.room = max(1, opened.slots) * self._per_slot
        self._say(f"a worker is on node {seat.node}, slots: {opened.slots}")
        self._hand_out()

    async def _listen(self, seat: _Seat) -> str:
        """Say what the worker says, until it died; returns why."""
        while True:
            news = asyncio.ensure_future(seat.worker.news())
            try:
                await asyncio.wait({seat.gone, news}, return_when=asyncio.FIRST_COMPLETED)
                if seat.gone.done():
                    return seat.gone.result()
                self._say(f"node {seat.node}: {news.result()}")
            except WorkerDied as error:
                return str(error)
            finally:
                news.cancel()
                await asyncio.gather(news, return_exceptions=True)

    def _leave_out(self, error: VerifierError) -> None:
        self._left_out.append(error)
        if len(self._left_out) == len(self._seats):
            self._end_with(error)
        else:
            self._say(f"going on without a worker: {error}")

    def _end_in(self, seconds: float, why: str) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds, self._end_with, InfraError(why))

    def _end_with(self, error: VerifierError) -> None:
        """Rows get this error from now on, also those that wait."""
        self._end = error
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(error)


def _future() -> asyncio.Future[str]:
    return asyncio.get_running_loop().create_future()
