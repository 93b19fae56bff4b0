"""Field reports (cases that other verifiers got wrong), and the rows to hold the paths against.

The reports lie beside the repository, not in it. Where they are missing, what needs them is skipped
with a reason; VERIFIER_REQUIRE_CASES=1 makes that a failure.
"""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from verifier.data import Row, parse_row, read_rows

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("VERIFIER_CASES", ROOT.parent / "shared" / "cases"))
CASES = FOLDER / "cases.jsonl"
CHECK = FOLDER / "check.py"
SIBLINGS = Path(__file__).with_name("siblings.jsonl")
EXAMPLES = ROOT / "examples" / "responses.jsonl"


def required() -> bool:
    """Whether the caller said that the reports have to be there, and everything they need."""
    return os.environ.get("VERIFIER_REQUIRE_CASES") == "1"


def skip_or_fail(reason: str) -> None:
    """Skip, or fail where the reports are required."""
    (pytest.fail if required() else pytest.skip)(reason)


def need_reports() -> None:
    """Skip or fail where there are none."""
    if not (CASES.exists() and CHECK.exists()):
        skip_or_fail(f"no field reports at {CASES}")


def check_script() -> ModuleType:
    """The reports' own script, which knows how a report becomes a row and what it expects."""
    spec = importlib.util.spec_from_file_location("field_reports_check", CHECK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def report_rows() -> list[dict[str, Any]]:
    """The reports about scores, as the rows of `verifier score`; none where they are missing."""
    return list(check_script().rows(CASES)) if CASES.exists() and CHECK.exists() else []


def example_rows() -> list[dict[str, Any]]:
    """The examples, as they are in their file."""
    return [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]


def sibling_rows() -> list[dict[str, Any]]:
    """Rows of the reports' kinds, made for this repository; each with its score as `expected`."""
    return [json.loads(line) for line in SIBLINGS.read_text("utf-8").splitlines()]


def parsed(rows: list[dict[str, Any]]) -> list[Row]:
    """Rows as the command line reads them. None of these is a bad one."""
    lines = [json.dumps(row).encode() for row in rows]
    found = [parse_row(line, number) for number, line in enumerate(lines, 1)]
    assert all(isinstance(row, Row) for row in found)
    return found  # type: ignore[return-value]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A file of rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert len(list(read_rows(path))) == len(rows)
    return path
