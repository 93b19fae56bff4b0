"""What a gateway holds: a big suite sixteen times, and a hundred thousand cases."""

from __future__ import annotations

import json
import statistics

from benchmarks.bench.counting import CountingProxy
from benchmarks.bench.lab import Lab, score_all, warm
from benchmarks.bench.values import Check, NotMeasuredError, Row, Series
from benchmarks.bench.work import CASES, python_call
from verifier.client import AsyncClient

MB = 1e6
RESPONSES, SUITE_CASES = 16, 24
COPIES, ON_THE_WIRE = 2.0, 1.05
SUITE_NOTE = (
    "bytes from the client to the gateway, all included, and growth of the gateway's resident "
    "memory, both over the size of the ground truth as JSON"
)
COUNT_PROGRAM = "import sys\nprint(len(sys.stdin.read()))\n"

GROWTH, SLOWER = 1.05, 1.15
LINEAR_NOTE = (
    "each response has a program of its own; linear is taken as: the second half's median chunk "
    f"took at most {SLOWER} of the first half's time"
)


async def suite(lab: Lab) -> list[Row]:
    """One big suite, and a group of responses that are scored against it."""
    size = lab.options.sizes.suite_bytes
    each = size // SUITE_CASES
    truth = {
        "inputs": [chr(97 + i) * each for i in range(SUITE_CASES)],
        "outputs": [f"{each}\n"] * SUITE_CASES,
    }
    size = len(json.dumps(truth))
    backend = lab.options.backends[0]
    facts: dict[str, object] = {}
    checks: tuple[Check, ...]
    try:
        async with (
            lab.fresh_gateway(backend) as gateway,
            CountingProxy(gateway.target) as proxy,
            AsyncClient(proxy.target) as client,
        ):
            await warm(client)
            before, sent = gateway.rss_bytes(), proxy.sent_bytes
            gateway.reset_peak()
            calls = [python_call(truth, source=COUNT_PROGRAM) for _ in range(RESPONSES)]
            took = await score_all(client, calls)
            facts = {
                "suite_bytes": size,
                "sent_bytes": proxy.sent_bytes - sent,
                "before_bytes": before,
                "peak_bytes": gateway.peak_bytes(),
                "after_bytes": gateway.rss_bytes(),
                "seconds": took,
            }
            wire = (proxy.sent_bytes - sent) / size
            peak = (gateway.peak_bytes() - before) / size
            held = (gateway.rss_bytes() - before) / size
            checks = (
                Check("wire", f"{wire:.2f} suites sent", wire <= ON_THE_WIRE),
                Check(
                    "memory",
                    f"at most {peak:.1f} copies, {held:.1f} held after",
                    peak <= COPIES,
                ),
            )
    except NotMeasuredError as reason:
        checks = (Check("", "", None, str(reason)),)
    return [
        Row(
            key="suite",
            work=f"{size / MB:.0f} MB suite x {RESPONSES} responses",
            target=f"suite bytes on the wire once; <= {COPIES:g} copies in memory",
            checks=checks,
            notes=(SUITE_NOTE,),
            facts=facts,
        )
    ]


async def soak(lab: Lab) -> list[Row]:
    """Many responses, chunk by chunk: memory after each, and the time it took."""
    sizes = lab.options.sizes
    checks, series = [], []
    if not lab.options.long:
        checks.append(Check("", "", None, "only with --long"))
    for backend in lab.options.backends if lab.options.long else ():
        try:
            async with (
                lab.fresh_gateway(backend) as gateway,
                AsyncClient(gateway.target) as client,
            ):
                memory, runners, seconds = [], [], []
                for _ in range(sizes.chunks):
                    calls = [python_call() for _ in range(sizes.chunk_cases // CASES)]
                    seconds.append(await score_all(client, calls))
                    memory.append(gateway.rss_bytes() / MB)
                    runners.append(gateway.runners_rss_bytes() / MB)
        except NotMeasuredError as reason:
            checks.append(Check(backend, "", None, str(reason)))
            continue
        half = sizes.chunks // 2
        slower = statistics.median(seconds[half:]) / statistics.median(seconds[:half])
        grown, runners_grown = max(memory) / memory[0], max(runners) / runners[0]
        value = (
            f"gateway {grown:.3f}, runners {runners_grown:.3f} of the first chunk; "
            f"second half {slower:.2f} of the first half's time"
        )
        ok = max(grown, runners_grown) <= GROWTH and slower <= SLOWER
        checks.append(Check(backend, value, ok))
        series += [
            Series(f"{backend}: gateway", "MB", tuple(memory)),
            Series(f"{backend}: runners", "MB", tuple(runners)),
            Series(f"{backend}: a chunk", "s", tuple(seconds)),
        ]
    return [
        Row(
            key="soak",
            work=f"{sizes.chunks * sizes.chunk_cases:,} cases",
            target=f"gateway and runner RSS within 5% of the first {sizes.chunk_cases:,}; "
            "time linear",
            checks=tuple(checks),
            series=tuple(series),
            notes=(f"{sizes.chunks} chunks of {sizes.chunk_cases:,} cases; {LINEAR_NOTE}",),
        )
    ]
