"""Many runs under load, benign and hostile mixed, and what a long service would notice.

The runs come in rounds. Between two rounds nothing runs, so the slots are swept as after a single
attack, and this process's memory and descriptors are looked at.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from verifier.engine import Engine
from verifier.errors import VerifierError
from verifier.sandbox.base import Sandbox
from verifier.stress.catalogue import LIMITS, Attack
from verifier.stress.observe import fenced, given
from verifier.stress.runner import Lent, settled
from verifier.stress.sweep import SERVICE_FD_SLACK, SlotSweep, descriptors, resident
from verifier.types import (
    Case,
    Limits,
    Outcome,
    Program,
    RunTask,
    ScoreTask,
    Status,
    Suite,
    SuiteKind,
)

ROUND = 250
# Callers for each slot: the queue is never empty.
CALLERS = 2
HOSTILE_LIMITS = dataclasses.replace(LIMITS, cpu_time_s=0.2, wall_time_s=0.2)
# A benign program may wait for a core as long as it likes: its CPU time decides.
BENIGN_LIMITS = dataclasses.replace(LIMITS, cpu_time_s=5.0, wall_time_s=60.0)
# Growth of this process from the end of the first round to the end, beyond which it is a leak.
RSS_SLACK = 32 * 1024 * 1024
SHARES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked for: a time or a count.

    Attributes:
        seconds: How long to go on; None where a count is given.
        count: How many runs; None where a time is given.
        hostile_share: Of all runs.
        slots: Programs at once.
        seed: Which programs, in which order.
        limits: Of hostile runs.
    """

    seconds: float | None = None
    count: int | None = None
    hostile_share: float = 0.1
    slots: int = 2
    seed: int = 1
    limits: Limits = HOSTILE_LIMITS


@dataclass(slots=True)
class Report:
    """What happened.

    Attributes:
        backend: Where.
        benign: Benign runs.
        hostile: Hostile runs.
        wrong: Benign runs whose verdict was not the right one.
        unserved: Runs that got no verdict at all.
        left: What was left behind, in whichever sweep.
        statuses: Attack -> how often it had which status. More than one is flaky: a program that is
            about to meet two limits at once meets one of them first.
        faults: Slots that failed.
        reruns: Wall-clock kills that were run again.
        latencies_s: Of benign runs, with the time in line.
        rss_bytes: Of this process, after each round.
        fds: Of this process, after each round.
        slot_bytes: Memory that stays charged to all slots, after each round.
        seconds: In all.
        fd_slack: How many more descriptors there may be at the end.
    """

    backend: str
    benign: int = 0
    hostile: int = 0
    wrong: list[str] = field(default_factory=list)
    unserved: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    statuses: dict[str, Counter[str]] = field(default_factory=dict)
    faults: int = 0
    reruns: int = 0
    latencies_s: list[float] = field(default_factory=list)
    rss_bytes: list[int] = field(default_factory=list)
    fds: list[int] = field(default_factory=list)
    slot_bytes: list[int] = field(default_factory=list)
    seconds: float = 0.0
    fd_slack: int = 0

    @property
    def leaks(self) -> list[str]:
        """Growth of this process beyond the slack, from the first round's end."""
        found = []
        if self.rss_bytes and self.rss_bytes[-1] - self.rss_bytes[0] > RSS_SLACK:
            found.append(f"memory grew from {self.rss_bytes[0]} to {self.rss_bytes[-1]} bytes")
        if self.fds and self.fds[-1] - self.fds[0] > self.fd_slack:
            found.append(f"descriptors grew from {self.fds[0]} to {self.fds[-1]}")
        return found

    @property
    def flaky(self) -> dict[str, Counter[str]]:
        """Attacks that did not always have the same status."""
        return {key: counts for key, counts in self.statuses.items() if len(counts) > 1}

    @property
    def ok(self) -> bool:
        """Every benign verdict was right, and nothing was lost, left or leaked."""
        return not (self.wrong or self.unserved or self.left or self.faults or self.leaks)

    def percentiles_ms(self) -> dict[str, float]:
        """Latency of benign runs."""
        ordered = sorted(self.latencies_s) or [0.0]
        return {
            f"p{share * 100:g}": 1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]
            for share in SHARES
        }

    def to_dict(self) -> dict[str, Any]:
        """For JSON: without the single latencies."""
        values = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("latencies_s", "statuses")
        }
        return {
            **values,
            "ok": self.ok,
            "leaks": self.leaks,
            "runs_per_s": (self.benign + self.hostile) / self.seconds if self.seconds else 0.0,
            "latency_ms": {
                "mean": 1000 * statistics.fmean(self.latencies_s or [0.0]),
                **self.percentiles_ms(),
            },
            "statuses": {key: dict(counts) for key, counts in sorted(self.statuses.items())},
            "flaky": sorted(self.flaky),
        }


# ---------------------------------------------------------------- what is run

SUM = "a, b = map(int, input().split())\nprint(a + b)\n"
CPP_SUM = """#include <iostream>
int main() {
    long long a, b;
    std::cin >> a >> b;
    std::cout << a + b << '\\n';
}
"""
BENIGN: tuple[tuple[str, str, SuiteKind, Status], ...] = (
    ("right", SUM, SuiteKind.STDIN, Status.ACCEPTED),
    ("wrong", "a, b = map(int, input().split())\nprint(a - b - 1)\n", SuiteKind.STDIN,
     Status.WRONG_ANSWER),
    ("crash", "input()\nraise SystemExit(3)\n", SuiteKind.STDIN, Status.RUNTIME_ERROR),
    ("broken", "def f(:\n", SuiteKind.STDIN, Status.COMPILE_ERROR),
    ("call", "def f(a, b): return a + b\n", SuiteKind.CALL, Status.ACCEPTED),
    ("wrong call", "def f(a, b): return a - b - 1\n", SuiteKind.CALL, Status.WRONG_ANSWER),
    ("assert", "def f(a, b): return a + b\n", SuiteKind.ASSERT, Status.ACCEPTED),
    ("wrong assert", "def f(a, b): return a - b - 1\n", SuiteKind.ASSERT, Status.WRONG_ANSWER),
    ("C++", CPP_SUM, SuiteKind.STDIN, Status.ACCEPTED),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the mix: a benign task with its verdict, or an attack."""

    name: str
    task: ScoreTask | None = None
    wanted: Status | None = None
    attack: Attack | None = None


def mix(attacks: Sequence[Attack], plan: Plan, languages: frozenset[str]) -> Iterator[Run]:
    """Runs without end; numbers differ from run to run, so no answer fits another run's input."""
    chance = random.Random(plan.seed)  # noqa: S311 - reproducible, not secret
    benign = [b for b in BENIGN if b[0] != "C++" or not languages or "cpp" in languages]
    while True:
        if attacks and chance.random() < plan.hostile_share:
            attack = chance.choice(attacks)
            yield Run(attack.key, attack=attack)
            continue
        name, source, kind, wanted = chance.choice(benign)
        a, b = chance.randrange(10**9), chance.randrange(1, 10**9)
        case = {
            SuiteKind.STDIN: Case(b"%d %d\n" % (a, b), b"%d\n" % (a + b)),
            SuiteKind.CALL: Case(b"[%d, %d]" % (a, b), b"%d" % (a + b)),
            SuiteKind.ASSERT: Case(test=f"assert f({a}, {b}) == {a + b}"),
        }[kind]
        suite = Suite(kind, (case,), fn_name=None if kind is SuiteKind.STDIN else "f")
        language = "cpp" if name == "C++" else "python"
        response = fenced(language, source.encode())
        task = ScoreTask(response, suite, language=language, limits=given(BENIGN_LIMITS))
        yield Run(name, task=task, wanted=wanted)


# ---------------------------------------------------------------- the soak


class Soak:
    """One backend under load."""

    def __init__(self, sandbox: Sandbox, attacks: Sequence[Attack], plan: Plan) -> None:
        """The sandbox is started and stays its owner's."""
        self.plan = plan
        self._attacks = [attack for attack in attacks if attack.soak]
        self._lent = Lent(sandbox)
        self.report = Report(sandbox.name)
        if sandbox.name == "docker":
            self.report.fd_slack = SERVICE_FD_SLACK
        self._sweeps: dict[str, tuple[SlotSweep, frozenset[str]]] = {}

    async def run(self, progress: Callable[[Report], None] = lambda _: None) -> Report:
        """To the end of the plan.

        Raises:
            BackendError: There are no slots.
        """
        plan, report = self.plan, self.report
        engine = Engine(self._lent, slots=plan.slots)
        await engine.start()
        began = time.monotonic()
        try:
            runs = mix(self._attacks, plan, frozenset(engine.info().toolchains))
            await self._warm_up(engine)
            began = time.monotonic()
            while not self._over(began):
                size = ROUND
                if plan.count is not None:
                    size = min(ROUND, plan.count - report.benign - report.hostile)
                await self._round(engine, itertools.islice(runs, size), began)
                await self._sweep()
                report.seconds = time.monotonic() - began
                report.faults, report.reruns = engine.faults, engine.reruns
                progress(report)
        finally:
            report.seconds = time.monotonic() - began
            await engine.close()
        return report

    def _over(self, began: float) -> bool:
        if self.plan.seconds is not None:
            return time.monotonic() - began >= self.plan.seconds
        return self.report.benign + self.report.hostile >= (self.plan.count or 0)

    async def _warm_up(self, engine: Engine) -> None:
        """Open the partners, fill the caches, then look at everything for the first time."""
        runs = mix((), self.plan, frozenset(engine.info().toolchains))
        tasks = [run.task for run in itertools.islice(runs, 16 * self.plan.slots)]
        await asyncio.gather(*(engine.score(task) for task in tasks if task is not None))
        for slot in self._lent.slots:
            sweep = SlotSweep(slot)
            self._sweeps[slot.name] = sweep, sweep.processes()

    async def _round(self, engine: Engine, runs: Iterator[Run], began: float) -> None:
        async def caller() -> None:
            for run in runs:
                await self._one(engine, run)
                if self.plan.seconds is not None and self._over(began):
                    return

        await asyncio.gather(*(caller() for _ in range(CALLERS * self.plan.slots)))

    async def _one(self, engine: Engine, run: Run) -> None:
        report = self.report
        asked = time.monotonic()
        try:
            if run.attack is not None:
                report.hostile += 1
                await self._attack(engine, run.attack)
                return
            report.benign += 1
            assert run.task is not None  # noqa: S101 - a run is one or the other
            result = await engine.score(run.task)
            report.latencies_s.append(time.monotonic() - asked)
            if result.outcome is not Outcome.SCORED:
                report.unserved.append(f"{run.name}: {result.error}")
            elif result.status is not run.wanted:
                said = result.cases[0].message if result.cases else ""
                report.wrong.append(f"{run.name}: {result.status} instead of {run.wanted}: {said}")
        except VerifierError as e:
            report.unserved.append(f"{run.name}: {type(e).__name__}: {e}")

    async def _attack(self, engine: Engine, attack: Attack) -> None:
        program = Program(attack.language, attack.program)
        limits = given(dataclasses.replace(
            self.plan.limits,
            memory_bytes=attack.limits.memory_bytes,
            file_bytes=attack.limits.file_bytes,
        ))  # fmt: skip
        outcome = await engine.run(RunTask(program, stdin=attack.stdin, limits=limits))
        self.report.statuses.setdefault(attack.key, Counter())[outcome.status.value] += 1

    async def _sweep(self) -> None:
        """Between two rounds: nothing runs."""
        report = self.report
        for name, (sweep, before) in list(self._sweeps.items()):
            if not any(slot.name == name and slot.healthy for slot in self._lent.slots):
                del self._sweeps[name]  # recycled or lost; a loss is counted by the engine
                continue
            left = await settled(lambda sweep=sweep, before=before: sweep.processes() - before)  # type: ignore[misc]
            report.left += sorted({*left, *sweep.grown()})
        for slot in self._lent.slots:
            if slot.healthy and slot.name not in self._sweeps:
                with contextlib.suppress(OSError):
                    fresh = SlotSweep(slot)
                    self._sweeps[slot.name] = fresh, fresh.processes()
        report.slot_bytes.append(sum(sweep.memory() for sweep, _ in self._sweeps.values()))
        report.rss_bytes.append(resident())
        report.fds.append(descriptors())
