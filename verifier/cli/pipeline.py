"""Rows through a scorer, with bounded memory, results in the order of the rows.

Two bounds: at most `in_flight` rows are being scored, and at most `window` results wait for an
earlier one to finish. The second is larger, so that one slow row does not idle the slots, and
finite, so that it cannot fill the memory either.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from verifier.data import BadRow, Row, RowScorer
from verifier.types import Outcome, Result

# Rows in flight for each slot: enough that a slot never waits for a row to be read.
IN_FLIGHT_PER_SLOT = 4
# Finished results that may wait, for each row in flight.
WINDOW_PER_IN_FLIGHT = 16


@dataclass(frozen=True, slots=True)
class Scored:
    """A row with its result.

    Attributes:
        row: As it was read.
        result: What came of it.
        index: Its place among all rows, from 0.
        repeats: Further results of it, where flaky verdicts are looked for.
    """

    row: Row | BadRow
    result: Result
    index: int = 0
    repeats: tuple[Result, ...] = ()


async def score_rows(
    rows: Iterable[Row | BadRow],
    scorer: RowScorer,
    write: Callable[[Scored], None],
    finished: Callable[[Scored], None] = lambda _: None,
    *,
    skip: Callable[[int], bool] = lambda _: False,
    stopping: Callable[[], bool] = lambda: False,
    repeat: int = 1,
) -> None:
    """Score all rows.

    Args:
        rows: Read lazily.
        scorer: Who scores them.
        write: Called with each result, in the order of the rows.
        finished: Called with each result as soon as it is there, in any order. What it raises ends
            all.
        skip: Says of a row's place whether it is done already.
        stopping: Whether no further row is to be begun; what was begun is finished.
        repeat: How often each row is scored.
    """
    in_flight = max(1, scorer.slots) * IN_FLIGHT_PER_SLOT
    window = in_flight * WINDOW_PER_IN_FLIGHT
    free = asyncio.Semaphore(in_flight)
    pending: deque[asyncio.Task[Scored]] = deque()

    async def work(index: int, row: Row | BadRow) -> Scored:
        try:
            result = await _result(row, scorer)
            again = [await _result(row, scorer) for _ in range(repeat - 1)]
        finally:
            free.release()
        scored = Scored(row, result, index, tuple(again))
        finished(scored)
        return scored

    try:
        for index, row in enumerate(rows):
            if skip(index):
                continue
            await free.acquire()
            if stopping():
                break
            pending.append(asyncio.create_task(work(index, row)))
            while pending and (pending[0].done() or len(pending) >= window):
                write(await pending[0])
                pending.popleft()
        while pending:
            write(await pending[0])
            pending.popleft()
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


async def _result(row: Row | BadRow, scorer: RowScorer) -> Result:
    if isinstance(row, BadRow):
        return Result(Outcome.INVALID_SUITE, error=row.reason, scorer="")
    return await scorer.score(row)
