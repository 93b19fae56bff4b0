"""20,000 mixed runs, a tenth of them hostile with limits of 0.2 s, through each backend.

    python benchmarks/soak_sandbox.py [--backends namespaces,docker] [--count 20000]
                                      [--hostile-share 0.1] [--slots N] [--json FILE]

Prints survivors, leaks, wrong verdicts, and how this process's memory and descriptors went. As root
all guarantees hold; an ordinary user has to name what it lacks (--accept).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
from pathlib import Path

from verifier.engine import make_sandbox
from verifier.stress.catalogue import load
from verifier.stress.soak import Plan, Report, Soak

MIB = 1024 * 1024
CURVE = 10


async def soak(backend: str, plan: Plan, accept: list[str]) -> Report:
    """One backend."""
    sandbox = make_sandbox(backend, accept=accept)
    try:
        await sandbox.start()
        return await Soak(sandbox, load(), plan).run(lambda report: print(line(report), flush=True))
    finally:
        await sandbox.close()


def line(report: Report) -> str:
    """One round's end."""
    return (
        f"{report.backend:<10} {report.seconds:7.0f} s {report.benign + report.hostile:6} runs  "
        f"wrong {len(report.wrong)}  unserved {len(report.unserved)}  left {len(report.left)}  "
        f"slots lost {report.faults}  {report.rss_bytes[-1] / MIB:6.1f} MiB  {report.fds[-1]} fds"
    )


def curve(values: list[int]) -> list[int]:
    """Ten points of it, first and last among them."""
    step = max((len(values) - 1) / (CURVE - 1), 1)
    picked = [round(i * step) for i in range(CURVE) if round(i * step) < len(values)]
    return [values[i] for i in picked]


def summary(report: Report) -> dict[str, object]:
    """What is put into the documentation."""
    found = report.to_dict()
    return {
        "backend": report.backend,
        "ok": report.ok,
        "runs": report.benign + report.hostile,
        "hostile": report.hostile,
        "seconds": round(report.seconds, 1),
        "runs_per_s": round(found["runs_per_s"], 1),
        "wrong_verdicts": len(report.wrong),
        "without_verdict": len(report.unserved),
        "survivors": len(report.left),
        "slots_lost": report.faults,
        "run_again_alone": report.reruns,
        "leaks": report.leaks,
        "rss_mib": [round(v / MIB, 1) for v in curve(report.rss_bytes)],
        "descriptors": curve(report.fds),
        "slot_memory_mib": [round(v / MIB, 1) for v in curve(report.slot_bytes)],
        "latency_ms": {name: round(v, 1) for name, v in found["latency_ms"].items()},
        "flaky_attacks": len(report.flaky),
        "first_problems": [*report.wrong, *report.unserved, *report.left][:20],
    }


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--backends", default="namespaces,docker")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--hostile-share", type=float, default=0.1)
    parser.add_argument("--slots", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--accept", default="")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    plan = Plan(
        count=given.count, hostile_share=given.hostile_share, slots=given.slots, seed=given.seed
    )
    accept = [name for name in given.accept.split(",") if name]
    reports = [asyncio.run(soak(name, plan, accept)) for name in given.backends.split(",")]
    answer = {
        "machine": f"{len(os.sched_getaffinity(0))} cores, Linux {platform.release()}",
        "slots": given.slots,
        "backends": [summary(report) for report in reports],
    }
    print(json.dumps(answer, indent=2))
    if given.json:
        given.json.write_text(json.dumps(answer, indent=2) + "\n")
    raise SystemExit(0 if all(report.ok for report in reports) else 1)


if __name__ == "__main__":
    main()
