"""Ten solutions against verl's prime_code; one C++ program against its compiler."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.bench.lab import Lab, score_all
from benchmarks.bench.rounds import Measure, round_robin
from benchmarks.bench.values import Check, NotMeasuredError, Row, Series, number
from benchmarks.bench.work import (
    CASES,
    CPP_PROGRAM,
    PROGRAM,
    TRUTH,
    distinct,
    fenced,
    python_call,
)
from verifier import languages
from verifier.client import ScoreCall

SOLUTIONS = 10
PRIME, PRIME_POOL = "prime_code", "prime_code, a process per core"
PRIME_NOTE = (
    "all solutions are right, which is prime_code's best case: it runs all cases of one in one "
    "process, and a wrong solution again case by case"
)
PRIME_SHARE = 0.35
COMPILES, CASE_MS, AGAIN_MS = 1.1, 3.0, 50.0
COMPILER = "bare g++"


async def prime_code(lab: Lab) -> list[Row]:
    """Ten right solutions of ten cases each: seconds until all scores are there."""

    def prime(*, pool: bool) -> Measure:
        async def measure() -> float:
            worker = await lab.prime()
            responses = [fenced(distinct(PROGRAM)) for _ in range(SOLUTIONS)]
            return await worker.score(responses, TRUTH, pool=pool)

        return measure

    def ours(backend: str) -> Measure:
        async def measure() -> float:
            client = await lab.client(backend)
            return await score_all(client, [python_call() for _ in range(SOLUTIONS)])

        return measure

    contenders = {PRIME: prime(pool=False), PRIME_POOL: prime(pool=True)}
    contenders.update((backend, ours(backend)) for backend in lab.options.backends)
    series, refused = await round_robin(contenders, unit="s", rounds=lab.options.sizes.rounds)
    checks, ratios = [], []
    for backend in lab.options.backends:
        if backend not in series or PRIME not in series:
            checks.append(Check(backend, "", None, refused.get(backend) or refused[PRIME]))
            continue
        ratio = series[backend].over(series[PRIME])
        pooled = series[backend].over(series[PRIME_POOL])
        ratios += [ratio, pooled]
        value = f"{ratio.text()} (of a pool of processes: {number(pooled.median)})"
        checks.append(Check(backend, value, ratio.median <= PRIME_SHARE))
    return [
        Row(
            key="prime-code",
            work=f"{SOLUTIONS} solutions x {CASES} stdin cases, end to end from Python",
            target=f"<= {PRIME_SHARE} of verl's prime_code",
            checks=tuple(checks),
            series=(*series.values(), *ratios),
            notes=(PRIME_NOTE,),
        )
    ]


async def cpp(lab: Lab) -> list[Row]:
    """One C++ program with bits/stdc++.h: first submission, and the same text again."""
    contenders: dict[str, Measure] = {COMPILER: _compile_s}
    last: dict[str, ScoreCall] = {}

    def first(backend: str) -> Measure:
        async def measure() -> float:
            text = fenced(distinct(CPP_PROGRAM, "//"), "cpp")
            last[backend] = ScoreCall(text, TRUTH, no_cache=True)
            return await score_all(await lab.client(backend), [last[backend]])

        return measure

    def second(backend: str) -> Measure:
        async def measure() -> float:
            return await score_all(await lab.client(backend), [last[backend]])

        return measure

    for backend in lab.options.backends:
        contenders[f"{backend}, first"] = first(backend)
        contenders[f"{backend}, again"] = second(backend)
    series, refused = await round_robin(
        contenders, unit="s", rounds=lab.options.sizes.long_rounds, chained=True
    )
    checks = [
        _cpp_check(backend, series, refused.get(f"{backend}, first") or refused.get(COMPILER))
        for backend in lab.options.backends
    ]
    return [
        Row(
            key="cpp",
            work=f"C++: one program x {CASES} cases, and a second submission of it",
            target=f"<= {COMPILES} compiles + {CASES} x {CASE_MS:g} ms; <= {AGAIN_MS:g} ms",
            checks=tuple(checks),
            series=tuple(series.values()),
            notes=("a compile is g++ with the same flags on this host, not sandboxed",),
        )
    ]


def _cpp_check(backend: str, series: dict[str, Series], why: str | None) -> Check:
    if why is not None:
        return Check(backend, "", None, why)
    compiler = series[COMPILER].median
    first, again = (series[f"{backend}, {which}"] for which in ("first", "again"))
    most = COMPILES * compiler + CASES * CASE_MS / 1000
    value = (
        f"{number(first.median / compiler)} compiles ({first.text()} s, {number(most)} s allowed); "
        f"again {number(again.median * 1000)} ms"
    )
    return Check(backend, value, first.median <= most and again.median <= AGAIN_MS / 1000)


async def _compile_s() -> float:
    """One compile on this host, with the flags of our recipe."""
    recipe = languages.get("cpp")
    if shutil.which(recipe.compile_argv[0]) is None:
        raise NotMeasuredError(f"{recipe.compile_argv[0]} is not installed on this host")

    def work() -> float:
        with tempfile.TemporaryDirectory() as folder:
            source = distinct(CPP_PROGRAM, "//")
            Path(folder, recipe.source_name).write_text(source, encoding="utf-8")
            start = time.perf_counter()
            subprocess.run(recipe.compile_argv, cwd=folder, check=True)
            return time.perf_counter() - start

    return await asyncio.to_thread(work)
