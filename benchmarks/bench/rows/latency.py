"""How long one client waits: one Python case, and one `/bin/true`."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

from benchmarks.bench.lab import Lab
from benchmarks.bench.rounds import Measure, round_robin
from benchmarks.bench.values import Check, Row, percentile
from benchmarks.bench.work import ONE_CASE, PROGRAM, distinct, fenced
from verifier.client import AsyncClient
from verifier.types import Status

ADDED_MS = 2.0
TRUE_MS = 3.0
FLOOR, SPAWN = "floor", "bare spawn"


async def one_case(lab: Lab) -> list[Row]:
    """One Python case with a program of its own, against the floor on an idle machine."""

    async def floor() -> float:
        yardsticks = await lab.yardsticks()
        return percentile(await yardsticks.latencies_ms("floor", _seconds(lab)), 50)

    async def ours(client: AsyncClient) -> None:
        result = await client.score(fenced(distinct(PROGRAM)), ONE_CASE, no_cache=True)
        assert result.score == 1.0, result

    contenders: dict[str, Measure] = {FLOOR: floor}
    for backend in lab.options.backends:
        contenders[backend] = _p50_ms(lab, backend, ours)
    series, refused = await round_robin(contenders, unit="ms p50", rounds=lab.options.sizes.rounds)
    checks = []
    for backend in lab.options.backends:
        if backend not in series or FLOOR not in series:
            checks.append(Check(backend, "", None, refused.get(backend) or refused[FLOOR]))
            continue
        added = series[backend].minus(series[FLOOR])
        checks.append(Check(backend, f"floor + {added.text()} ms", added.median <= ADDED_MS))
    return [
        Row(
            key="latency",
            work="one Python case, one client, p50 over gRPC",
            target=f"floor + <= {ADDED_MS:g} ms",
            checks=tuple(checks),
            series=tuple(series.values()),
            notes=("each request has a program of its own, which is compiled first",),
        )
    ]


async def bin_true(lab: Lab) -> list[Row]:
    """One `/bin/true`, in a jail of its own."""

    async def spawn() -> float:
        return await asyncio.to_thread(_spawn_p50_ms, _seconds(lab))

    async def ours(client: AsyncClient) -> None:
        outcome = await client.run(argv=["/bin/true"])
        assert outcome.status is Status.ACCEPTED, outcome

    contenders: dict[str, Measure] = {SPAWN: spawn}
    for backend in lab.options.backends:
        contenders[backend] = _p50_ms(lab, backend, ours)
    series, refused = await round_robin(contenders, unit="ms p50", rounds=lab.options.sizes.rounds)
    checks = [
        Check(backend, f"{series[backend].text()} ms", series[backend].median <= TRUE_MS)
        if backend in series
        else Check(backend, "", None, refused[backend])
        for backend in lab.options.backends
    ]
    return [
        Row(
            key="true",
            work="one sandboxed /bin/true through Run",
            target=f"<= {TRUE_MS:g} ms p50",
            checks=tuple(checks),
            series=tuple(series.values()),
        )
    ]


def _p50_ms(lab: Lab, backend: str, call: Callable[[AsyncClient], Awaitable[None]]) -> Measure:
    """The median of one call after the other."""

    async def measure() -> float:
        client = await lab.client(backend)
        took: list[float] = []
        end = time.perf_counter() + _seconds(lab)
        while not took or time.perf_counter() < end:
            start = time.perf_counter()
            await call(client)
            took.append((time.perf_counter() - start) * 1000)
        return percentile(took, 50)

    return measure


def _spawn_p50_ms(seconds: float) -> float:
    took: list[float] = []
    end = time.perf_counter() + seconds
    while not took or time.perf_counter() < end:
        start = time.perf_counter()
        os.waitpid(os.posix_spawn("/bin/true", ["/bin/true"], {}), 0)
        took.append((time.perf_counter() - start) * 1000)
    return percentile(took, 50)


def _seconds(lab: Lab) -> float:
    """Of one measurement: a hundred calls and more."""
    return lab.options.sizes.seconds / 2
