"""One fault after the other under load, and what is counted."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.chaos.engine import PrivateEngine
from benchmarks.chaos.faults import Fault
from benchmarks.chaos.load import PATIENT, Load, Tally, answered
from benchmarks.chaos.stage import SLOTS, Runner, Stage
from verifier.client import RetryPolicy

HEAL_S = 120.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How much.

    Attributes:
        repeats: Of each fault.
        before: Answers before the first one and after each.
        cpp: Whether there is a compiler.
        retry: Of the clients.
    """

    repeats: int = 5
    before: int = 60
    cpp: bool = True
    retry: RetryPolicy = PATIENT


@dataclass(slots=True)
class Row:
    """What one fault on one backend did.

    Attributes:
        fault: Which.
        backend: Where.
        repeats: How often.
        tally: Of the requests.
        left: What was left behind.
        heal_s: Of each repeat: from the fault until a request that was sent after it was answered
            right, and as many slots as before stood, none of them one that was hit.
        problems: What else was not as it should be.
    """

    fault: str
    backend: str
    repeats: int
    tally: Tally
    left: list[str]
    heal_s: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether all is as it should be."""
        tally = self.tally
        return not (tally.lost or tally.wrong or tally.twice or self.left or self.problems)

    @property
    def median_s(self) -> float:
        """Of the times to heal."""
        return statistics.median(self.heal_s)


async def run(fault: Fault, backend: str, pace: Pace, engine: PrivateEngine | None = None) -> Row:
    """Inject one fault `pace.repeats` times into one gateway under load."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as scratch:
        stage = Stage(backend, Path(scratch), engine if backend == "docker" else None)
        mounts = _mounts()
        with fault.prepared(stage), stage:
            heal_s, problems = [], []
            load = Load(stage.target, cpp=pace.cpp, retry=pace.retry)
            async with load:
                await load.answers(pace.before)
                full = SLOTS + pace.cpp
                await _until_full(stage, full, [])
                for number in range(pace.repeats):
                    began = time.monotonic()
                    hit = await asyncio.to_thread(fault.inject, stage, number)
                    try:
                        await _until_full(stage, full, hit)
                    except TimeoutError as exc:
                        problems.append(str(exc))
                    heal_s.append(time.monotonic() - began)
                    await load.answers(pace.before)
                    await asyncio.to_thread(fault.undo, stage)
            problems += await asyncio.to_thread(stage.stop)
            left = await asyncio.to_thread(stage.left_behind)
            if problems or left or load.tally.lost or load.tally.wrong:
                problems.append("the gateway's log ends: " + stage.said())
        left += [f"mount {line}" for line in _mounts() - mounts if "verifier" in line]
        if (
            problems[-1:]
            and problems[-1].startswith("the gateway's log")
            and not (left or load.tally.lost or load.tally.wrong or problems[:-1])
        ):
            problems.clear()
        return Row(fault.name, backend, pace.repeats, load.tally, left, heal_s, problems)


async def _until_full(stage: Stage, full: int, hit: list[Runner]) -> None:
    """Return once so many slots stand that were not hit, and a new request was answered.

    Raises:
        TimeoutError: That does not come.
    """
    gone = {runner.name for runner in hit}
    deadline = time.monotonic() + HEAL_S
    while True:
        runners = await asyncio.to_thread(stage.runners)
        standing = [runner for runner in runners if runner.name not in gone or _is_new(runner, hit)]
        if len(standing) >= full and await answered(stage.target):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"not healed after {HEAL_S:g} s: {len(standing)} of {full} slots stand"
            )
        await asyncio.sleep(0.05)


def _is_new(runner: Runner, hit: list[Runner]) -> bool:
    return all(runner.pid != other.pid for other in hit)


def _mounts() -> set[str]:
    return set(Path("/proc/self/mountinfo").read_text().splitlines())
