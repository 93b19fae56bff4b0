"""Rows over workers that die, that cannot open, that answer with faults: fakes of workers."""

from __future__ import annotations

import asyncio
import pickle

import pytest

from tests.cli.helpers import row, scored
from verifier.data.workers import DEATHS, Opened, WorkerDied, WorkersScorer
from verifier.errors import ConfigError, InfraError
from verifier.types import Outcome, Result

FAULT = Result(Outcome.INFRA_ERROR, error="the slot died")


class FakeWorker:
    """Opens as often as it is told to; answers rows from a function, until it is killed."""

    def __init__(self, name, answer=lambda _: scored(), opens=None, slots=1):
        self.name, self.slots = name, slots
        self.answer = answer
        self.opens = iter([None]) if opens is None else iter(opens)
        self.death = asyncio.Event()
        self.asked, self.now, self.most = [], 0, 0
        self.closed = False
        self.told = asyncio.Queue()

    async def open(self):
        problem = next(self.opens, asyncio.Event())
        if isinstance(problem, asyncio.Event):  # it does not come back, unless told to
            await problem.wait()
        elif problem is not None:
            raise problem
        self.death.clear()
        return Opened(self.name, self.slots, "namespaces")

    async def until_death(self, work):
        done = asyncio.ensure_future(work)
        death = asyncio.ensure_future(self.death.wait())
        await asyncio.wait({done, death}, return_when=asyncio.FIRST_COMPLETED)
        death.cancel()
        if done.done():
            return done.result()
        done.cancel()
        raise WorkerDied(f"{self.name} is gone")

    async def score(self, data):
        wanted = pickle.loads(data)
        self.asked.append(wanted.line)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            answer = self.answer(wanted)
            if not isinstance(answer, Result):
                answer = await self.until_death(answer)
            return pickle.dumps(answer)
        finally:
            self.now -= 1

    async def news(self):
        return await self.until_death(self.told.get())

    async def close(self):
        self.closed = True


def scorer_of(*workers, slots=None, patience_s=60, start_s=60, per_slot=2):
    said = []
    slots = slots or sum(worker.slots for worker in workers)
    scorer = WorkersScorer(
        workers, slots=slots, per_slot=per_slot, patience_s=patience_s, start_s=start_s,
        say=said.append,
    )  # fmt: skip
    scorer.said = said
    return scorer


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


async def never(_):
    await asyncio.Event().wait()


async def test_rows_are_spread_and_bounded():
    gate = asyncio.Event()

    async def answer(_):
        await gate.wait()
        return scored()

    one, three = FakeWorker("one", answer), FakeWorker("three", answer, slots=3)
    scorer = scorer_of(one, three)
    await scorer.start()
    await settle()
    rows = [asyncio.ensure_future(scorer.score(row(n))) for n in range(20)]
    await settle()
    assert (one.now, three.now) == (2, 6)
    gate.set()
    assert all(result.score == 1.0 for result in await asyncio.gather(*rows))
    assert sorted(one.asked + three.asked) == list(range(20))
    assert (one.most, three.most) == (2, 6)
    await scorer.close()
    assert one.closed
    assert three.closed


async def test_what_was_with_a_worker_that_died_is_given_to_another():
    doomed, other = FakeWorker("doomed", never), FakeWorker("other")
    scorer = scorer_of(doomed, other)
    await scorer.start()
    await settle()
    rows = [asyncio.ensure_future(scorer.score(row(n))) for n in range(6)]
    await settle()
    assert doomed.asked
    doomed.death.set()
    assert [result.score for result in await asyncio.gather(*rows)] == [1.0] * 6
    assert sorted(other.asked) == list(range(6))
    await settle()
    assert "the worker on node doomed died: doomed is gone" in scorer.said
    await scorer.close()


async def test_a_worker_that_comes_back_is_used_again():
    back = asyncio.Event()
    worker = FakeWorker("w", opens=[None, back, None])
    scorer = scorer_of(worker)
    await scorer.start()
    worker.death.set()
    await settle()
    late = asyncio.ensure_future(scorer.score(row(1)))
    await settle()
    assert worker.asked == []
    back.set()
    assert (await late).score == 1.0
    await scorer.close()


async def test_a_row_that_kills_its_workers_has_no_score_and_takes_no_other_along():
    class Fragile(FakeWorker):
        async def score(self, data):
            if pickle.loads(data).line == 0:
                self.asked.append(0)
                self.death.set()  # and all the rows that are with it
                raise WorkerDied("out of memory")
            return await super().score(data)

    async def slowly(_):
        await settle()
        return scored()

    workers = [Fragile(name, slowly, opens=[None] * 99) for name in "ab"]
    scorer = scorer_of(*workers, per_slot=4)
    await scorer.start()
    await settle()
    results = await asyncio.gather(*(scorer.score(row(n)) for n in range(8)))
    assert results[0].outcome is Outcome.INFRA_ERROR
    assert "3 workers died while they scored it: out of memory" in results[0].error
    assert [result.score for result in results[1:]] == [1.0] * 7
    assert sum(worker.asked.count(0) for worker in workers) == DEATHS
    await scorer.close()


async def test_a_fault_of_a_sandbox_is_tried_by_another_worker_though_that_is_full():
    gate = asyncio.Event()

    async def answer(_):
        await gate.wait()
        return scored()

    broken, sound = FakeWorker("broken", lambda _: FAULT), FakeWorker("sound", answer)
    scorer = scorer_of(broken, sound, per_slot=1)
    await scorer.start()
    await settle()
    rows = [asyncio.ensure_future(scorer.score(row(n))) for n in range(2)]
    await settle()
    assert sound.now == 2
    gate.set()
    assert [result.score for result in await asyncio.gather(*rows)] == [1.0, 1.0]
    await scorer.close()


async def test_a_fault_everywhere_is_an_infrastructure_error():
    scorer = scorer_of(FakeWorker("a", lambda _: FAULT), FakeWorker("b", lambda _: FAULT))
    await scorer.start()
    assert await scorer.score(row(1)) == FAULT
    await scorer.close()


async def test_a_worker_that_cannot_open_is_left_out_and_named():
    bad = FakeWorker("bad", opens=[ConfigError("node bad: no cgroups")])
    good = FakeWorker("good")
    scorer = scorer_of(bad, good)
    await scorer.start()
    await settle()
    assert "going on without a worker: node bad: no cgroups" in scorer.said
    assert (await scorer.score(row(1))).score == 1.0
    assert bad.asked == []
    await scorer.close()


async def test_without_any_that_opens_there_is_no_run():
    bad = [FakeWorker(n, opens=[ConfigError(f"node {n}: no cgroups")]) for n in "ab"]
    scorer = scorer_of(*bad)
    with pytest.raises(ConfigError, match="node b: no cgroups"):
        await scorer.start()
    await scorer.close()


async def test_one_that_dies_whenever_it_is_opened_is_left_out():
    scorer = scorer_of(FakeWorker("w", opens=[WorkerDied("no module named verifier")] * 3))
    with pytest.raises(InfraError, match="a worker does not start: no module named verifier"):
        await scorer.start()
    await scorer.close()


async def test_none_in_time_is_no_run():
    scorer = scorer_of(FakeWorker("w", opens=[]), start_s=0)
    with pytest.raises(InfraError, match="ray status"):
        await scorer.start()
    await scorer.close()


async def test_rows_wait_for_a_worker_to_come_back_and_then_the_run_ends():
    worker = FakeWorker("w", never)
    scorer = scorer_of(worker, patience_s=0)
    await scorer.start()
    waiting = asyncio.ensure_future(scorer.score(row(1)))
    await settle()
    worker.death.set()
    with pytest.raises(InfraError, match=r"no worker came back in 0 s.*--resume"):
        await waiting
    with pytest.raises(InfraError, match="no worker came back"):
        await scorer.score(row(2))
    await scorer.close()


async def test_a_cancelled_row_gives_its_place_back():
    gate = asyncio.Event()

    async def answer(_):
        await gate.wait()
        return scored()

    worker = FakeWorker("w", answer)
    scorer = scorer_of(worker, per_slot=1)
    await scorer.start()
    with_it, next_one, last = (asyncio.ensure_future(scorer.score(row(n))) for n in range(3))
    await settle()
    with_it.cancel()
    next_one.cancel()
    await settle()
    gate.set()
    assert (await last).score == 1.0
    assert worker.asked == [0, 2]
    await scorer.close()


async def test_what_a_worker_says_is_said():
    worker = FakeWorker("w")
    scorer = scorer_of(worker)
    await scorer.start()
    worker.told.put_nowait("waiting for the gateway")
    await settle()
    assert "node w: waiting for the gateway" in scorer.said
    await scorer.close()


async def test_a_row_that_cannot_be_sent_is_broken_data():
    scorer = scorer_of(FakeWorker("w"))
    await scorer.start()
    odd = row(1)
    odd = type(odd)(1, "a", "s", "r", lambda: None)
    result = await scorer.score(odd)
    assert result.outcome is Outcome.INVALID_SUITE
    assert "ground_truth: cannot be sent" in result.error
    await scorer.close()


async def test_clients_of_gateways_have_the_same_slots_before_them():
    workers = [FakeWorker("a", slots=8), FakeWorker("b", slots=8)]
    scorer = WorkersScorer(workers, slots=None, per_slot=2, patience_s=1)
    await scorer.start()
    assert scorer.slots == 8
    await scorer.close()
