#!/usr/bin/env python3
"""Builds examples/responses.jsonl from the problems and the responses beside it.

    examples/build.py            writes the file
    examples/build.py --check    exits with 1 when the file is not what would be written

A problem is examples/problems/ID/problem.json: its statement, its limits, and its tests in verl's
prime format. A response is examples/responses/ID/NAME.md: a head of `key: value` lines, a line
`---`, and then the text as the model wrote it. Keys of the head:

    about      what is right or wrong with it, for a person
    expected   the status that scoring must give
    passed     how many cases it must pass
    limits     JSON, laid over the problem's limits
    language   JSON, the wanted language, where the row should name one

What scoring must give goes into the row's extra_info; tests/cli and the demo compare it.
Only the standard library is used, so that the file can be built before anything is installed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OUTPUT = HERE / "responses.jsonl"
_KEYS = {"about", "expected", "passed", "limits", "language"}


def problems() -> dict[str, dict[str, Any]]:
    """All problems by id, in the order of their ids."""
    found = {}
    for path in sorted((HERE / "problems").glob("*/problem.json")):
        problem = json.loads(path.read_text(encoding="utf-8"))
        if problem["id"] != path.parent.name:
            raise SystemExit(f"{path}: its id is {problem['id']!r}, its folder has another name")
        found[problem["id"]] = problem
    return found


def rows() -> Iterator[dict[str, Any]]:
    """All rows, in the order of their ids."""
    known = problems()
    for path in sorted((HERE / "responses").glob("*/*.md")):
        problem = known[path.parent.name]
        head, text = _split(path)
        row = {
            "id": f"{problem['id']}/{path.stem}",
            "data_source": "codecontests",
            "response": text,
            "ground_truth": json.dumps(problem["tests"]),
            "limits": {**problem["limits"], **json.loads(head.get("limits", "{}"))},
            "extra_info": {
                "problem": problem["id"],
                "about": head["about"],
                "expected_status": head["expected"],
                "expected_passed": int(head["passed"]),
                "expected_total": len(problem["tests"]["inputs"]),
            },
        }
        if "language" in head:
            row["language"] = json.loads(head["language"])
        yield row


def _split(path: Path) -> tuple[dict[str, str], str]:
    head, separator, text = path.read_text(encoding="utf-8").partition("\n---\n")
    if not separator:
        raise SystemExit(f"{path}: no line of --- after the head")
    pairs = dict(line.split(": ", 1) for line in head.splitlines())
    if unknown := set(pairs) - _KEYS:
        raise SystemExit(f"{path}: unknown keys {sorted(unknown)}; known: {sorted(_KEYS)}")
    return pairs, text


def main() -> int:
    """Write or check the file."""
    parser = argparse.ArgumentParser(description="Build examples/responses.jsonl.")
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    wanted = "".join(json.dumps(row) + "\n" for row in rows())
    if parser.parse_args().check:
        if OUTPUT.read_text(encoding="ascii") == wanted:
            return 0
        print("examples/responses.jsonl is out of date: run examples/build.py", file=sys.stderr)
        return 1
    OUTPUT.write_text(wanted, encoding="ascii")
    print(f"{len(wanted.splitlines())} rows in {OUTPUT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
