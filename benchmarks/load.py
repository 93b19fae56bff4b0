"""Open-loop load on a gateway: requests arrive when they are due, however slow the answers are.

    python benchmarks/load.py [--target HOST:PORT | --backend namespaces] [--mix suite=0.9,burn=0.1]
                              [--rates 5,10,20 | --from 5 --growth 1.6] [--seconds 5] [--json FILE]

Arrivals are a Poisson process. A latency counts from the moment a request was due, not from the
moment it was sent: what a slow answer delays is in the figures (no coordinated omission). Each rate
is held for some seconds and followed to its last answer; without `--rates`, they grow until the
gateway is saturated: it refused a request, or what was due in that time took half as long again.

Kinds of a mix: `case` (one Python case), `suite` (ten), `burn` (one of 50 ms CPU), `cpp` (a C++
program to compile, ten cases), `same` (ten cases, always the same program; caches may know it).
Without `--target` it starts `verifier serve` itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.bench import machine
from benchmarks.bench.gateways import Gateway
from benchmarks.bench.values import number, percentile
from benchmarks.bench.work import CPP_PROGRAM, ONE_CASE, PROGRAM, TRUTH, distinct, fenced
from verifier.client import AsyncClient, RetryPolicy, ScoreCall
from verifier.errors import VerifierError

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 100.0)
LATE = 1.5
MAX_STEPS = 20
BURN = "import time\nwhile time.process_time() < 0.05:\n    pass\n" + PROGRAM


def _call(source: str, truth: object, language: str = "python") -> ScoreCall:
    comment = "//" if language == "cpp" else "#"
    return ScoreCall(fenced(distinct(source, comment), language), truth, no_cache=True)


KINDS: dict[str, Callable[[], ScoreCall]] = {
    "case": lambda: _call(PROGRAM, ONE_CASE),
    "suite": lambda: _call(PROGRAM, TRUTH),
    "burn": lambda: _call(BURN, ONE_CASE),
    "cpp": lambda: _call(CPP_PROGRAM, TRUTH, "cpp"),
    "same": lambda: ScoreCall(fenced(PROGRAM), TRUTH),
}


@dataclass(slots=True)
class Step:
    """One rate.

    Attributes:
        rate_per_s: Asked for.
        arrivals: Requests that were due.
        took_s: From the first moment to the last answer.
        latency_ms: From when each was due to its answer.
        errors: What was no score, by its kind.
        latest_ms: The most that this program itself was late with sending; near the latencies, it
            is the load generator that is too slow.
    """

    rate_per_s: float
    arrivals: int = 0
    took_s: float = 0.0
    latency_ms: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    latest_ms: float = 0.0

    def saturated(self, seconds: float) -> bool:
        """Whether the gateway cannot keep up."""
        return bool(self.errors) or self.took_s > LATE * seconds

    def to_dict(self) -> dict[str, object]:
        """For JSON: percentiles instead of all latencies."""
        found = asdict(self)
        found["latency_ms"] = {f"p{p:g}": self.at(p) for p in PERCENTILES}
        found["scored_per_s"] = len(self.latency_ms) / self.took_s
        return found

    def at(self, percent: float) -> float | None:
        """A percentile; None where nothing was scored."""
        return percentile(self.latency_ms, percent) if self.latency_ms else None


def due_times(rate_per_s: float, seconds: float, rng: random.Random) -> list[float]:
    """When requests are due, in seconds from the start: a Poisson process."""
    times, now = [], rng.expovariate(rate_per_s)
    while now < seconds:
        times.append(now)
        now += rng.expovariate(rate_per_s)
    return times


async def hold(
    client: AsyncClient,
    mix: Sequence[tuple[str, float]],
    rate_per_s: float,
    seconds: float,
    rng: random.Random,
) -> Step:
    """One rate, until the last answer is there."""
    step = Step(rate_per_s)
    names, weights = zip(*mix, strict=True)
    times = due_times(rate_per_s, seconds, rng)
    kinds = rng.choices(names, weights, k=len(times))
    # Made before the clock runs.
    calls = [KINDS[kind]() for kind in kinds]
    step.arrivals = len(calls)
    start = time.perf_counter()

    async def one(call: ScoreCall, due: float) -> None:
        try:
            result = await client.score(call.response, call.ground_truth, no_cache=call.no_cache)
        except VerifierError as error:
            step.errors[type(error).__name__] += 1
            return
        if result.score == 1.0:
            step.latency_ms.append((time.perf_counter() - due) * 1000)
        else:
            step.errors[str(result.status or result.outcome)] += 1

    async with contextlib.AsyncExitStack() as stack:
        tasks: set[asyncio.Task[None]] = set()
        stack.callback(lambda: [task.cancel() for task in tasks])
        for call, due in zip(calls, times, strict=True):
            wait = start + due - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            step.latest_ms = max(step.latest_ms, (time.perf_counter() - start - due) * 1000)
            tasks.add(asyncio.create_task(one(call, start + due)))
        if tasks:
            await asyncio.wait(tasks)
    step.took_s = time.perf_counter() - start
    return step


def line(step: Step) -> str:
    """One rate in the table."""
    cells = "".join(
        f"{'-' if value is None else number(value):>10}" for value in map(step.at, PERCENTILES)
    )
    errors = f"  {dict(step.errors)}" if step.errors else ""
    scored = len(step.latency_ms) / step.took_s
    late = number(step.latest_ms)
    return f"{number(step.rate_per_s):>8}{number(scored):>10}{cells}{late:>10}{errors}"


def read_mix(text: str) -> list[tuple[str, float]]:
    """`suite=0.9,burn=0.1`.

    Raises:
        ValueError: There is no such kind, or a share is not positive.
    """
    mix = []
    for part in text.split(","):
        name, _, share = part.partition("=")
        if name not in KINDS or not float(share or 1) > 0:
            raise ValueError(f"{part!r}: a kind of {', '.join(KINDS)} and a positive share")
        mix.append((name, float(share or 1)))
    return mix


def rates(options: argparse.Namespace) -> list[float]:
    """In their order."""
    if options.rates:
        return [float(rate) for rate in options.rates.split(",")]
    return [options.start * options.growth**index for index in range(MAX_STEPS)]


async def run(options: argparse.Namespace) -> list[Step]:
    """All rates, or until saturation."""
    rng = random.Random(options.seed)  # noqa: S311 - arrivals, not secrets
    mix = read_mix(options.mix)
    steps = []
    async with contextlib.AsyncExitStack() as stack:
        target = options.target
        if target is None:
            gateway = Gateway(options.backend, slots=options.slots, accept=options.accept)
            target = (await stack.enter_async_context(gateway)).target
        # Nothing waits in the client, and nothing is tried again: a refusal is an answer.
        client = await stack.enter_async_context(
            AsyncClient(target, max_in_flight=1_000_000, retry=RetryPolicy(max_attempts=1))
        )
        await hold(client, mix, rates(options)[0], 1.0, rng)
        heads = "".join(f"{f'p{p:g} ms':>10}" for p in PERCENTILES)
        print(f"{'due/s':>8}{'scored/s':>10}{heads}{'sent late':>10}", flush=True)
        for rate in rates(options):
            step = await hold(client, mix, rate, options.seconds, rng)
            steps.append(step)
            print(line(step), flush=True)
            if step.saturated(options.seconds) and not options.rates:
                break
    return steps


def main(argv: Sequence[str] | None = None) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target")
    parser.add_argument("--backend", default="namespaces")
    parser.add_argument("--slots", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--accept", default="")
    parser.add_argument("--mix", default="suite")
    parser.add_argument("--rates", help="responses a second, one after the other")
    parser.add_argument("--from", dest="start", type=float, default=5.0)
    parser.add_argument("--growth", type=float, default=1.6)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    steps = asyncio.run(run(options))
    if options.json:
        answer = {
            "machine": machine.describe(),
            "mix": options.mix,
            "seconds": options.seconds,
            "steps": [step.to_dict() for step in steps],
        }
        options.json.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
