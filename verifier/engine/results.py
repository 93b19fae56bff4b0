"""Verdicts by content: equal programs against equal suites run once.

    asked --(kept)--------------------------------------------> answered, marked cached
      |----(an equal one runs)--> waits --its verdict may be kept--> answered, marked cached
      |                             |-----anything else------------> runs itself
      +----(nobody)-------------------------------------------> runs itself

A group of an RL step often holds equal responses. What is kept is what the cases gave, without what
belongs to one request (how its program was extracted, its ids, its time in line). The key is all
that the cases depend on; see `result_key`.

Only what would come out again is kept. A fault of the machinery is no verdict. A run that the wall
clock ended says something about this moment too, and one that was run again because others were in
its way even more so: the next equal request has its own chance.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass

from verifier._version import __version__
from verifier.engine.artifacts import was_killed
from verifier.types import CaseResult, CompileFacts, Limits, Program, ScoreTask, Status

__all__ = ["CaseVerdicts", "ResultCache", "result_key"]

# What an entry costs beside its data: key, table, bytes object.
ENTRY_BYTES = 400


@dataclass(frozen=True, slots=True)
class CaseVerdicts:
    """What running a program against a suite gave.

    Attributes:
        cases: One per case, in order.
        compiled: Facts of the compiler; None when nothing worth a mention was compiled.
        queue_s: Seconds in line.
        compile_s: Seconds that the compiler took for this request.
        stopped: Why the run ended before its last case; "" when it did not.
        cached: Nothing ran for this request.
    """

    cases: tuple[CaseResult, ...]
    compiled: CompileFacts | None
    queue_s: float = 0.0
    compile_s: float = 0.0
    stopped: str = ""
    cached: bool = False


def result_key(
    task: ScoreTask, program: Program, limits: Limits, environment: Iterable[str]
) -> str:
    """Everything that the verdicts on the cases depend on, as a digest.

    Args:
        task: Its suite counts by digest (cases, comparator, checker, interactor, limits of the
            data), and so do what replaces the suite's own, the score policy (it can end a run
            early), and how much of the outputs is kept.
        program: What was extracted: how is of no matter.
        limits: Resolved.
        environment: What this engine runs programs with.
    """
    digest = hashlib.sha256()
    parts = (
        __version__,
        *environment,
        program.language,
        task.suite.digest,
        repr(limits),
        repr(task.comparator),
        repr(task.checker),
        repr(task.interactor),
        repr(task.policy),
        repr(task.excerpt_bytes),
    )
    for part in (*(part.encode("utf-8", "backslashreplace") for part in parts), program.source):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


class ResultCache:
    """LRU by bytes, and the requests under way. Belongs to one event loop.

    Attributes:
        hits: Answers for which nothing ran.
    """

    def __init__(self, budget_bytes: int) -> None:
        """What is bigger than the budget is not kept; requests under way are shared anyway."""
        self._budget = budget_bytes
        self._entries: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._flying: dict[tuple[str, Hashable], asyncio.Future[CaseVerdicts | None]] = {}
        self.hits = 0

    @property
    def size_bytes(self) -> int:
        """What the entries cost."""
        return self._size

    def __len__(self) -> int:
        return len(self._entries)

    async def get(
        self,
        key: str,
        limits: Limits,
        lane: Hashable,
        run_now: Callable[[], Awaitable[CaseVerdicts]],
    ) -> CaseVerdicts:
        """The verdicts of `key`; runs the program at most once at a time.

        Args:
            key: See `result_key`.
            limits: Of the program, to tell what its wall clock ended.
            lane: The task's priority and client: nobody waits for an equal request of another
                lane, which may stand further behind.
            run_now: Runs the program. What it raises is its caller's alone: who waited runs it
                again.
        """
        while True:
            found = self._find(key)
            if found is not None:
                return found
            flying = self._flying.get((key, lane))
            if flying is None:
                return await self._lead(key, limits, lane, run_now)
            try:
                shared = await asyncio.shield(flying)
            except asyncio.CancelledError:
                if not flying.cancelled():
                    raise  # we were cancelled, not the one who runs it
                continue
            if shared is None:  # a fault, or what should not be believed twice
                return await run_now()
            self.hits += 1
            return _as_cached(shared)

    async def _lead(
        self,
        key: str,
        limits: Limits,
        lane: Hashable,
        run_now: Callable[[], Awaitable[CaseVerdicts]],
    ) -> CaseVerdicts:
        future: asyncio.Future[CaseVerdicts | None] = asyncio.get_running_loop().create_future()
        self._flying[key, lane] = future
        try:
            verdicts = await run_now()
            lasting = _would_come_out_again(verdicts, limits)
            if lasting:
                self._keep(key, verdicts)
            future.set_result(verdicts if lasting else None)
        except asyncio.CancelledError:
            future.cancel()
            raise
        except BaseException:
            future.set_result(None)
            raise
        else:
            return verdicts
        finally:
            del self._flying[key, lane]

    def _find(self, key: str) -> CaseVerdicts | None:
        data = self._entries.get(key)
        if data is None:
            return None
        self._entries.move_to_end(key)
        self.hits += 1
        # Of this process, and never out of it.
        found: CaseVerdicts = pickle.loads(data)  # noqa: S301
        return found

    def _keep(self, key: str, verdicts: CaseVerdicts) -> None:
        # Packed: a case is a tenth of what its objects take, and the budget is exact.
        data = pickle.dumps(_as_cached(verdicts), pickle.HIGHEST_PROTOCOL)
        if len(data) + ENTRY_BYTES > self._budget:
            return
        old = self._entries.pop(key, None)
        if old is not None:
            self._size -= len(old) + ENTRY_BYTES
        self._entries[key] = data
        self._size += len(data) + ENTRY_BYTES
        while self._size > self._budget:
            _, dropped = self._entries.popitem(last=False)
            self._size -= len(dropped) + ENTRY_BYTES


def _as_cached(verdicts: CaseVerdicts) -> CaseVerdicts:
    """As another request gets them: it did not wait, and compiled nothing."""
    compiled = verdicts.compiled
    if compiled is not None:
        compiled = dataclasses.replace(compiled, cached=True, artifact=b"")
    cases = tuple(
        dataclasses.replace(case, queue_s=0.0) if case.queue_s else case for case in verdicts.cases
    )
    return CaseVerdicts(cases, compiled, stopped=verdicts.stopped, cached=True)


def _would_come_out_again(verdicts: CaseVerdicts, limits: Limits) -> bool:
    if verdicts.compiled is not None and was_killed(verdicts.compiled):
        return False
    return not any(
        case.rerun
        # The wall clock's work: its program had not used its CPU time up.
        or case.wall_time_s >= limits.wall_time_s
        or (case.status is Status.TIME_LIMIT and case.cpu_time_s < limits.cpu_time_s)
        for case in verdicts.cases
    )
