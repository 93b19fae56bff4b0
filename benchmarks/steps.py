"""Where the time of a case goes: microseconds a step, by variants beside each other in one run.

    python benchmarks/steps.py [--rounds 7] [--seconds 0.5] [--json FILE] [--markdown FILE]

Each line of the ladder is the one before it and something more; the difference is what that costs.
One worker or one slot, one case after the other, so that a figure is the time of a case on an idle
machine (a case's own processes may use a second core). The first four are yardsticks
(benchmarks/floor); then come slots of the namespaces backend, without the system call filter and
Landlock, with the filter, and whole; then the engine in this process; then `verifier serve`.

Slots without a wall are control runs (verifier/sandbox/controls.py): for measurements and tests.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.bench import machine, report
from benchmarks.bench.floor import Yardsticks
from benchmarks.bench.gateways import Gateway
from benchmarks.bench.rounds import Measure, round_robin
from benchmarks.bench.values import Series, number
from benchmarks.bench.work import CASES, EXPECTED, INPUTS, PROGRAM, TRUTH, distinct, fenced
from verifier.client import AsyncClient
from verifier.engine import Engine, make_sandbox
from verifier.limits import DEFAULT_LIMITS
from verifier.sandbox.base import CompileJob, GuaranteeName, RunJob, Slot
from verifier.sandbox.controls import SWITCH
from verifier.sandbox.namespaces import NamespaceSandbox
from verifier.testcases import load_suite
from verifier.types import Harness, ScoreTask

Ten = Callable[[], Awaitable[None]]
YARDSTICKS = {
    "fork of a warm interpreter": "fork",
    "+ init, and fresh PID, mount, IPC, UTS namespaces": "floor",
    "+ /proc": "proc",
    "+ tmpfs": "tmpfs",
}
SLOTS = {
    "+ runner, pipes, clock, cgroup, limits, user id": ("seccomp", "landlock"),
    "+ seccomp": ("landlock",),
    "+ Landlock": (),
}
ENGINE = "+ engine and judging (one program)"
OWN = "+ a program of its own for each response"
GRPC = "+ gRPC and the gateway's process"


async def slot(without: Sequence[str], stack: contextlib.AsyncExitStack) -> Ten:
    """Runs the ten cases in a slot of its own."""
    every = [name.value for name in GuaranteeName]
    sandbox = NamespaceSandbox(accept=every if without else (), _control_without=without)
    stack.push_async_callback(sandbox.close)
    await sandbox.start()
    opened: Slot = await sandbox.open_slot()
    stack.push_async_callback(opened.close)
    source = {"main.py": PROGRAM.encode()}
    made = await opened.compile(CompileJob(Harness.PYTHON, source, (), (), DEFAULT_LIMITS))
    inputs = [text.encode() for text in INPUTS]

    async def ten() -> None:
        job = RunJob(Harness.PYTHON, made.artifact, (), inputs, DEFAULT_LIMITS)
        outputs = [facts.stdout.decode() async for facts in opened.run(job)]
        assert outputs == list(EXPECTED), outputs

    return ten


def us_per_case(ten: Ten, seconds: float) -> Measure:
    """Ten cases again and again, for some seconds."""

    async def measure() -> float:
        count, start = 0, time.perf_counter()
        while count == 0 or time.perf_counter() - start < seconds:
            await ten()
            count += CASES
        return (time.perf_counter() - start) / count * 1e6

    return measure


async def ladder(rounds: int = 7, seconds: float = 0.5) -> dict[str, Series]:
    """All variants, in order."""
    os.environ[SWITCH] = "1"
    contenders: dict[str, Measure] = {}
    async with contextlib.AsyncExitStack() as stack:
        yardsticks = Yardsticks(1)
        stack.push_async_callback(yardsticks.close)
        await yardsticks.start()

        def yardstick(way: str) -> Measure:
            async def measure() -> float:
                return 1e6 / await yardsticks.cases_per_s(way, seconds)

            return measure

        contenders.update((name, yardstick(way)) for name, way in YARDSTICKS.items())
        for name, without in SLOTS.items():
            contenders[name] = us_per_case(await slot(without, stack), seconds)

        engine = Engine(make_sandbox("namespaces"), slots=1)
        stack.push_async_callback(engine.close)
        await engine.start()
        suite = load_suite(TRUTH)

        async def same() -> None:
            assert (await engine.score(ScoreTask(fenced(PROGRAM), suite))).score == 1.0

        async def own() -> None:
            task = ScoreTask(fenced(distinct(PROGRAM)), suite)
            assert (await engine.score(task)).score == 1.0

        gateway = await stack.enter_async_context(Gateway("namespaces", slots=1))
        client = await stack.enter_async_context(AsyncClient(gateway.target))

        async def over_grpc() -> None:
            result = await client.score(fenced(distinct(PROGRAM)), TRUTH, no_cache=True)
            assert result.score == 1.0

        for name, ten in ((ENGINE, same), (OWN, own), (GRPC, over_grpc)):
            contenders[name] = us_per_case(ten, seconds)
        series, refused = await round_robin(contenders, unit="us", rounds=rounds)
    assert not refused, refused
    return series


def rows(series: dict[str, Series]) -> list[tuple[str, str, str, str]]:
    """Step, microseconds until there, what the step adds, spread."""
    found, before = [], None
    for name, one in series.items():
        added = "" if before is None else f"{one.minus(before).median:+,.0f}"
        spread = f"{number(min(one.values))}..{number(max(one.values))}"
        found.append((name, f"{one.median:,.0f}", added, spread))
        before = one
    return found


def lines(series: dict[str, Series]) -> list[str]:
    """For a terminal."""
    return [f"{row[0]:52}{row[1]:>8} us {row[2]:>8}   {row[3]}" for row in rows(series)]


def write(page: Path, series: dict[str, Series]) -> None:
    """Rewrite the page's section.

    Raises:
        ValueError: It has none.
    """
    table = report.table(("step", "us a case", "adds", "min..max"), rows(series))
    report.write_section(page, "\n".join(table) + "\n", "benchmarks/steps.py")


def main(argv: Sequence[str] | None = None) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path, help="rewrite this page's section of steps")
    options = parser.parse_args(argv)
    facts = machine.describe()
    print("\n".join(report.machine_lines(facts)), flush=True)
    series = asyncio.run(ladder(options.rounds, options.seconds))
    print("\n".join(lines(series)))
    if options.json:
        answer = {"machine": facts, "steps": [report.series_dict(s) for s in series.values()]}
        options.json.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        write(options.markdown, series)


if __name__ == "__main__":
    main()
