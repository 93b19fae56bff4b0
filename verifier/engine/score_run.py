"""One task's way through the slots: compile, fan out over batches, judge.

A task takes one slot, compiles in it (unless an equal program was compiled before or is being
compiled), and runs its cases there in batches; idle slots that nobody waits for help with the
remaining batches. Time in line is never charged: a case's clock starts in the slot, when its jail
stands.

A slot that fails is a fault of the machinery. Its batch is run once more, on another slot; if that
fails too, the task has no verdict. It is never a score.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections import deque
from collections.abc import AsyncGenerator

from verifier import judging, languages
from verifier.engine.checkers import Given, Helper, check
from verifier.engine.interactive import converse
from verifier.engine.shop import ATTEMPTS, Shop
from verifier.engine.tests import run_tests
from verifier.errors import BackendError, SlotError
from verifier.limits import MAX_LIMITS
from verifier.sandbox.base import RunJob, Slot
from verifier.types import (
    CaseResult,
    CompileFacts,
    Harness,
    Killer,
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
# A wall-clock kill counts as contended when the program was ready to run, without a core, for this
# share.
CONTENDED_SHARE = 0.1
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
        self.shop, self.task, self.limits, self.program = shop, task, limits, program
        self.pool = shop.pool
        self.recipe = shop.recipe(program.language)
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
        self.suspects: list[int] = []
        # Index of the first case that decides the score by itself, where the policy has that.
        self.decided: int | None = None
        self.batches: deque[tuple[int, range]] = deque()

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
        if kind is not SuiteKind.STDIN and self.recipe.run_harness is Harness.EXEC:
            raise BackendError(f"{kind.value} suites are not implemented for {self.recipe.name}")
        holder: list[Slot] = []
        try:
            if not await self._compile(holder):
                return self._all()
            for judge in (self.checker, self.interactor):
                if judge is not None:
                    await self._compile_beside(judge, holder)
            self.batches.extend((0, b) for b in self._split())
            if not holder:
                await self._take(holder)
            helpers: list[asyncio.Task[None]] = []
            try:
                await self._work(holder, helpers)
                await asyncio.gather(*helpers)
                # A helper's failed batch may have come back after the last worker had looked.
                while self.batches:
                    await self._work(holder, [])
            except BaseException:
                for helper in helpers:
                    helper.cancel()
                await asyncio.gather(*helpers, return_exceptions=True)
                raise
        finally:
            for slot in holder:
                self.pool.give_back(slot)
        if self.suspects:
            await self._rerun_alone()
        return self._all()

    async def _take(self, holder: list[Slot]) -> None:
        asked = time.monotonic()
        holder.extend(await self.pool.take(1, self.task.priority))
        self.queue_s += time.monotonic() - asked

    async def _compile(self, holder: list[Slot]) -> bool:
        for attempt in range(ATTEMPTS):
            began = time.monotonic()
            try:
                self.compiled = await self.shop.compiled(
                    self.program, self.recipe, holder, self.task.priority
                )
            except SlotError:
                self.shop.faults += 1
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
        if self.compiled.ok:
            return True
        message = self.compiled.message
        self.cases = [
            CaseResult(i, Status.COMPILE_ERROR, message=message) for i in range(len(self.cases))
        ]
        return False

    async def _compile_beside(self, helper: Helper, holder: list[Slot]) -> None:
        try:
            await helper.compile(holder, self.task.priority)
        except SlotError:
            self.shop.faults += 1
            await helper.compile(holder, self.task.priority)  # its slot is opened anew

    def _split(self) -> list[range]:
        """The cases in batches.

        Small enough to share among all slots, at most so many cases and bytes.
        """
        cases = self.task.suite.cases
        most = max(1, min(MAX_BATCH_CASES, -(-len(cases) // self.pool.size)))
        batches, start, size = [], 0, 0
        for index, case in enumerate(cases):
            length = len(case.stdin) + len(case.test or "")
            if index > start and (index - start >= most or size + length > MAX_BATCH_BYTES):
                batches.append(range(start, index))
                start, size = index, 0
            size += length
        batches.append(range(start, len(cases)))
        return batches

    async def _work(self, holder: list[Slot], helpers: list[asyncio.Task[None]]) -> None:
        """Take batches until there are none; on the way, let idle slots help."""
        while self.batches:
            while len(self.batches) > 1 and (idle := self.pool.try_take()) is not None:
                helpers.append(asyncio.create_task(self._help(idle)))
                await asyncio.sleep(0)  # it takes its batch
            if not self.batches:
                return
            if not holder[0].healthy:  # its last run's answers were good, and it is replaced
                self.pool.give_back(holder.pop())
                await self._take(holder)
            attempt, batch = self.batches.popleft()
            try:
                await self._run_batch(holder[0], batch)
            except SlotError:
                self.shop.faults += 1
                left = self._missing(batch)
                # Only a case that fails again and again is given up, not a long batch.
                attempt = attempt + 1 if left == batch else 1
                if attempt >= ATTEMPTS:
                    raise
                self.batches.append((attempt, left))
                self.pool.give_back(holder.pop())
                await self._take(holder)

    async def _help(self, slot: Slot) -> None:
        holder = [slot]
        try:
            await self._work(holder, [])
        finally:
            for held in holder:
                self.pool.give_back(held)

    def _missing(self, batch: range) -> range:
        """What is left of a batch whose slot failed: answers come in order."""
        first = next((i for i in batch if self.cases[i] is None), batch.stop)
        return range(first, batch.stop)

    async def _run_batch(self, slot: Slot, batch: range) -> None:
        if not batch or self._needless(batch.start):
            return
        if self.interactor is not None:
            await self._talk_batch(slot, self.interactor, batch)
            return
        self.shop.running += 1
        at = iter(batch)
        unchecked = _Unchecked()
        try:
            async with contextlib.aclosing(self._facts(slot, batch)) as answers:
                async for facts in answers:
                    index = next(at)
                    if _contended(facts, self.limits):
                        self.suspects.append(index)
                    if self.checker is None or judging.classify(facts, self.limits) is not None:
                        self._keep(index, facts, await self._judge(index, facts))
                    elif unchecked.add(index, facts) > MAX_BATCH_BYTES:
                        await self._check(slot, self.checker, unchecked)
                    if self._needless(index + 1):
                        break
            if self.checker is not None:
                await self._check(slot, self.checker, unchecked)
        finally:
            self.shop.running -= 1

    async def _talk_batch(self, slot: Slot, helper: Helper, batch: range) -> None:
        """An interactive batch: one conversation after the other."""
        assert self.compiled is not None  # noqa: S101 - for the type checker
        job = run_job(self.recipe, self.recipe.run_harness, self.compiled.artifact, [], self.limits)
        self.shop.running += 1
        try:
            for index in batch:
                case = self.task.suite.cases[index]
                talk = await converse(self.pool, slot, helper, job, index, case)
                verdict = talk.verdict
                if self.checker is not None and verdict.status is Status.ACCEPTED:
                    given = Given(index, case.stdin, talk.output, case.expected or b"")
                    (verdict,) = await check(self.pool, slot, self.checker, [given])
                self._keep(index, talk.facts, verdict)
                if _contended(talk.facts, self.limits):
                    self.suspects.append(index)
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
        harness = (
            self.recipe.run_harness if suite.kind is SuiteKind.STDIN else HARNESSES[suite.kind]
        )
        before = suite.preamble + "\0" if suite.preamble else ""
        inputs = [
            (before + case.test).encode("utf-8", "surrogateescape")
            if case.test is not None
            else case.stdin
            for case in (suite.cases[i] for i in batch)
        ]
        job = run_job(self.recipe, harness, artifact, inputs, self.limits, suite.fn_name or "")
        return slot.run(job)  # type: ignore[return-value]  # an async generator in every backend

    def _needless(self, index: int) -> bool:
        """A case before this one has decided the score: early stop."""
        return self.decided is not None and index > self.decided

    def _all(self) -> list[CaseResult]:
        """One result per case.

        What the early stop made needless is SKIPPED, also where it ran on another slot already:
        results do not depend on timing.
        """
        return [
            CaseResult(i, Status.SKIPPED) if c is None or self._needless(i) else c
            for i, c in enumerate(self.cases)
        ]

    async def _judge(self, index: int, facts: RunFacts) -> judging.Verdict:
        task = self.task
        if max(len(facts.stdout), len(facts.returned or b"")) > JUDGE_INLINE_BYTES:
            return await asyncio.to_thread(
                judging.judge, task.suite, index, facts, self.limits, task.comparator
            )
        return judging.judge(task.suite, index, facts, self.limits, task.comparator)

    def _keep(self, index: int, facts: RunFacts, verdict: judging.Verdict) -> None:
        decides = self.task.policy.name == "all_or_nothing" and index not in self.suspects
        if decides and verdict.status is not Status.ACCEPTED:
            self.decided = index if self.decided is None else min(self.decided, index)
        keep = self.task.excerpt_bytes
        self.cases[index] = CaseResult(
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
        )

    async def _rerun_alone(self) -> None:
        """Wall-clock kills of programs that wanted to run and could not.

        Once more, with all slots to itself.
        """
        vain = 0
        async with self.pool.group(self.pool.size, self.task.priority) as slots:
            for index in sorted(self.suspects):
                if vain >= MAX_VAIN_RERUNS:
                    break
                self.shop.reruns += 1
                await self._run_batch(slots[0], range(index, index + 1))
                again = self.cases[index]
                assert again is not None  # noqa: S101 - it has just been written
                self.cases[index] = dataclasses.replace(again, rerun=True)
                vain += again.status is Status.TIME_LIMIT


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


def _contended(facts: RunFacts, limits: Limits) -> bool:
    """Killed by the wall clock while it wanted to run and could not."""
    return facts.killer is Killer.WALL and facts.run_delay_s > CONTENDED_SHARE * limits.wall_time_s


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
    return RunJob(harness, artifact, recipe.run_argv, inputs, limits, fn_name, recipe.env)
