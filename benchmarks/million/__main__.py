"""Score many synthetic rows with `verifier score`, once undisturbed and once killed on the way.

    python -m benchmarks.million [--rows 1000000] [--backend fake] [--kills 5] [--seed 1]
        [--cases 3] [--format jsonl.zst] [--slots N] [--json FILE] [--markdown docs/million.md]
        [--keep FOLDER]

Prints memory along the run, rows per second, the sizes of files; kills the second run's process
group with SIGKILL at random points, resumes it, and compares the two results files row by row.
Exits with 1 where anything is not as it has to be.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.million import rows as made
from benchmarks.million.compare import at_the_kill, begins_with, differences, statuses
from benchmarks.million.report import into_page, lines
from benchmarks.million.runs import Run, resumed_rows, score
from verifier.data.journal import journal_of

# The highest of all tenths over the first.
FLAT = 1.25
# Results and rows without a score: the run is complete all the same.
DONE = (0, 1)


def undisturbed(rows: Path, results: Path, options: list[str]) -> dict[str, Any]:
    """The run that nothing ends."""
    run = score(rows, results, options)
    assert run.code in DONE, run.said
    tenths = run.tenths()
    memory = [one.scorer_mib + one.others_mib for one in tenths]
    return {
        "seconds": round(run.seconds, 1),
        "rows_per_s": round(run.totals["rows"] / run.totals["seconds"], 1),
        "rows": run.totals["rows"],
        "mean_score": run.totals["mean_score"],
        "scorer_mib": [round(one.scorer_mib, 1) for one in tenths],
        "others_mib": [round(one.others_mib, 1) for one in tenths],
        "at_seconds": [round(one.seconds, 1) for one in tenths],
        "highest_over_first": round(max(memory) / memory[0], 3),
        "flat": max(memory) <= FLAT * memory[0],
        "rows_bytes": rows.stat().st_size,
        "results_bytes": results.stat().st_size,
        "journal_bytes_most": run.journal_bytes,
        "journal_bytes_end": journal_of(results).stat().st_size,
        "survivors": run.survivors,
    }


def killed(
    rows: Path, results: Path, options: list[str], points: list[int]
) -> tuple[list[dict[str, Any]], Run]:
    """The run that is killed as often as there are points, and resumed each time."""
    kills: list[dict[str, Any]] = []
    for point in points:
        run = score(rows, results, [*options, "--resume"], kill_at_bytes=point)
        assert (run.code or 0) < 0, f"it ended before the kill: {run.said}"
        done, size, crc, ahead = at_the_kill(results)
        kills.append(
            {
                "rows_written": done,
                "rows_ahead": ahead,
                "bytes": size,
                "crc32": crc,
                "journal_bytes": journal_of(results).stat().st_size,
                "first_row_s": round(run.first_row_s, 2),
                "resumed_rows": resumed_rows(run.said),
                "highest_mib": _highest(run),
                "survivors": run.survivors,
            }
        )
        print("killed:", json.dumps(kills[-1]), flush=True)
    last = score(rows, results, [*options, "--resume"])
    assert last.code in DONE, last.said
    return kills, last


def _highest(run: Run) -> float:
    return round(max((one.scorer_mib + one.others_mib for one in run.samples), default=0.0), 1)


def measure(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Everything."""
    rows = folder / f"rows.{args.format}"
    wanted = made.write(rows, args.rows, args.cases)
    print(f"{args.rows} rows, {rows.stat().st_size / 1e6:.1f} MB", flush=True)
    options = ["--backend", args.backend, *(f"--accept={name}" for name in args.accept)]
    options += [] if args.slots is None else ["--slots", str(args.slots)]
    options += ["--allow-unsafe"] if args.backend == "fake" else []
    whole, broken = folder / "whole.jsonl", folder / "broken.jsonl"
    found: dict[str, Any] = {
        "backend": args.backend,
        "machine": f"{len(os.sched_getaffinity(0))} cores, Linux {platform.release()}",
        "python": platform.python_version(),
        "format": args.format,
        "cases": args.cases,
        "undisturbed": undisturbed(rows, whole, options),
    }
    print(json.dumps(found["undisturbed"], indent=1), flush=True)
    found["as_they_have_to_be"] = statuses(whole) == wanted
    drawn = random.Random(args.seed)  # noqa: S311 - points of a run, no secrets
    size = whole.stat().st_size
    points = sorted(int(size * drawn.uniform(0.02, 0.98)) for _ in range(args.kills))
    kills, last = killed(rows, broken, options, points)
    count, first = differences(whole, broken)
    behind = [kill["resumed_rows"] for kill in kills[1:]]
    found["killed"] = {
        "kills": kills,
        "last": {
            "first_row_s": round(last.first_row_s, 2),
            "resumed_rows": resumed_rows(last.said),
            "highest_mib": _highest(last),
        },
        "rows": sum(statuses(broken).values()),
        "different_rows": count,
        "first_different": first,
        "kept": all(begins_with(broken, one["bytes"], one["crc32"]) for one in kills),
        "none_lost": all(
            went_on >= kill["rows_written"]
            for kill, went_on in zip(kills, [*behind, resumed_rows(last.said)], strict=True)
        ),
        "same_totals": last.totals["mean_score"] == found["undisturbed"]["mean_score"],
    }
    found["ok"] = good(found)
    return found


def good(found: dict[str, Any]) -> bool:
    """Whether all is as it has to be."""
    one, other = found["undisturbed"], found["killed"]
    survivors = one["survivors"] + sum(kill["survivors"] for kill in other["kills"])
    held = (found["as_they_have_to_be"], one["flat"], other["kept"], other["none_lost"])
    same = other["rows"] == one["rows"] and not other["different_rows"] and other["same_totals"]
    return all(held) and same and not survivors


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--cases", type=int, default=3, help="of each row")
    parser.add_argument("--backend", default="fake")
    parser.add_argument("--accept", action="append", default=[])
    parser.add_argument("--slots", type=int)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=made.FORMATS, default=made.FORMATS[0])
    parser.add_argument("--keep", type=Path, help="where rows and results are left")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args()
    if args.kills < 1:
        parser.error("--kills: at least one")
    with tempfile.TemporaryDirectory() as own:
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
        found = measure(args, args.keep or Path(own))
    print("\n".join(lines(found)))
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    if args.markdown:
        into_page(args.markdown, found)
    sys.exit(0 if found["ok"] else 1)


if __name__ == "__main__":
    main()
