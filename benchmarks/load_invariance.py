"""Programs that are in time stay in time under load: 40 of 0.4 s CPU at once, 3 s limit, ten times.

    python benchmarks/load_invariance.py [--repeats 10] [--programs 40] [--hogs 4]
                                         [--backend namespaces] [--slots N] [--no-pin]

With `--hogs`, so many processes burn CPU beside the sandbox meanwhile. Prints how often each status
was given, and the longest CPU and wall times; exits with 1 when one is not ACCEPTED.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections import Counter

from verifier.engine import Engine, make_sandbox
from verifier.testcases import load_suite
from verifier.types import LimitOverrides, Result, ScoreTask

BUSY = (
    "```python\nimport time\n# {}\nwhile time.process_time() < 0.4:\n    pass\nprint(input())\n```"
)
LIMITS = LimitOverrides(cpu_time_s=3.0)


async def measure(args: argparse.Namespace) -> list[Result]:
    """All repeats."""
    engine = Engine(
        make_sandbox(args.backend, accept=args.accept), slots=args.slots, pin_slots=not args.no_pin
    )
    suite = load_suite({"inputs": ["1\n"], "outputs": ["1\n"]})
    results: list[Result] = []
    try:
        await engine.start()
        for _ in range(args.repeats):
            results += await asyncio.gather(
                *(
                    engine.score(ScoreTask(BUSY.format(i), suite, limits=LIMITS))
                    for i in range(args.programs)
                )
            )
    finally:
        await engine.close()
    print(f"run again alone: {engine.reruns}")
    return results


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--programs", type=int, default=40)
    parser.add_argument("--hogs", type=int, default=0)
    parser.add_argument("--backend", default="namespaces")
    parser.add_argument("--slots", type=int)
    parser.add_argument("--no-pin", action="store_true")
    parser.add_argument("--accept", action="append", default=[])
    args = parser.parse_args()
    hogs = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(args.hogs)]
    try:
        results = asyncio.run(measure(args))
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    found = Counter(r.status.value if r.status is not None else r.error for r in results)
    cases = [case for r in results for case in r.cases]
    print(f"{dict(found)}, {args.hogs} hogs")
    print(f"longest: CPU {max(c.cpu_time_s for c in cases):.2f} s", end=", ")
    print(f"wall {max(c.wall_time_s for c in cases):.2f} s")
    sys.exit(0 if set(found) == {"ACCEPTED"} else 1)


if __name__ == "__main__":
    main()
