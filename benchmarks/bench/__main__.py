"""The command line: `scripts/bench`, or `python -m benchmarks.bench`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import steps
from benchmarks.bench import machine, report
from benchmarks.bench.lab import QUICK, Lab, Options, Sizes
from benchmarks.bench.rows import ROWS
from benchmarks.bench.values import Row

PLACES = {
    "verl_python": "PY",
    "run_code_url": "URL",
    "run_code_isolated_url": "URL",
    "go_judge": "BINARY",
    "json": "FILE",
    "markdown": "FILE",
}
KEYS = [key for keys in ROWS for key in keys]


def parser() -> argparse.ArgumentParser:
    """Its options."""
    made = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures what this project has targets for, each work beside a floor and the "
        "peers in one interleaved run, and prints the table of targets.",
    )
    made.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    made.add_argument("--long", action="store_true", help="the works of minutes too")
    made.add_argument("--steps", action="store_true", help="where the time of a case goes, too")
    made.add_argument("--only", nargs="+", choices=KEYS, metavar="ROW", help=", ".join(KEYS))
    made.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured")
    made.add_argument(
        "--markdown", type=Path, metavar="FILE", help="rewrite the page's section between its marks"
    )
    made.add_argument(
        "--backends",
        default="namespaces,docker",
        help="default: %(default)s; a runtime of docker behind a colon: docker:crun",
    )
    made.add_argument("--slots", type=int, default=len(os.sched_getaffinity(0)))
    made.add_argument("--accept", default="", help="as of `verifier serve`")
    made.add_argument("--run-code-url", metavar="URL", help="a Sandbox Fusion without isolation")
    made.add_argument("--run-code-isolated-url", metavar="URL", help="one with isolation")
    made.add_argument("--go-judge", metavar="BINARY")
    made.add_argument(
        "--verl-python",
        metavar="PY",
        help="an interpreter that has verl (scripts/verl-venv); default: VERIFIER_VERL_PYTHON",
    )
    return made


async def measure(options: Options, keys: Sequence[str]) -> list[Row]:
    """The rows of these keys, each printed when it is there."""
    rows: list[Row] = []
    async with Lab(options) as lab:
        for names, work in ROWS.items():
            if not set(names) & set(keys):
                continue
            for row in await work(lab):
                if row.key in keys:
                    rows.append(row)
                    print("\n".join(report.row_lines(row)), flush=True)
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    given = parser().parse_args(argv)
    # What was started is ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = Options(
        backends=tuple(given.backends.split(",")),
        slots=given.slots,
        sizes=QUICK if given.quick else Sizes(),
        long=given.long,
        accept=given.accept,
        run_code_url=given.run_code_url,
        run_code_isolated_url=given.run_code_isolated_url,
        go_judge=given.go_judge,
        verl_python=given.verl_python,
    )
    facts = machine.describe()
    print("\n".join(report.machine_lines(facts)), flush=True)
    start = time.perf_counter()
    rows = asyncio.run(measure(options, given.only or KEYS))
    ladder = asyncio.run(steps.ladder()) if given.steps else {}
    facts["load_after"] = machine.describe()["load"]
    facts["took_s"] = round(time.perf_counter() - start)
    if ladder:
        print("\n".join(["== where the time of a case goes", *steps.lines(ladder)]))
    print("\n" + "\n".join(report.table_lines(rows)))
    print(f"\n{facts['took_s']} s")
    if given.json:
        answer = {
            "machine": facts,
            "rows": [report.as_dict(row) for row in rows],
            "steps": [report.series_dict(one) for one in ladder.values()],
        }
        given.json.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
    if given.markdown:
        section = report.markdown(facts, rows, shown_command(vars(given)))
        report.write_section(given.markdown, section, "scripts/bench")
        if ladder:
            steps.write(given.markdown, ladder)
    return 0


def shown_command(given: dict[str, object]) -> str:
    """The command as a page shows it: what names a place of this machine is a word."""
    words = ["scripts/bench"]
    for name in ("quick", "long", "steps"):
        words += [f"--{name}"] if given[name] else []
    words += ["--only", *given["only"]] if isinstance(given["only"], list) else []
    for name, word in PLACES.items():
        words += [f"--{name.replace('_', '-')} {word}"] if given[name] else []
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
