#!/usr/bin/env python3
"""Writes the contest set into a folder: `examples/contest/build.py FOLDER`.

    FOLDER/problems.jsonl     a row for each problem, as verl's data sets have them
    FOLDER/responses.jsonl    a row for each solution, as `verifier score` reads them; what scoring
                              must say is in its extra_info: kind, language, wanted_status

Only the standard library is used. The files are the same each time, so they are not kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import on_calls
import on_choice
import on_graphs
import on_lists
import on_numbers
import on_routes
import on_tables
import on_text
from problem import Problem

MODULES = (on_numbers, on_text, on_lists, on_graphs, on_tables, on_choice, on_routes, on_calls)
PROBLEMS: tuple[Problem, ...] = tuple(p for module in MODULES for p in module.PROBLEMS)


def main() -> int:
    """Write both files."""
    parser = argparse.ArgumentParser(description="Write the contest set.")
    parser.add_argument("folder", type=Path, help="where the files go; made if it is not there")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "problems.jsonl": [problem.row() for problem in PROBLEMS],
        "responses.jsonl": [row for problem in PROBLEMS for row in problem.responses()],
    }
    for name, rows in files.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / name).write_text(text, encoding="ascii")
        print(f"{len(rows)} rows in {folder / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
