"""Whether a gateway or its runners grow: 100,000 cases, and memory along the way.

    python benchmarks/memory_over_time.py [--cases 100000] [--backend namespaces] [--json FILE]

Starts a gateway of its own and scores responses of ten cases, some of them wrong, some that break a
limit. There are 500 programs, which are run again and again: compiled programs are kept up to a
budget, about 0.8 KB for each small one in Python, and that is no growth to look for. Prints the
resident memory of the gateway and of its runners (the processes below it; their pages are counted
by share) after the first 5,000 cases and after each tenth of the rest, and how long each tenth
took.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from pathlib import Path

import psutil

from verifier.client import AsyncClient, ScoreCall
from verifier.types import LimitOverrides, Outcome

MIB = 1024 * 1024
CASES = 10
FIRST = 5000
POINTS = 10
PROGRAMS = FIRST // CASES
TRUTH = json.dumps(
    {"inputs": [f"{i}\n" for i in range(CASES)], "outputs": [f"{i}\n" for i in range(CASES)]}
)
BODIES = (
    *["print(input())"] * 16,
    "print(input() * 2)",
    "raise SystemExit(3)",
    "x = bytearray(10**8)",
    "print('y' * 10**6)",
)
LIMITS = LimitOverrides(memory_bytes=32 * MIB, output_bytes=100_000)


def pss_bytes(pid: int) -> int:
    """Memory of a process, pages that others share counted by share; 0 when it is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def memory(pid: int) -> tuple[int, int]:
    """The gateway's resident bytes, and those of its slots' own processes."""
    gateway = psutil.Process(pid)
    below = gateway.children(recursive=True)
    return gateway.memory_info().rss, sum(pss_bytes(p.pid) for p in below)


async def measure(args: argparse.Namespace) -> dict[str, object]:
    """Run all cases."""
    gateway = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "verifier", "serve", "--grpc", "127.0.0.1:0"),
        *("--backend", args.backend, *(f"--accept={name}" for name in args.accept)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert gateway.stdout is not None
    points: list[dict[str, float]] = []
    try:
        address = (await gateway.stdout.readline()).decode().split()[-1]
        async with AsyncClient(address, timeout_s=None) as client:
            done = 0
            step = (args.cases - FIRST) // POINTS
            for count in (FIRST, *[step] * POINTS):
                began = time.monotonic()
                await score(client, done // CASES, count // CASES)
                done += count
                rss, runners = memory(gateway.pid)
                point = {
                    "cases": done,
                    "gateway_mib": rss / MIB,
                    "runners_mib": runners / MIB,
                    "ms_per_case": (time.monotonic() - began) / count * 1e3,
                }
                print("  ".join(f"{k} {v:.2f}" for k, v in point.items()), flush=True)
                points.append(point)
    finally:
        gateway.terminate()
        await gateway.wait()
    first, last = points[0], points[-1]
    growth = {
        f"{name}_growth": last[f"{name}_mib"] / first[f"{name}_mib"] - 1
        for name in ("gateway", "runners")
    }
    return {"points": points, **growth}


async def score(client: AsyncClient, first: int, count: int) -> None:
    """So many responses over one stream."""
    results = await client.score_many(
        ScoreCall(
            f"```python\n# {number % PROGRAMS}\n{BODIES[number % len(BODIES)]}\n```",
            TRUTH,
            limits=LIMITS,
            no_cache=True,
        )
        for number in range(first, first + count)
    )
    for result in results:
        if result.outcome is not Outcome.SCORED:
            raise RuntimeError(result.error)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--backend", default="namespaces")
    parser.add_argument("--accept", action="append", default=[])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = asyncio.run(measure(args))
    print("growth since the first 5,000: ", end="")
    print(f"gateway {found['gateway_growth']:+.1%}, runners {found['runners_growth']:+.1%}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
