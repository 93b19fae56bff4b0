"""The engine: extraction, compile, fan-out over slots, judging, score. asyncio, one event loop.

A task takes one slot, compiles in it (unless an equal program was compiled before or is being compiled), and
runs its cases there in batches; idle slots that nobody waits for help with the remaining batches. Time in
line is never charged: a case's clock starts in the slot, when its jail stands.

A slot that fails is a fault of the machinery. Its batch is run once more, on another slot; if that fails
too, the task has no verdict (`Outcome.INFRA_ERROR`). It is never a score.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import time
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from verifier import extraction, judging, languages
from verifier._version import __version__
from verifier.engine.artifacts import ArtifactCache, artifact_key
from verifier.engine.pool import SlotPool
from verifier.engine.tests import run_tests
from verifier.errors import BackendError, DeadlineError, OverloadedError, RequestError, SlotError
from verifier.limits import DEFAULT_LIMITS, MAX_LIMITS, resolve
from verifier.sandbox.base import CompileJob, Guarantee, RunJob, Sandbox, Slot
from verifier.types import (
    CaseResult,
    CompileFacts,
    Harness,
    Killer,
    Limits,
    Outcome,
    Program,
    Result,
    RunFacts,
    RunOutcome,
    RunTask,
    ScoreTask,
    Status,
    SuiteKind,
    Timing,
    Trust,
)

MAX_BATCH_CASES = 16
MAX_BATCH_BYTES = 4 * 1024 * 1024
# Above these, pure work leaves the event loop for a thread.
EXTRACT_INLINE_BYTES = 256 * 1024
JUDGE_INLINE_BYTES = 1024 * 1024
# A wall-clock kill counts as contended when the program was ready to run, without a core, for this share.
CONTENDED_SHARE = 0.1
ATTEMPTS = 2
HARNESSES = {
    SuiteKind.STDIN: Harness.PYTHON,
    SuiteKind.CALL: Harness.PYTHON_CALL,
    SuiteKind.ASSERT: Harness.PYTHON_ASSERT,
}


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What an engine is and guarantees on this host."""

    version: str
    backend: str
    slots: int
    guarantees: tuple[Guarantee, ...]
    accepted: frozenset[str]
    toolchains: dict[str, str]
    default_limits: Limits
    max_limits: Limits
    max_queue: int


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """How busy an engine is."""

    queued: int
    running: int
    slots_idle: int
    slots_total: int


class Engine:
    """See the module.

    Attributes:
        faults: Slot faults seen since the start.
        reruns: Wall-clock kills that were run again alone.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        slots: int | None = None,
        default_limits: Limits = DEFAULT_LIMITS,
        max_limits: Limits = MAX_LIMITS,
        max_queue: int = 1024,
        accept: frozenset[str] = frozenset(),
    ) -> None:
        """Slots default to the cores this process may use; `max_queue` bounds tasks taken but not finished."""
        self.sandbox = sandbox
        self.default_limits = default_limits
        self.max_limits = max_limits
        self.faults = 0
        self.reruns = 0
        self._max_queue = max_queue
        self._accept = frozenset(accept) | frozenset(getattr(sandbox, "accepted", ()))
        self._pool = SlotPool(sandbox, slots or len(os.sched_getaffinity(0)))
        self._artifacts = ArtifactCache()
        self._guarantees: tuple[Guarantee, ...] = ()
        self._toolchains: dict[str, str] = {}
        self._taken = 0
        self._running = 0
        self._started = False

    async def start(self) -> None:
        """Start the backend and open the slots.

        Raises:
            GuaranteeError: The host lacks a guarantee that was not accepted.
            BackendError: There can be no slots.
        """
        try:
            await self.sandbox.start()
            self._guarantees = await self.sandbox.guarantees()
            self._toolchains = await self.sandbox.toolchains()
            await self._pool.start()
        except BaseException:
            await self.close()
            raise
        self._started = True

    async def close(self) -> None:
        """Close all slots and the backend."""
        self._started = False
        await self._pool.close()
        await self.sandbox.close()

    def info(self) -> EngineInfo:
        """What this engine is."""
        return EngineInfo(
            version=__version__,
            backend=self.sandbox.name,
            slots=self._pool.size,
            guarantees=self._guarantees,
            accepted=self._accept,
            toolchains=dict(self._toolchains),
            default_limits=self.default_limits,
            max_limits=self.max_limits,
            max_queue=self._max_queue,
        )

    def load(self) -> EngineLoad:
        """How busy this engine is."""
        return EngineLoad(
            queued=self._taken - self._running,
            running=self._running,
            slots_idle=self._pool.idle,
            slots_total=self._pool.size,
        )

    # ------------------------------------------------------------ score

    async def score(self, task: ScoreTask) -> Result:
        """Score one response.

        Raises:
            RequestError: A field of the task is wrong.
            OverloadedError: The queue is full.
            DeadlineError: The task's deadline passed first.
        """
        limits = resolve(
            task.suite.limits, task.limits, defaults=self.default_limits, ceilings=self.max_limits
        )
        self._check(task)
        with self._admitted():
            return await _within(task.deadline_s, self._score(task, limits))

    def _check(self, task: ScoreTask) -> None:
        if task.extraction_policy not in extraction.POLICIES:
            raise RequestError(
                "extraction_policy", _unknown(task.extraction_policy, extraction.POLICIES)
            )
        if task.policy.name not in judging.SCORE_POLICIES:
            raise RequestError(
                "score_policy.name", _unknown(task.policy.name, judging.SCORE_POLICIES)
            )
        comparator = task.comparator or task.suite.comparator
        if comparator.name not in judging.COMPARATORS:
            raise RequestError("comparator.name", _unknown(comparator.name, judging.COMPARATORS))
        if task.language:
            languages.get(task.language)

    async def _score(self, task: ScoreTask, limits: Limits) -> Result:
        started = time.monotonic()
        suite = task.suite
        found = await _extract(task)
        run = _Run(self, task, limits, found.program, started)
        base = Result(
            Outcome.SCORED,
            total=len(suite.cases),
            extraction=found.extraction,
            runner=self.sandbox.name,
            trust=suite.trust,
            request_id=task.request_id,
        )
        if suite.checker is not None:
            # A suite with a checker cannot be judged by comparison: without it there is no verdict.
            return base.replace(
                outcome=Outcome.INFRA_ERROR,
                error="checker: programs that judge are not implemented yet",
            )
        if found.program is None:
            return _finish(
                base,
                task,
                [CaseResult(i, Status.NO_CODE) for i in range(len(suite.cases))],
                run,
                started,
            )
        try:
            cases = await run.all_cases()
        except (SlotError, BackendError) as e:
            return base.replace(outcome=Outcome.INFRA_ERROR, error=str(e), compile=run.compiled)
        return _finish(base.replace(compile=run.compiled_for_result()), task, cases, run, started)

    # ------------------------------------------------------------ run

    async def run(self, task: RunTask) -> RunOutcome:
        """Run one program on one input, without judging.

        Raises:
            RequestError: A field of the task is wrong.
            InfraError: It could not be run.
        """
        limits = resolve(task.limits, defaults=self.default_limits, ceilings=self.max_limits)
        if (task.program is None) == (not task.argv):
            raise RequestError("program", "exactly one of a program and an argv is needed")
        for index, part in enumerate(task.argv):
            if not part and index == 0:
                raise RequestError("argv[0]", "is empty")
            if "\0" in part:
                raise RequestError(f"argv[{index}]", "has a NUL byte")
        with self._admitted():
            return await _within(task.deadline_s, self._run(task, limits))

    async def _run(self, task: RunTask, limits: Limits) -> RunOutcome:
        compiled: CompileFacts | None = None
        queued = time.monotonic()
        for attempt in range(ATTEMPTS):
            holder: list[Slot] = []
            try:
                if task.program is not None:
                    recipe = self.recipe(task.program.language)
                    compiled = await self.compiled(task.program, recipe, holder, task.priority)
                    if not compiled.ok:
                        return RunOutcome(
                            Status.COMPILE_ERROR,
                            compiled.facts,
                            compiled,
                            self.sandbox.name,
                            compiled.message,
                        )
                    job = _job(recipe, recipe.run_harness, compiled.artifact, [task.stdin], limits)
                else:
                    argv = tuple(task.argv)
                    job = RunJob(Harness.EXEC, b"", argv, [task.stdin], limits)
                slot = holder[0] if holder else (await self._pool.take(1, task.priority))[0]
                holder[:] = [slot]
                waited = time.monotonic() - queued
                facts = [f async for f in slot.run(job)][0]
            except SlotError:
                self.faults += 1
                if attempt + 1 == ATTEMPTS:
                    raise
            else:
                status = judging.classify(facts, limits) or Status.ACCEPTED
                return RunOutcome(status, facts, compiled, self.sandbox.name, queue_s=waited)
            finally:
                for slot in holder:
                    self._pool.give_back(slot)
        raise AssertionError("unreachable")

    # ------------------------------------------------------------ shared

    def recipe(self, language: str) -> languages.Recipe:
        """The recipe of a language that this sandbox has.

        Raises:
            BackendError: It has no toolchain for it: a fault of the machinery, never of the program.
        """
        recipe = languages.get(language)
        if self._toolchains and recipe.name not in self._toolchains:
            raise BackendError(
                f"language {recipe.name}: its toolchain is not in this sandbox ({self.sandbox.name}); "
                f"there are {', '.join(sorted(self._toolchains))}. See docs/images.md"
            )
        return recipe

    async def compiled(
        self, program: Program, recipe: languages.Recipe, holder: list[Slot], priority: int
    ) -> CompileFacts:
        """The program's artifact. A slot that was taken to compile is left in `holder`, for its runs."""
        key = artifact_key(program, recipe, self._toolchains.get(recipe.name, ""))

        async def compile_now() -> CompileFacts:
            if not holder:
                holder.extend(await self._pool.take(1, priority))
            job = CompileJob(
                harness=recipe.run_harness
                if recipe.run_harness is not Harness.EXEC
                else Harness.EXEC,
                files={recipe.file_name(program.source): program.source},
                argv=recipe.compile_argv,
                outputs=recipe.outputs,
                limits=recipe.compile_limits,
                env=recipe.env,
            )
            return await holder[0].compile(job)

        return await self._artifacts.get(key, compile_now)

    @contextlib.contextmanager
    def _admitted(self) -> Iterator[None]:
        if not self._started:
            raise BackendError("the engine is not running")
        if self._taken >= self._max_queue:
            raise OverloadedError(
                f"{self._taken} tasks are queued or running; the limit is {self._max_queue}"
            )
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


T = TypeVar("T")


async def _within(deadline_s: float | None, work: Coroutine[Any, Any, T]) -> T:
    if deadline_s is None:
        return await work
    try:
        return await asyncio.wait_for(work, max(deadline_s, 0.0))
    except asyncio.TimeoutError:
        raise DeadlineError(f"no verdict within {deadline_s:.3f} s") from None


class _Run:
    """The cases of one task on their way through the slots."""

    def __init__(
        self,
        engine: Engine,
        task: ScoreTask,
        limits: Limits,
        program: Program | None,
        started: float,
    ) -> None:
        self.engine, self.task, self.limits, self.program = engine, task, limits, program
        self.pool = engine._pool
        self.started = started
        self.compiled: CompileFacts | None = None
        self.compile_s = 0.0
        self.queue_s = 0.0
        self.cases: list[CaseResult | None] = [None] * len(task.suite.cases)
        self.suspects: list[int] = []
        self.batches: deque[tuple[int, range]] = deque()

    def compiled_for_result(self) -> CompileFacts | None:
        """Compile facts where there was a compiler; Python's byte-compiling is not worth a mention."""
        compiled = self.compiled
        if compiled is None or (
            compiled.ok and self.program is not None and not self.recipe.compile_argv
        ):
            return None
        return compiled

    async def all_cases(self) -> list[CaseResult]:
        """Compile and run everything.

        Raises:
            SlotError: Twice in a row for the same work.
            BackendError: There are no slots, or no toolchain.
        """
        assert self.program is not None  # noqa: S101 - for the type checker
        self.recipe = self.engine.recipe(self.program.language)
        kind = self.task.suite.kind
        if kind is not SuiteKind.STDIN and self.recipe.run_harness is Harness.EXEC:
            raise BackendError(f"{kind.value} suites are not implemented for {self.recipe.name}")
        holder: list[Slot] = []
        try:
            if not await self._compile(holder):
                return [c for c in self.cases if c is not None]
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
        return [c for c in self.cases if c is not None]

    async def _take(self, holder: list[Slot]) -> None:
        asked = time.monotonic()
        holder.extend(await self.pool.take(1, self.task.priority))
        self.queue_s += time.monotonic() - asked

    async def _compile(self, holder: list[Slot]) -> bool:
        assert self.program is not None  # noqa: S101 - for the type checker
        for attempt in range(ATTEMPTS):
            began = time.monotonic()
            try:
                self.compiled = await self.engine.compiled(
                    self.program, self.recipe, holder, self.task.priority
                )
            except SlotError:
                self.engine.faults += 1
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

    def _split(self) -> list[range]:
        """The cases in batches: small enough to share among all slots, at most so many cases and bytes."""
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
            attempt, batch = self.batches.popleft()
            try:
                await self._run_batch(holder[0], batch)
            except SlotError:
                self.engine.faults += 1
                if attempt + 1 >= ATTEMPTS:
                    raise
                self.batches.append((attempt + 1, self._missing(batch)))
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
        if not batch:
            return
        self.engine._running += 1
        at = iter(batch)
        try:
            async with contextlib.aclosing(self._facts(slot, batch)) as answers:
                async for facts in answers:
                    index = next(at)
                    self.cases[index] = await self._judge(index, facts)
                    if _contended(facts, self.limits):
                        self.suspects.append(index)
        finally:
            self.engine._running -= 1

    def _facts(self, slot: Slot, batch: range) -> AsyncGenerator[RunFacts, None]:
        """The facts of a batch's runs, in order."""
        assert self.compiled is not None  # noqa: S101 - for the type checker
        suite, artifact = self.task.suite, self.compiled.artifact
        if suite.kind is SuiteKind.ASSERT and suite.trust is Trust.ISOLATED:
            return run_tests(self.pool, slot, artifact, suite, batch, self.limits)
        harness = (
            self.recipe.run_harness if suite.kind is SuiteKind.STDIN else HARNESSES[suite.kind]
        )
        inputs = [
            case.test.encode("utf-8", "surrogateescape") if case.test is not None else case.stdin
            for case in (suite.cases[i] for i in batch)
        ]
        job = _job(self.recipe, harness, artifact, inputs, self.limits, suite.fn_name or "")
        return slot.run(job)  # type: ignore[return-value]  # an async generator in every backend

    async def _judge(self, index: int, facts: RunFacts) -> CaseResult:
        task = self.task
        if len(facts.stdout) > JUDGE_INLINE_BYTES:
            verdict = await asyncio.to_thread(
                judging.judge, task.suite, index, facts, self.limits, task.comparator
            )
        else:
            verdict = judging.judge(task.suite, index, facts, self.limits, task.comparator)
        keep = task.excerpt_bytes
        return CaseResult(
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
        """Wall-clock kills of programs that wanted to run and could not: once more, with all slots to itself."""
        async with self.pool.group(self.pool.size, self.task.priority) as slots:
            for index in sorted(self.suspects):
                self.engine.reruns += 1
                await self._run_batch(slots[0], range(index, index + 1))
                again = self.cases[index]
                assert again is not None  # noqa: S101 - it has just been written
                self.cases[index] = dataclasses.replace(again, rerun=True)


def _contended(facts: RunFacts, limits: Limits) -> bool:
    """Killed by the wall clock while it wanted to run and could not."""
    return facts.killer is Killer.WALL and facts.run_delay_s > CONTENDED_SHARE * limits.wall_time_s


def _job(
    recipe: languages.Recipe,
    harness: Harness,
    artifact: bytes,
    inputs: list[bytes],
    limits: Limits,
    fn_name: str = "",
) -> RunJob:
    if recipe.extra_processes:
        limits = dataclasses.replace(limits, processes=limits.processes + recipe.extra_processes)
    return RunJob(harness, artifact, recipe.run_argv, inputs, limits, fn_name, recipe.env)


async def _extract(task: ScoreTask) -> extraction.Extracted:
    entry = task.suite.fn_name

    def work() -> extraction.Extracted:
        return extraction.extract(
            task.response, language=task.language, entry_point=entry, policy=task.extraction_policy
        )

    if len(task.response) > EXTRACT_INLINE_BYTES:
        return await asyncio.to_thread(work)
    return work()


def _finish(
    base: Result, task: ScoreTask, cases: list[CaseResult], run: _Run, started: float
) -> Result:
    statuses = [c.status for c in cases]
    weights = [c.weight for c in task.suite.cases]
    return base.replace(
        score=judging.aggregate(statuses, weights, task.policy),
        status=judging.overall_status(statuses),
        passed=sum(s is Status.ACCEPTED for s in statuses),
        cases=tuple(cases),
        timing=Timing(
            cpu_time_s=sum(c.cpu_time_s for c in cases),
            wall_time_s=sum(c.wall_time_s for c in cases),
            queue_s=run.queue_s,
            compile_s=run.compile_s,
            total_s=time.monotonic() - started,
        ),
    )


def _unknown(name: str, known: tuple[str, ...]) -> str:
    return f"there is no {name!r}; there are {', '.join(known)}"
