"""Rows through a scorer: order, bounds, and that nothing is left running."""

from __future__ import annotations

import asyncio

import pytest

from tests.cli.helpers import FakeScorer, row, scored
from verifier.cli.pipeline import IN_FLIGHT_PER_SLOT, WINDOW_PER_IN_FLIGHT, score_rows
from verifier.data import BadRow
from verifier.types import Outcome


async def test_results_come_in_the_order_of_the_rows_whatever_finishes_first():
    gates = {1: asyncio.Event(), 2: asyncio.Event(), 3: asyncio.Event()}
    finished, written = [], []

    async def answer(wanted):
        await gates[wanted.line].wait()
        if wanted.line > 1:
            gates[wanted.line - 1].set()
        return scored()

    gates[3].set()
    await score_rows(
        [row(n) for n in (1, 2, 3)],
        FakeScorer(answer),
        lambda s: written.append(s.row.line),
        lambda s: finished.append(s.row.line),
    )
    assert finished == [3, 2, 1]
    assert written == [1, 2, 3]


async def test_the_rows_in_flight_are_bounded():
    scorer = FakeScorer(lambda _: asyncio.sleep(0, scored()), slots=2)
    written = []
    await score_rows([row(n) for n in range(100)], scorer, written.append)
    assert len(written) == 100
    assert scorer.most == 2 * IN_FLIGHT_PER_SLOT


async def test_rows_are_read_lazily_behind_a_slow_one():
    gate = asyncio.Event()
    read = []
    window = IN_FLIGHT_PER_SLOT * WINDOW_PER_IN_FLIGHT

    async def answer(wanted):
        if wanted.line == 0:
            await gate.wait()
        return scored()

    def rows():
        for n in range(10 * window):
            read.append(n)
            yield row(n)

    written = []
    work = asyncio.create_task(score_rows(rows(), FakeScorer(answer), written.append))
    for _ in range(20 * window):
        await asyncio.sleep(0)
    assert written == []
    assert len(read) <= window + 1
    gate.set()
    await work
    assert len(written) == 10 * window


async def test_a_bad_row_is_a_result_and_never_reaches_the_scorer():
    scorer = FakeScorer(lambda _: scored())
    written = []
    await score_rows([row(1), BadRow(2, "response: missing"), row(3)], scorer, written.append)
    assert scorer.asked == [1, 3]
    assert [s.result.outcome for s in written] == [
        Outcome.SCORED,
        Outcome.INVALID_SUITE,
        Outcome.SCORED,
    ]
    assert written[1].result.error == "response: missing"


async def test_cancelling_cancels_the_rows_in_flight():
    started = asyncio.Event()
    never = asyncio.Event()

    async def answer(_):
        started.set()
        await never.wait()

    scorer = FakeScorer(answer)
    work = asyncio.create_task(score_rows([row(1), row(2)], scorer, lambda _: None))
    await started.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert scorer.now == 0


async def test_a_failing_writer_stops_everything():
    def full(_):
        raise OSError("no space left")

    scorer = FakeScorer(lambda _: scored())
    with pytest.raises(OSError, match="no space left"):
        await score_rows([row(n) for n in range(50)], scorer, full)
    assert scorer.now == 0
