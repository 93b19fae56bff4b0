"""The engine: one response and one suite in, one result out. asyncio, one event loop.

Extraction, then a `ScoreRun` over the slots, then one number. The outcomes are never mixed: what a
program does is a status, what a slot does is `Outcome.INFRA_ERROR`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from verifier import extraction, judging, languages
from verifier._version import __version__
from verifier._within import Within
from verifier.engine import budget, called, carried
from verifier.engine.artifacts import ArtifactCache
from verifier.engine.breaker import Breaker
from verifier.engine.checkers import check_task
from verifier.engine.lobby import Lobby
from verifier.engine.pool import SlotPool
from verifier.engine.results import CaseVerdicts, ResultCache, result_key
from verifier.engine.score_run import ScoreRun, run_job
from verifier.engine.shares import Claim
from verifier.engine.shop import ATTEMPTS, Compilers, Shop
from verifier.engine.unit_tests import TestFileRun
from verifier.errors import (
    BackendDownError,
    BackendError,
    ConfigError,
    DeadlineError,
    HelperError,
    OverloadedError,
    RequestError,
    SlotError,
)
from verifier.limits import DEFAULT_LIMITS, MAX_LIMITS, resolve
from verifier.sandbox.base import ElasticSandbox, Guarantee, RunJob, Sandbox, Slot
from verifier.types import (
    CaseResult,
    CompileFacts,
    Harness,
    Limits,
    Outcome,
    Program,
    Result,
    RunOutcome,
    RunTask,
    ScoreTask,
    Status,
    SuiteKind,
    Timing,
)

# Above this, extraction leaves the event loop for a thread.
EXTRACT_INLINE_BYTES = 256 * 1024
# Tasks of one client and priority that are in the shop at once, beside two for each slot: enough
# for short suites to come between long ones.
PLACES = 64
# Both travel in one message inside of the slot (runner/agent/zygote.py: MESSAGE_BYTES).
MAX_ARGV_BYTES = 32 * 1024
MAX_NAME_CHARS = 1024


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What an engine is and guarantees on this host."""

    version: str
    backend: str
    slots: int
    guarantees: tuple[Guarantee, ...]
    accepted: frozenset[str]
    toolchains: dict[str, str]
    packages: dict[str, dict[str, str]]
    default_limits: Limits
    max_limits: Limits
    max_queue: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """How busy an engine is."""

    queued: int
    running: int
    slots_idle: int
    slots_total: int
    slots_busy: int = 0
    slots_replaced: int = 0


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
        testlib: bytes | None = None,
        compile_slots: int = 0,
        artifacts: ArtifactCache | None = None,
        result_cache_bytes: int = 0,
        pin_slots: bool = True,
    ) -> None:
        """Nothing is opened before `start`.

        Args:
            sandbox: Opened and closed by this engine.
            slots: The cores this process may use, by default; of an elastic sandbox, all there are.
            default_limits: Of a program where neither the task nor its suite says more.
            max_limits: Ceilings.
            max_queue: Bounds tasks taken but not finished.
            accept: Guarantees that may be missing.
            testlib: The content of a testlib.h.
            compile_slots: Slots for compilers alone; 0: programs are compiled where they run.
            artifacts: Compiled programs; in memory by default.
            result_cache_bytes: For verdicts by content (`engine.results`); 0: every task runs.
            pin_slots: Bind each slot to one core, unless there are fewer slots than half of the
                cores: then the kernel places them better, beside whatever else has the others.
        """
        self.sandbox = sandbox
        self.default_limits = default_limits
        self.max_limits = max_limits
        self._max_queue = max_queue
        self._accept = frozenset(accept) | frozenset(getattr(sandbox, "accepted", ()))
        cores = len(os.sched_getaffinity(0))
        self._most_slots = slots
        slots = slots or cores
        pool = SlotPool(sandbox, slots, pin=pin_slots and 2 * slots > cores)
        self._shop = Shop(pool, sandbox.name, testlib=testlib)
        if artifacts is not None:
            self._shop.artifacts = artifacts
        if compile_slots:
            self._shop.compilers = Compilers(
                SlotPool(sandbox, compile_slots, breaker=pool.breaker, probes=False)
            )
        self._results = ResultCache(result_cache_bytes) if result_cache_bytes else None
        self._environment: tuple[str, ...] = ()
        self._lobby = Lobby(PLACES + 2 * pool.size)
        self._guarantees: tuple[Guarantee, ...] = ()
        self._taken = 0
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
            self._shop.toolchains = await self.sandbox.toolchains()
            self._shop.compiles_in_run = getattr(self.sandbox, "compiles_in_run", False)
            origin = f"{self.sandbox.name} {getattr(self.sandbox, 'image', '')}"
            self._shop.artifacts.scope = origin
            self._shop.packages = await self.sandbox.packages()
            there = (*self._shop.toolchains.items(), *self._shop.packages.items())
            self._environment = (origin, *sorted(map(repr, there)))
            if isinstance(self.sandbox, ElasticSandbox):
                await self._start_elastic(self.sandbox)
            else:
                await self._shop.pool.start()
        except BaseException:
            await self.close()
            raise
        self._started = True

    async def _start_elastic(self, sandbox: ElasticSandbox) -> None:
        """As many slots as there are; limits that they cannot hold are refused from now on.

        Raises:
            BackendError: There can be no slots.
            ConfigError: The limits that are used where nobody asks for any are too large.
        """
        ceiling, default = sandbox.memory_ceiling, self.default_limits.memory_bytes
        if default > ceiling:
            raise ConfigError(
                f"default_limits.memory_bytes = {default} is more than this sandbox can hold, "
                f"{ceiling}: lower it, or give its containers more"
            )
        if ceiling < self.max_limits.memory_bytes:
            self.max_limits = dataclasses.replace(self.max_limits, memory_bytes=ceiling)
        pool = self._shop.pool

        def changed(count: int) -> None:
            pool.resize(min(count, self._most_slots or count))

        pool.size = 1
        await pool.start()
        sandbox.on_slot_count(changed)
        changed(sandbox.slot_count)

    async def close(self) -> None:
        """Close all slots and the backend."""
        self._started = False
        await self._shop.pool.close()
        if self._shop.compilers is not None:
            await self._shop.compilers.close()
        await self._shop.artifacts.close()
        await self.sandbox.close()

    def adjust(self, *, default_limits: Limits, max_limits: Limits, max_queue: int) -> None:
        """Other limits and another bound from the next task on; what was taken keeps its own."""
        self.default_limits = default_limits
        self.max_limits = max_limits
        self._max_queue = max_queue

    def info(self) -> EngineInfo:
        """What this engine is."""
        return EngineInfo(
            version=__version__,
            backend=self.sandbox.name,
            slots=self._shop.pool.size,
            guarantees=self.sandbox.held
            if isinstance(self.sandbox, ElasticSandbox) and self._started
            else self._guarantees,
            accepted=self._accept,
            toolchains=dict(self._shop.toolchains),
            packages=dict(self._shop.packages),
            default_limits=self.default_limits,
            max_limits=self.max_limits,
            max_queue=self._max_queue,
            notes=(
                *filter(None, [self._shop.artifacts.problem]),
                *getattr(self.sandbox, "notes", ()),
            ),
        )

    def load(self) -> EngineLoad:
        """How busy this engine is."""
        return EngineLoad(
            queued=self._taken - self._shop.running,
            running=self._shop.running,
            slots_idle=self._shop.pool.idle,
            slots_total=self._shop.pool.size,
            slots_busy=self._shop.pool.busy,
            slots_replaced=self._shop.pool.replaced,
        )

    @property
    def faults(self) -> int:
        """Slot faults seen since the start."""
        return self._shop.faults

    @property
    def reruns(self) -> int:
        """Wall-clock kills that were run again alone."""
        return self._shop.reruns

    @property
    def breaker(self) -> Breaker:
        """Whether the backend is asked at all."""
        return self._shop.pool.breaker

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
        self._admit()
        try:
            deadline_s, work = task.deadline_s, self._score(task, limits)
            del task  # once its program was found, nobody holds the response any more
            return await _within(deadline_s, work)
        finally:
            self._taken -= 1

    def _check(self, task: ScoreTask) -> None:
        if task.extraction_policy not in extraction.POLICIES:
            raise RequestError(
                "extraction_policy", _unknown(task.extraction_policy, extraction.POLICIES)
            )
        if task.policy.name not in judging.SCORE_POLICIES:
            raise RequestError(
                "score_policy.name", _unknown(task.policy.name, judging.SCORE_POLICIES)
            )
        budget.check_policy(task.policy)
        comparator = task.comparator or task.suite.comparator
        if comparator.name not in judging.COMPARATORS:
            raise RequestError("comparator.name", _unknown(comparator.name, judging.COMPARATORS))
        if task.language:
            languages.get(task.language)
        name = task.suite.fn_name or ""
        if len(name) > MAX_NAME_CHARS or "\0" in name:
            raise RequestError("suite.fn_name", f"not a name: {name[:40]!r}")
        check_task(task, self.max_limits)

    async def _score(self, task: ScoreTask, limits: Limits) -> Result:
        started = time.monotonic()
        suite = task.suite
        found = await _extract(task)
        task = dataclasses.replace(task, response=b"")
        base = Result(
            Outcome.SCORED,
            total=len(suite.cases),
            extraction=found.extraction,
            runner=self.sandbox.name,
            trust=suite.trust,
            request_id=task.request_id,
        )
        if found.program is None:
            none = [
                CaseResult(i, Status.NO_CODE, name=case.name) for i, case in enumerate(suite.cases)
            ]
            return _scored(base, task, none, Timing(total_s=time.monotonic() - started))
        program = found.program
        runs: list[ScoreRun] = []

        async def run_now() -> CaseVerdicts:
            room, queued = (task.priority, task.client_id), time.monotonic()
            await self._lobby.enter(room)
            waited_s = time.monotonic() - queued
            try:
                run = ScoreRun(self._shop, task, limits, program, self.max_limits)
                runs.append(run)
                cases = await run.all_cases()
            finally:
                self._lobby.leave(room)
            return CaseVerdicts(
                tuple(cases),
                run.compiled_for_result(),
                waited_s + run.queue_s,
                run.compile_s,
                run.stopped,
            )

        try:
            verdicts = await self._once(task, limits, program, run_now)
        except BackendDownError:
            raise  # the caller comes back when it is healed
        except (SlotError, BackendError, HelperError) as e:
            compiled = runs[-1].compiled if runs else None
            return base.replace(
                outcome=Outcome.INFRA_ERROR,
                error=str(e),
                fault=type(e).__name__,
                compile=compiled,
            )
        timing = Timing(
            cpu_time_s=sum(c.cpu_time_s for c in verdicts.cases),
            wall_time_s=sum(c.wall_time_s for c in verdicts.cases),
            queue_s=verdicts.queue_s,
            compile_s=verdicts.compile_s,
            total_s=time.monotonic() - started,
        )
        base = base.replace(
            compile=verdicts.compiled, cached=verdicts.cached, stopped=verdicts.stopped
        )
        return _scored(base, task, list(verdicts.cases), timing)

    async def _once(
        self,
        task: ScoreTask,
        limits: Limits,
        program: Program,
        run_now: Callable[[], Awaitable[CaseVerdicts]],
    ) -> CaseVerdicts:
        """The verdicts of an equal request, where there may be such a thing; else they are made."""
        suite = task.suite
        if self._results is None or task.no_cache or not suite.deterministic or not suite.digest:
            return await run_now()
        key = result_key(task, program, limits, self._environment)
        return await self._results.get(key, limits, (task.priority, task.client_id), run_now)

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
        if (size := len(json.dumps(task.argv))) > MAX_ARGV_BYTES:
            raise RequestError("argv", f"{size} bytes as JSON; the limit is {MAX_ARGV_BYTES}")
        if task.program is None and (task.files or task.fetch):
            raise RequestError("files", "an argv has none: they go with a program")
        carried.check_names("files", [name for name, _ in task.files], laid=True)
        carried.check_names("fetch", task.fetch, laid=False)
        self._admit()
        try:
            return await _within(task.deadline_s, self._run(task, limits))
        finally:
            self._taken -= 1

    async def _run(self, task: RunTask, limits: Limits) -> RunOutcome:
        compiled: CompileFacts | None = None
        recipe: languages.Recipe | None = None
        unit: TestFileRun | None = None
        if task.program is not None and task.program.language in languages.MODES:
            unit = TestFileRun(task, task.program)
        claim = Claim(task.client_id, task.priority)
        queued = time.monotonic()
        for attempt in range(ATTEMPTS):
            holder: list[Slot] = []
            try:
                if task.program is not None:
                    recipe = self._shop.recipe(task.program.language)
                    files = dict(task.files)
                    compiled = await self._shop.compiled(
                        task.program,
                        recipe,
                        holder,
                        claim,
                        files=unit.files
                        if unit
                        else carried.beside_source(recipe, files, task.program.source) or None,
                        limits=limits,
                    )
                    if not compiled.ok:
                        return RunOutcome(
                            Status.COMPILE_ERROR,
                            compiled.facts,
                            compiled,
                            self.sandbox.name,
                            compiled.message,
                            **(unit.told(compiled.facts) if unit else {}),
                        )
                    job = run_job(
                        recipe, recipe.run_harness, compiled.artifact, [task.stdin], limits
                    )
                    if unit:
                        job = unit.job(compiled.artifact, limits)
                    elif files or task.fetch:
                        job = carried.job(
                            recipe, job.artifact, task.stdin, files, task.fetch, job.limits
                        )
                else:
                    argv = tuple(task.argv)
                    job = RunJob(Harness.EXEC, b"", argv, [task.stdin], limits)
                slot = holder[0] if holder else (await self._shop.pool.take(1, claim))[0]
                holder[:] = [slot]
                waited = time.monotonic() - queued
                (facts,) = [f async for f in slot.run(job)]
                if recipe is not None:
                    facts = recipe.told(facts)
            except SlotError as e:
                self._shop.fault(e)
                if attempt + 1 == ATTEMPTS:
                    raise
            else:
                status = judging.classify(facts, limits) or Status.ACCEPTED
                return RunOutcome(
                    status,
                    facts,
                    compiled,
                    self.sandbox.name,
                    queue_s=waited,
                    **(unit.told(facts) if unit else {"files": carried.fetched(facts, task.fetch)}),
                )
            finally:
                for slot in holder:
                    self._shop.pool.give_back(slot)
        raise AssertionError("unreachable")

    def _admit(self) -> None:
        if not self._started:
            raise BackendError("the engine is not running")
        if not self._shop.pool.breaker.closed:
            raise self._shop.pool.down()
        if self._taken >= self._max_queue:
            raise OverloadedError(
                f"{self._taken} tasks are queued or running; the limit is {self._max_queue}"
            )
        self._taken += 1


T = TypeVar("T")


async def _within(deadline_s: float | None, work: Coroutine[Any, Any, T]) -> T:
    try:
        async with Within(deadline_s):
            return await work
    except asyncio.TimeoutError:
        raise DeadlineError(f"no verdict within {deadline_s:.3f} s") from None


async def _extract(task: ScoreTask) -> extraction.Extracted:
    suite, unit = task.suite, task.suite.unit_tests
    language = unit.language if unit else task.language

    def work() -> extraction.Extracted:
        found = extraction.extract(
            task.response,
            language=language,
            entry_point=suite.fn_name,
            policy=task.extraction_policy,
        )
        program = found.program
        if (
            language
            or program is None
            or called.serves(suite.kind, languages.get(program.language))
        ):
            return found
        # Who answers in a language of their own choice has no answer: it is no fault of ours.
        reason = f"{suite.kind.value} suites are not for {program.language}"
        none = dataclasses.replace(found.extraction, language="", reason=reason)
        return extraction.Extracted(None, none)

    if len(task.response) > EXTRACT_INLINE_BYTES:
        return await asyncio.to_thread(work)
    return work()


def _scored(base: Result, task: ScoreTask, cases: list[CaseResult], timing: Timing) -> Result:
    statuses = [c.status for c in cases]
    return base.replace(
        score=_score(task, cases),
        status=judging.overall_status(statuses),
        passed=sum(s is Status.ACCEPTED for s in statuses),
        cases=tuple(cases),
        timing=timing,
    )


def _score(task: ScoreTask, cases: list[CaseResult]) -> float:
    policy, suite = task.policy, task.suite
    if all(c.status is Status.NO_CODE for c in cases):
        return policy.no_code
    if all(c.status is Status.COMPILE_ERROR for c in cases):
        return policy.compile_error
    if policy.empty_output is not None and suite.kind is SuiteKind.STDIN:
        silent = all(c.stdout_bytes == 0 and c.status is not Status.ACCEPTED for c in cases)
        if silent:
            return policy.empty_output
    return judging.aggregate(
        [c.status for c in cases],
        [c.weight for c in suite.cases],
        policy,
        points=[c.points for c in cases],
        groups=[c.group for c in suite.cases],
    )


def _unknown(name: str, known: tuple[str, ...]) -> str:
    return f"there is no {name!r}; there are {', '.join(known)}"
