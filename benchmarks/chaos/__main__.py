"""Break things under a steady load with known answers, and count what it cost.

Needs root, for a Docker engine of its own, a small file system and the groups of slots. Nobody
else's engine is touched.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import platform
import signal
import sys
import time
from pathlib import Path

from benchmarks.chaos import engine, report
from benchmarks.chaos.faults import BOTH, FAULTS
from benchmarks.chaos.load import ONCE, PATIENT
from benchmarks.chaos.run import Pace, Row, run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description=__doc__)
    parser.add_argument("--fault", action="append", choices=FAULTS, help="default: all")
    parser.add_argument("--backend", action="append", choices=BOTH, help="default: both")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--answers", type=int, default=60, help="between two faults")
    parser.add_argument("--no-retry", action="store_true", help="a control: this has to lose some")
    parser.add_argument("--write", action="store_true", help=f"the table into docs/{PAGE.name}")
    options = parser.parse_args()
    if reason := engine.why_not():
        parser.error(reason)
    pace = Pace(options.repeats, options.answers, retry=ONCE if options.no_retry else PATIENT)
    # What was started is ended on the way out, whoever ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    rows = asyncio.run(_all(options.fault or list(FAULTS), options.backend or BOTH, pace))
    print(report.markdown(rows))
    if options.write:
        command = " ".join(["python -m benchmarks.chaos", *sys.argv[1:]])
        how = (
            f"`{command}`, Linux {platform.release()}, {os.cpu_count()} cores, "
            f"{time.monotonic() - began:.0f} s:"
        )
        report.write(PAGE, rows, how)
    return 0 if all(row.ok for row in rows) else 1


async def _all(faults: list[str], backends: tuple[str, ...], pace: Pace) -> list[Row]:
    rows = []
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(engine.PrivateEngine()) if "docker" in backends else None
        for name in faults:
            fault = FAULTS[name]
            if reason := fault.missing():
                print(f"{fault.name}: left out: {reason}")
                continue
            for backend in backends:
                if backend in fault.backends:
                    row = await run(fault, backend, pace, own)
                    print("; ".join(report.cells(row)), flush=True)
                    print("".join(f"  {line}\n" for line in report.problems(row)), end="")
                    rows.append(row)
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
