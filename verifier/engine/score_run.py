"""One task's way through the slots: compile, fan out over batches, judge.

A task takes one slot, compiles in it (unless an equal program was compiled before or is being
compiled), and runs its cases there in batches. Idle slots that nobody waits for help: the cases at
hand are dealt out among them like cards, so that low indexes run first on any number of slots. Time
in line is never charged: a case's clock starts in the slot, when its jail stands.

After each case the task looks up: whether the rest of the batch is needed at all (`engine.budget`),
whether somebody with a better claim waits for the slot (`engine.shares`), and, where its cases are
slow, whether a slot has become idle that could take half of what is left. What is left of a batch
goes back to the front of the task's own line.

A slot that fails is a fault of the machinery. Its batch is run once more, on another slot; if that
fails too, the task has no verdict. It is never a score.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

from verifier import judging, languages
from verifier.engine import budget, called
from verifier.engine.checkers import Given, Helper, check
from verifier.engine.interactive import converse
from verifier.engine.shares import Claim
from verifier.engine.shop import ATTEMPTS, Shop, contended
from verifier.engine.tests import run_tests
from verifier.engine.unit_tests import score_unit_tests
from verifier.errors import BackendDownError, BackendError, SlotError
from verifier.limits import MAX_LIMITS
from verifier.sandbox import sources
from verifier.sandbox.base import RunJob, Slot
from verifier.types import (
    CaseResult,
    CompileFacts,
    Harness,
    Limits,
    Program,
    RunFacts,
    ScoreTask,
    Status,
    SuiteKind,
    Trust,
)

MAX_BATCH_CASES = 16
MAX_BATCH_BYTES = 4 * 1024 * 1024
# Above this, judging leaves the event loop for a thread.
JUDGE_INLINE_BYTES = 1024 * 1024
# A batch of cases that take this long each is broken up for a slot that has become idle. To stop a
# batch costs some milliseconds.
SLOW_CASE_S = 0.05
# Of a compiler's messages.
MESSAGE_BYTES = 4096
# So many runs that had all slots to themselves and were too slow again show that it was not the
# load: the others of the task keep their verdicts. A program that keeps its own processes waiting
# and then sleeps would hold every slot for each of its cases otherwise.
MAX_VAIN_RERUNS = 2
HARNESSES = {
    SuiteKind.STDIN: Harness.PYTHON,
    SuiteKind.CALL: Harness.PYTHON_CALL,
    SuiteKind.ASSERT: Harness.PYTHON_ASSERT,
}


class ScoreRun:
    """The cases of one task on their way through the slots."""

    def __init__(
        self,
        shop: Shop,
        task: ScoreTask,
        limits: Limits,
        program: Program,
        ceilings: Limits = MAX_LIMITS,
    ) -> None:
        """Nothing runs before `all_cases`. The ceilings are for a checker or an interactor.

        Raises:
            BackendError: The sandbox has no toolchain for the program's language.
            HelperError: It has none for the checker's or the interactor's.
        """
        self.shop, self.task, self.program = shop, task, program
        self.limits = budget.run_limits(limits, task.policy)
        self.claim = Claim(task.client_id, task.priority)
        self.pool = shop.pool
        unit = task.suite.unit_tests
        self.recipe = shop.recipe(unit.framework if unit else program.language)
        self.checker: Helper | None = None
        self.interactor: Helper | None = None
        if checker := task.checker or task.suite.checker:
            self.checker = Helper(shop, "checker", checker, ceilings)
        if interactor := task.interactor or task.suite.interactor:
            self.interactor = Helper(shop, "interactor", interactor, ceilings)
        self.compiled: CompileFacts | None = None
        self.compile_s = 0.0
        self.queue_s = 0.0
        self.cases: list[CaseResult | None] = [None] * len(task.suite.cases)
        # Wall-clock kills that are to be run again alone before they count.
        self.suspects: set[int] = set()
        self.stop = budget.Stop(task.policy, len(task.suite.cases))
        self.stopped = ""
        # Cases that nobody has taken: what came back of batches, and all from the first on that
        # were never dealt out.
        self._batches: deque[tuple[int, range]] = deque()
        self._undealt = 0
        self._helpers: set[asyncio.Task[None]] = set()
        self._flights: dict[asyncio.Task[None], _Flight] = {}
        self._alone = False

    def compiled_for_result(self) -> CompileFacts | None:
        """Compile facts where there was a compiler.

        Python's byte-compiling is not worth a mention.
        """
        compiled = self.compiled
        if compiled is None or (compiled.ok and not self.recipe.compile_argv):
            return None
        return compiled

    async def all_cases(self) -> list[CaseResult]:
        """Compile and run everything.

        Raises:
            SlotError: Twice in a row for the same work.
            BackendError: There are no slots, or no toolchain.
            HelperError: The checker or the interactor failed, twice.
        """
        kind = self.task.suite.kind
        if kind is SuiteKind.UNIT_TEST:
            await score_unit_tests(self)
            return self._all()
        files: Mapping[str, bytes] = {}
        if called.by_driver(kind, self.recipe):
            made = await called.completed(self.program, self.recipe, self.task.suite)
            self.recipe, files = made.recipe, made.files
            self.program = dataclasses.replace(self.program, source=made.source)
        holder: list[Slot] = []
        try:
            if not await self.compile(holder, files):
                return self._all()
            for judge in (self.checker, self.interactor):
                if judge is not None:
                    await self._compile_beside(judge, holder)
            await self._all_batches(holder)
        finally:
            for slot in holder:
                self.pool.give_back(slot)
        if self.suspects:
            await self._rerun_alone()
        return self._all()

    async def _all_batches(self, holder: list[Slot]) -> None:
        try:
            while self._left():
                if not holder:
                    await self.take(holder)
                await self._work(holder)
                while self._helpers:
                    # Theirs may be the longer part, and some of it may come back to us.
                    while holder:
                        self.pool.give_back(holder.pop())
                    helpers = list(self._helpers)
                    await asyncio.gather(*helpers)
                    self._helpers.difference_update(helpers)
        except BaseException:
            for helper in self._helpers:
                helper.cancel()
            await asyncio.gather(*self._helpers, return_exceptions=True)
            raise

    async def take(self, holder: list[Slot]) -> None:
        """Wait for a slot."""
        asked = time.monotonic()
        holder.extend(await self.pool.take(1, self.claim))
        self.queue_s += time.monotonic() - asked

    def _runs_source(self) -> bool:
        """Whether the first run compiles the program."""
        return (
            self.shop.compiles_in_run
            and self.task.suite.kind is SuiteKind.STDIN
            and self.recipe.run_harness is Harness.PYTHON
            and self.interactor is None
            and len(self.program.source) <= sources.MAX_SOURCE_BYTES
        )

    async def compile(self, holder: list[Slot], files: Mapping[str, bytes]) -> bool:
        """Compile the program, with these files beside it; False where it is none.

        Raises:
            SlotError: Twice in a row.
            BackendError: There are no slots.
        """
        if self._runs_source():
            artifact = sources.artifact_of(self.program.source)
            self.compiled = CompileFacts(ok=True, facts=RunFacts(), artifact=artifact)
            return True
        for attempt in range(ATTEMPTS):
            began = time.monotonic()
            try:
                self.compiled = await self.shop.compiled(
                    self.program,
                    self.recipe,
                    holder,
                    self.claim,
                    files=files,
                    limits=self.limits,
                )
            except SlotError as e:
                self.shop.fault(e)
                for slot in holder:
                    self.pool.give_back(slot)
                holder.clear()
                if attempt + 1 == ATTEMPTS:
                    raise
            else:
                self.compile_s = (
                    self.compiled.facts.wall_time_s if not self.compiled.cached else 0.0
                )
                self.queue_s += max(time.monotonic() - began - self.compile_s, 0.0)
                break
        assert self.compiled is not None  # noqa: S101 - the loop ends with it or raises
        return self.compiled.ok

    async def _compile_beside(self, helper: Helper, holder: list[Slot]) -> None:
        try:
            await helper.compile(holder, self.claim)
        except SlotError as e:
            self.shop.fault(e)
            await helper.compile(holder, self.claim)  # its slot is opened anew

    # ------------------------------------------------------------ who runs which cases

    def _left(self) -> bool:
        """Whether there are cases that nobody has taken and that count."""
        if self._is_none():
            return False
        while self._batches:
            attempt, batch = self._batches[0]
            if needed := self._needed(batch):
                self._batches[0] = (attempt, needed)
                return True
            self._batches.popleft()
        return self._undealt < len(self.cases) and not self.stop.beyond(self._undealt)

    def _is_none(self) -> bool:
        """Whether the program turned out to be none."""
        return self.compiled is not None and not self.compiled.ok

    def _needed(self, batch: range) -> range:
        cut = self.stop.cut
        if cut is None:
            return batch
        return range(batch.start, min(batch.stop, cut + 1), batch.step)

    def _deal(self, shares: int) -> tuple[int, range]:
        """The next batch, one of `shares` that what lies on top is dealt out into."""
        if self._batches:
            attempt, batch = self._batches.popleft()
        else:
            attempt, batch = 0, self._block(shares)
        shares = min(shares, len(batch))
        for share in range(shares - 1, 0, -1):
            self._batches.appendleft((attempt, batch[share::shares]))
        return attempt, batch[::shares]

    def _block(self, shares: int) -> range:
        """Undealt cases for so many batches of at most so many cases and bytes."""
        cases, start = self.task.suite.cases, self._undealt
        sizes = [0] * shares
        most = min(start + MAX_BATCH_CASES * shares, len(cases))
        end = start
        while end < most:
            share = (end - start) % shares
            length = len(cases[end].stdin) + len(cases[end].test or "")
            if sizes[share] and sizes[share] + length > MAX_BATCH_BYTES:
                break
            sizes[share] += length
            end += 1
        self._undealt = end
        return range(start, end)

    async def _next(self) -> tuple[int, range]:
        """A batch for who asks, and others for slots that are idle and nobody waits for."""
        attempt, batch = self._deal(1 + self.pool.spare)
        called = False
        while self._batches and (idle := self.pool.try_take(self.claim)) is not None:
            self._helpers.add(asyncio.create_task(self._help(idle, *self._deal(1))))
            called = True
        if called:
            await asyncio.sleep(0)  # they begin: what they hold is theirs to give back
        return attempt, batch

    async def _work(self, holder: list[Slot]) -> None:
        """Take batches until there are none; on the way, let idle slots help."""
        while self._left():
            if not holder[0].healthy or self.pool.outranked(holder[0]):
                # Not healthy: its last run's answers were good, and it is replaced.
                self.pool.give_back(holder.pop())
                await self.take(holder)
                continue
            attempt, batch = await self._next()
            if not await self._do(holder[0], attempt, batch, alone=not self._helpers):
                self.pool.give_back(holder.pop())
                await self.take(holder)

    async def _help(self, slot: Slot, attempt: int, batch: range) -> None:
        try:
            while await self._do(slot, attempt, batch, alone=False) and self._left():
                if not slot.healthy or self.pool.outranked(slot):
                    return
                attempt, batch = await self._next()
        except BackendDownError:
            raise
        except BackendError:
            # There is no partner for this slot (`sandbox.runners`): who has one does the rest.
            if left := self._missing(batch):
                self._batches.appendleft((attempt, left))
        finally:
            self.pool.give_back(slot)

    async def _do(self, slot: Slot, attempt: int, batch: range, *, alone: bool) -> bool:
        """Run a batch, as far as it comes. False: its slot failed, and what is left is in line.

        Raises:
            SlotError: It failed for the last time.
        """
        try:
            if alone or not self.stop.possible:
                await self._run_batch(slot, batch)
            else:
                await self._run_apart(slot, batch)
        except SlotError as e:
            self.shop.fault(e)
            left = self._missing(batch)
            # Only a case that fails again and again is given up, not a long batch.
            attempt = attempt + 1 if left == batch else 1
            if attempt >= ATTEMPTS:
                raise
            self._batches.append((attempt, left))
            return False
        if left := self._missing(batch):
            self._batches.appendleft((0, left))
        return True

    async def _run_apart(self, slot: Slot, batch: range) -> None:
        """Run a batch so that it can be ended when another slot finds it needless."""
        flight = _Flight(batch.start)
        task = asyncio.create_task(self._run_batch(slot, batch, flight))
        self._flights[task] = flight
        try:
            await asyncio.wait({task})
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            del self._flights[task]
        if not task.cancelled():
            task.result()

    def _end_needless(self) -> None:
        for task, flight in self._flights.items():
            if self.stop.beyond(flight.index) and not flight.ended:
                flight.ended = True
                task.cancel()

    def _missing(self, batch: range) -> range:
        """What is left of a batch that ended early, and counts: answers come in order."""
        if self._is_none():
            return batch[:0]
        first = next((i for i in batch if self.cases[i] is None), batch.stop)
        return self._needed(range(first, batch.stop, batch.step))

    def _breaks_up(self, slot: Slot, left: int, took_s: float) -> bool:
        """Whether to stop a batch before its last `left` cases, which will be dealt out anew."""
        if not left:
            return False
        if left > 1 and took_s > SLOW_CASE_S and self.pool.spare:
            return True
        return self.pool.outranked(slot)

    # ------------------------------------------------------------ a batch

    async def _run_batch(self, slot: Slot, batch: range, flight: _Flight | None = None) -> None:
        batch = self._needed(batch)
        if not batch:
            return
        if self.interactor is not None:
            await self._talk_batch(slot, self.interactor, batch, flight)
            return
        self.shop.running += 1
        unchecked = _Unchecked()
        try:
            async with contextlib.aclosing(self._facts(slot, batch)) as answers:
                for at, index in enumerate(batch):
                    if flight is not None:
                        flight.index = index
                    if (facts := await anext(answers, None)) is None:
                        raise SlotError(f"{slot.name}: {at} answers for {len(batch)} runs")
                    facts = self.recipe.told(facts)
                    if facts.uncompiled:
                        self.compiled = CompileFacts(
                            ok=False,
                            facts=facts,
                            artifact=b"",
                            message=facts.stderr[:MESSAGE_BYTES].decode("utf-8", "replace"),
                        )
                        break
                    if self.checker is None or judging.classify(facts, self.limits) is not None:
                        self._keep(index, facts, await self._judge(index, facts))
                    elif unchecked.add(index, facts) > MAX_BATCH_BYTES:
                        await self._check(slot, self.checker, unchecked)
                    left = len(batch) - at - 1
                    if left and self.stop.beyond(batch[at + 1]):
                        break
                    if self._breaks_up(slot, left, facts.wall_time_s):
                        break
                else:
                    # The batch's end: the slot is not free before it was heard of.
                    if await anext(answers, None) is not None:
                        raise SlotError(f"{slot.name}: more answers than runs")
            if self.checker is not None:
                await self._check(slot, self.checker, unchecked)
        finally:
            self.shop.running -= 1

    async def _talk_batch(
        self, slot: Slot, helper: Helper, batch: range, flight: _Flight | None
    ) -> None:
        """An interactive batch: one conversation after the other."""
        assert self.compiled is not None  # noqa: S101 - for the type checker
        job = run_job(self.recipe, self.recipe.run_harness, self.compiled.artifact, [], self.limits)
        self.shop.running += 1
        try:
            for at, index in enumerate(batch):
                if flight is not None:
                    flight.index = index
                case = self.task.suite.cases[index]
                talk = await converse(self.pool, slot, helper, self.recipe, job, index, case)
                verdict = talk.verdict
                if self.checker is not None and verdict.status is Status.ACCEPTED:
                    given = Given(index, case.stdin, talk.output, case.expected or b"")
                    (verdict,) = await check(self.pool, slot, self.checker, [given])
                self._keep(index, talk.facts, verdict)
                left = len(batch) - at - 1
                if left and self.stop.beyond(batch[at + 1]):
                    break
                if self._breaks_up(slot, left, talk.facts.wall_time_s):
                    break
        finally:
            self.shop.running -= 1

    async def _check(self, slot: Slot, helper: Helper, unchecked: _Unchecked) -> None:
        """The verdicts of the checker on what ended by itself."""
        found = unchecked.take()
        if not found:
            return
        cases = self.task.suite.cases
        given = [
            Given(index, cases[index].stdin, facts.stdout, cases[index].expected or b"")
            for index, facts in found
        ]
        verdicts = await check(self.pool, slot, helper, given)
        for (index, facts), verdict in zip(found, verdicts, strict=True):
            self._keep(index, facts, verdict)

    def _facts(self, slot: Slot, batch: range) -> AsyncGenerator[RunFacts, None]:
        """The facts of a batch's runs, in order."""
        assert self.compiled is not None  # noqa: S101 - for the type checker
        suite, artifact = self.task.suite, self.compiled.artifact
        if suite.kind is SuiteKind.ASSERT and suite.trust is Trust.ISOLATED:
            return run_tests(self.pool, slot, artifact, suite, batch, self.limits)
        harness = self.recipe.run_harness
        by_driver = called.by_driver(suite.kind, self.recipe)
        if suite.kind is not SuiteKind.STDIN and not by_driver:
            harness = HARNESSES[suite.kind]
        before = suite.preamble + "\0" if suite.preamble else ""
        inputs = [
            (before + case.test).encode("utf-8", "surrogateescape")
            if case.test is not None
            else case.stdin
            for case in (suite.cases[i] for i in batch)
        ]
        job = run_job(self.recipe, harness, artifact, inputs, self.limits, suite.fn_name or "")
        if by_driver:
            job = called.call_job(job)
        return slot.run(job)  # type: ignore[return-value]  # an async generator in every backend

    def _all(self) -> list[CaseResult]:
        """One result per case, as they count."""
        if (compiled := self.compiled) is not None and not compiled.ok:
            message = compiled.message
            return [
                CaseResult(i, Status.COMPILE_ERROR, message=message, name=case.name)
                for i, case in enumerate(self.task.suite.cases)
            ]
        found, self.stopped = budget.apply(self.cases, self.task.policy)
        return found

    async def _judge(self, index: int, facts: RunFacts) -> judging.Verdict:
        task = self.task
        if max(len(facts.stdout), len(facts.returned or b"")) > JUDGE_INLINE_BYTES:
            return await asyncio.to_thread(
                judging.judge, task.suite, index, facts, self.limits, task.comparator
            )
        return judging.judge(task.suite, index, facts, self.limits, task.comparator)

    def _keep(self, index: int, facts: RunFacts, verdict: judging.Verdict) -> None:
        keep = self.task.excerpt_bytes
        self.cases[index] = case = CaseResult(
            index=index,
            status=verdict.status,
            cpu_time_s=facts.cpu_time_s,
            wall_time_s=facts.wall_time_s,
            queue_s=self.queue_s if index == 0 else 0.0,
            memory_bytes=facts.memory_bytes,
            exit_code=facts.exit_code,
            signal=facts.signal,
            stdout=facts.stdout[:keep],
            stderr=facts.stderr[:keep],
            stdout_bytes=facts.stdout_bytes,
            stderr_bytes=facts.stderr_bytes,
            message=verdict.message,
            points=verdict.points,
            name=self.task.suite.cases[index].name,
        )
        if not self._alone and contended(facts, self.limits):
            self.suspects.add(index)
            return
        self.stop.note(case)
        if self._flights and self.stop.cut is not None:
            self._end_needless()

    async def _rerun_alone(self) -> None:
        """Wall-clock kills of programs that wanted to run and could not.

        Once more, with all slots to itself.
        """
        vain = 0
        self._alone = True
        async with self.shop.alone(self.claim) as slots:
            for index in sorted(self.suspects):
                if vain >= MAX_VAIN_RERUNS or self.stop.beyond(index):
                    break
                self.shop.reruns += 1
                await self._run_batch(slots[0], range(index, index + 1))
                again = self.cases[index]
                assert again is not None  # noqa: S101 - it has just been written
                self.cases[index] = dataclasses.replace(again, rerun=True)
                vain += again.status is Status.TIME_LIMIT


@dataclass(slots=True)
class _Flight:
    """A batch that may be ended from outside: the case it has come to."""

    index: int
    ended: bool = False


class _Unchecked:
    """Runs of a batch that wait for the checker, and the bytes of their outputs."""

    def __init__(self) -> None:
        self._found: list[tuple[int, RunFacts]] = []
        self._size = 0

    def add(self, index: int, facts: RunFacts) -> int:
        """One more; how many bytes there are now."""
        self._found.append((index, facts))
        self._size += len(facts.stdout)
        return self._size

    def take(self) -> list[tuple[int, RunFacts]]:
        """All of them; none is left."""
        found, self._found, self._size = self._found, [], 0
        return found


def run_job(
    recipe: languages.Recipe,
    harness: Harness,
    artifact: bytes,
    inputs: list[bytes],
    limits: Limits,
    fn_name: str = "",
) -> RunJob:
    """What a slot is told: the recipe's command and environment around an artifact."""
    if recipe.extra_processes:
        limits = dataclasses.replace(limits, processes=limits.processes + recipe.extra_processes)
    return RunJob(
        harness,
        artifact,
        recipe.run_command(limits),
        inputs,
        limits,
        fn_name,
        recipe.run_env(limits),
    )
