"""What the report says of the results, gathered in one pass.

Every row becomes an entry of the page's table, as columns with texts by number: 50,000 rows are
a few megabytes. Failures are kept whole (outputs, messages) up to a number for each verdict, so
that the rare kinds are there too. The interval of the pass rate is Wilson's, with as many rows as
the samples of problems are worth: samples of one problem resemble each other, and rows that say the
same thing are not more evidence (the design effect of a sample of clusters).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from verifier.report.texts import Texts

__all__ = ["Collected", "collect", "wilson"]

_Z_95 = 1.959964
_NO_SCORE = ("INFRA_ERROR", "INVALID_SUITE")
# Failing cases of a failure that are kept, and characters of each text.
_MAX_CASES = 3
_MAX_CHARS = 2000
_MAX_ERROR = 300
_MEBIBYTE = 1024 * 1024


@dataclass(slots=True)
class Collected:
    """What was found.

    Attributes:
        rows: All rows of the file.
        scored: Rows with a score.
        passed: Rows whose score is 1.
        score_sum: Of the scores.
        infra: Rows without a score by the machinery's fault.
        broken: Rows without a score by the data's fault.
        problems: Problem -> [scored rows, passed ones, most cases].
        columns: The table's, each with an entry for each row that it holds.
        texts: Of the columns that are numbers of texts.
        failures: Number of a row in the table -> what is known of the failure.
        left_out: Failures that are not kept whole.
        notes: Sentences for the head of the page.
    """

    rows: int = 0
    scored: int = 0
    passed: int = 0
    score_sum: float = 0.0
    infra: int = 0
    broken: int = 0
    problems: dict[str, list[int]] = field(default_factory=dict)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    texts: dict[str, Texts] = field(default_factory=dict)
    failures: dict[int, dict[str, Any]] = field(default_factory=dict)
    left_out: int = 0
    notes: list[str] = field(default_factory=list)

    def interval(self) -> tuple[float, float]:
        """Of the pass rate, 95 %; (0, 1) where nothing was scored."""
        counts = [(n, c) for n, c, _ in self.problems.values() if n]
        return wilson(self.passed, self.scored, effective_rows(counts))

    def data(self) -> dict[str, Any]:
        """Plain values for the page's script."""
        low, high = self.interval()
        cases = [most for _, _, most in self.problems.values() if most]
        return {
            "summary": {
                "rows": self.rows,
                "scored": self.scored,
                "passed": self.passed,
                "mean": self.score_sum / self.scored if self.scored else None,
                "infra": self.infra,
                "broken": self.broken,
                "low": low,
                "high": high,
                "problems": len(self.problems),
                "solved": sum(c > 0 for _, c, _ in self.problems.values()),
                "leftOut": self.left_out,
            },
            "cases": _histogram(cases),
            "solve": _shares([c / n for n, c, _ in self.problems.values() if n]),
            "columns": self.columns,
            "texts": {name: texts.all() for name, texts in self.texts.items()},
            "failures": self.failures,
        }


_TEXT_COLUMNS = ("verdict", "source", "language", "difficulty", "problem", "said", "marks")


def collect(
    rows: Iterable[Mapping[str, Any]], *, max_failures: int = 200, max_rows: int = 200_000
) -> Collected:
    """Look at the rows of a results file.

    Args:
        rows: As `verifier.data.reading` gives them.
        max_failures: Failures that are kept whole, of each verdict.
        max_rows: That the table holds; the figures are of all.
    """
    found = Collected()
    found.texts = {name: Texts() for name in _TEXT_COLUMNS}
    numbers = ("id", "line", "score", "passed", "total", "cpu", "memory")
    found.columns = {name: [] for name in (*numbers, *_TEXT_COLUMNS)}
    kept: dict[str, int] = {}
    for row in rows:
        verdict = str(row["status"] or row["outcome"])
        _count(found, row)
        if found.rows > max_rows:
            continue
        number = len(found.columns["id"])
        _enter(found, row, verdict)
        if verdict == "ACCEPTED":
            continue
        kept[verdict] = kept.get(verdict, 0) + 1
        if kept[verdict] <= max_failures:
            found.failures[number] = _failure(row)
        else:
            found.left_out += 1
    if found.rows > max_rows:
        found.notes.append(
            f"The table holds the first {max_rows:,} of {found.rows:,} rows. Figures at the top "
            "are of all; charts by verdict and the slowest rows are of the table."
        )
    return found


def wilson(passed: int, rows: int, effective: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, for so many independent rows as it is worth."""
    if not rows or effective <= 0:
        return 0.0, 1.0
    share, z2 = passed / rows, _Z_95 * _Z_95
    middle = (share + z2 / (2 * effective)) / (1 + z2 / effective)
    root = math.sqrt(share * (1 - share) / effective + z2 / (4 * effective * effective))
    reach = _Z_95 * root / (1 + z2 / effective)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def effective_rows(counts: list[tuple[int, int]]) -> float:
    """How many independent rows the samples of problems are worth.

    Args:
        counts: (samples, passed ones) of each problem.

    Returns:
        From the number of problems (samples of one are all alike) to that of rows.
    """
    rows, passed = sum(n for n, _ in counts), sum(c for _, c in counts)
    problems = len(counts)
    if problems < 2 or passed in {0, rows}:
        return float(problems)
    share = passed / rows
    between = math.fsum((c - share * n) ** 2 for n, c in counts)
    variance = between * problems / (problems - 1) / rows**2
    if not variance:
        return float(rows)
    return min(max(share * (1 - share) / variance, float(problems)), float(rows))


def _count(found: Collected, row: Mapping[str, Any]) -> None:
    found.rows += 1
    counts = found.problems.setdefault(_problem(row), [0, 0, 0])
    counts[2] = max(counts[2], row["total"])
    if row["score"] is None:
        infra = row["outcome"] == "INFRA_ERROR"
        found.infra += infra
        found.broken += not infra
        return
    won = row["score"] >= 1
    found.scored += 1
    found.passed += won
    found.score_sum += row["score"]
    counts[0] += 1
    counts[1] += won


def _enter(found: Collected, row: Mapping[str, Any], verdict: str) -> None:
    cases, extraction = row["cases"], row.get("extraction")
    failed = next((case for case in cases if case["status"] != "ACCEPTED"), None)
    said = row["error"] or (failed["message"] or failed["stderr"] if failed else "")
    texts = {
        "verdict": verdict,
        "source": str(row.get("data_source") or ""),
        "language": str(extraction.get("language") or "") if isinstance(extraction, dict) else "",
        "difficulty": str(row.get("difficulty") or ""),
        "problem": _problem(row),
        "said": _first_line(said),
        "marks": _marks(cases),
    }
    values = {
        "id": row["id"] if row["id"] is not None else "",
        "line": row.get("line") or 0,
        "score": None if row["score"] is None else round(row["score"], 4),
        "passed": row["passed"],
        "total": row["total"],
        "cpu": round(float(row["timing"].get("cpu_time_s") or 0), 3),
        "memory": round(max((c["memory_bytes"] or 0 for c in cases), default=0) / _MEBIBYTE, 1),
    }
    for name, value in values.items():
        found.columns[name].append(value)
    for name, text in texts.items():
        found.columns[name].append(found.texts[name].number(text))


def _problem(row: Mapping[str, Any]) -> str:
    return str(row.get("problem") or row["id"] or f"line {row.get('line')}")


def _failure(row: Mapping[str, Any]) -> dict[str, Any]:
    """`line` tells rows of one id apart when they are looked for in the data."""
    failed = [case for case in row["cases"] if case["status"] not in {"ACCEPTED", "SKIPPED"}]
    built = row.get("compile")
    return {
        "id": row["id"],
        "line": row.get("line"),
        "error": row["error"][:_MAX_CHARS],
        "compiler": str(built.get("message") or "")[:_MAX_CHARS] if built else "",
        "more": max(0, len(failed) - _MAX_CASES),
        "cases": [
            {
                "index": case["index"],
                "status": case["status"],
                "cpu": case["cpu_time_s"],
                "memory": round((case["memory_bytes"] or 0) / _MEBIBYTE, 1),
                "message": case["message"][:_MAX_CHARS],
                "actual": case["stdout"][:_MAX_CHARS],
                "actualBytes": case.get("stdout_bytes") or 0,
                "stderr": case["stderr"][:_MAX_CHARS],
            }
            for case in failed[:_MAX_CASES]
        ],
    }


def _marks(cases: list[Mapping[str, Any]]) -> str:
    """The cases' verdicts in runs: "ACCEPTED*12 WRONG_ANSWER"."""
    runs = []
    for status, same in itertools.groupby(str(case["status"]) for case in cases):
        count = sum(1 for _ in same)
        runs.append(status if count == 1 else f"{status}*{count}")
    return " ".join(runs[:40]) + (" ..." if len(runs) > 40 else "")


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1 if "Traceback" in lines[0] else 0][:_MAX_ERROR] if lines else ""


def _histogram(values: list[int]) -> list[list[Any]]:
    """(label, count), by powers of two: suites have from one case to a million."""
    counts: dict[int, int] = {}
    for value in values:
        bucket = value.bit_length() - 1
        counts[bucket] = counts.get(bucket, 0) + 1
    return [
        [str(2**b) if b == 0 else f"{2**b}-{2 ** (b + 1) - 1}", counts.get(b, 0)]
        for b in (range(min(counts), max(counts) + 1) if counts else ())
    ]


def _shares(values: list[float]) -> list[list[Any]]:
    """(label, count) of problems by the share of their samples that pass: none, tenths, all."""
    counts = [0] * 12
    for value in values:
        counts[0 if value <= 0 else 11 if value >= 1 else 1 + min(9, int(value * 10))] += 1
    labels = ["0", *(f"{10 * i}-{10 * i + 10}" for i in range(10)), "100"]
    return [[f"{label} %", count] for label, count in zip(labels, counts, strict=True)]
