"""What came of all rows: counted as they finish, shown as tables or as one JSON object at the end.

Fed with result rows as they stand in the file, so that a run that is resumed counts the rows of
before as well.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from verifier.data import pass_at_k
from verifier.data.names import Names
from verifier.types import Outcome, Status

# What totals are also made of apart.
GROUPS = ("data_source", "difficulty", "language")
# Groups in full; a column that has more values than that is none to group by.
_MAX_GROUPS = 200
_SHOWN_GROUPS = 20
# The speed that is shown while it runs is of the last so many rows.
_RECENT = 512


@dataclass(slots=True)
class Group:
    """Rows that have a value in common."""

    rows: int = 0
    scored: int = 0
    score_sum: float = 0.0
    problems: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any], *, problems: bool) -> None:
        """Count one row."""
        self.rows += 1
        if row["score"] is None:
            return
        self.scored += 1
        self.score_sum += row["score"]
        if problems:
            name = str(row["problem"])
            n, c = self.problems.get(name, (0, 0))
            self.problems[name] = (n + 1, c + (row["status"] == Status.ACCEPTED.value))

    @property
    def mean_score(self) -> float | None:
        """Mean over scored rows; None when there are none."""
        return self.score_sum / self.scored if self.scored else None


@dataclass(slots=True)
class Totals:
    """Counts over rows. `score_sum` is over scored rows only: a fault has no score.

    `ks` are the k of pass@k to count for.
    """

    ks: Sequence[int] = ()
    bad_rows: int = 0
    invalid: int = 0
    infra: int = 0
    cases: int = 0
    passed: int = 0
    flaky: int = 0
    cpu_time_s: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    all: Group = field(default_factory=Group)
    groups: dict[str, dict[str, Group]] = field(default_factory=dict)
    started_s: float = field(default_factory=time.monotonic)
    resumed_rows: int = 0
    repeated_ids: int = 0
    first_repeated: str = ""
    _ids: Names = field(default_factory=Names)
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT))
    _new_cases: int = 0

    def add(self, row: Mapping[str, Any], *, resumed: bool = False) -> None:
        """Count one row of results."""
        problems = bool(self.ks)
        self.all.add(row, problems=problems)
        for name, value in _labels(row):
            values = self.groups.setdefault(name, {})
            if value in values or len(values) < _MAX_GROUPS:
                values.setdefault(value, Group()).add(row, problems=problems)
        self._name(row["id"])
        self.flaky += row["flaky"] is True
        self.resumed_rows += resumed
        if row["score"] is None:
            infra = row["outcome"] == Outcome.INFRA_ERROR.value
            self.infra += infra
            self.bad_rows += not infra and row["data_source"] is None
            self.invalid += not infra and row["data_source"] is not None
            return
        self.cases += row["total"]
        self.passed += row["passed"]
        self.cpu_time_s += row["timing"]["cpu_time_s"]
        self.statuses[row["status"]] += 1
        if not resumed:
            self._new_cases += row["total"]
            self._recent.append(row["timing"]["total_s"])

    def _name(self, row_id: str | None) -> None:
        if row_id is not None and self._ids.add(row_id):
            self.first_repeated = self.first_repeated or row_id
            self.repeated_ids += 1

    @property
    def rows(self) -> int:
        """All of them."""
        return self.all.rows

    @property
    def scored(self) -> int:
        """Those with a score."""
        return self.all.scored

    @property
    def mean_score(self) -> float | None:
        """Mean over scored rows; None when there are none."""
        return self.all.mean_score

    @property
    def complete(self) -> bool:
        """Every row has a score."""
        return self.scored == self.rows

    @property
    def elapsed_s(self) -> float:
        """Since counting began."""
        return max(time.monotonic() - self.started_s, 1e-9)

    def line(self) -> str:
        """All of it in one short line, for progress."""
        mean = "-" if self.mean_score is None else f"{self.mean_score:.3f}"
        speed = self._new_cases / self.elapsed_s
        line = f"mean score {mean}, {self.rows - self.scored} without a score, {speed:.0f} cases/s"
        if len(self._recent) > 1:
            p95 = statistics.quantiles(self._recent, n=20)[-1]
            line += f", p95 {p95:.2f} s"
        return line

    def summary(self) -> dict[str, Any]:
        """Everything, as plain JSON values."""
        return {
            "rows": self.rows,
            "scored": self.scored,
            "mean_score": self.mean_score,
            "cases": self.cases,
            "cases_passed": self.passed,
            "bad_rows": self.bad_rows,
            "invalid_suite": self.invalid,
            "infra_error": self.infra,
            "flaky": self.flaky,
            "resumed_rows": self.resumed_rows,
            "repeated_ids": self.repeated_ids,
            "statuses": dict(self.statuses),
            "cpu_time_s": round(self.cpu_time_s, 6),
            "seconds": round(self.elapsed_s, 3),
            "pass_at_k": self._passes(self.all),
            "groups": {
                name: {
                    value: {
                        "rows": group.rows,
                        "scored": group.scored,
                        "mean_score": group.mean_score,
                        "pass_at_k": self._passes(group),
                    }
                    for value, group in values.items()
                }
                for name, values in self.groups.items()
            },
        }

    def tables(self) -> Iterator[Table]:
        """The tables at the end."""
        yield self.table()
        if self.ks:
            yield self._pass_table()
        for name, values in self.groups.items():
            if len(values) > 1:
                yield self._group_table(name, values)

    def table(self) -> Table:
        """The first one."""
        table = Table(title="Totals", show_header=False, title_justify="left")
        table.add_column()
        table.add_column(justify="right")
        table.add_row("rows", str(self.rows))
        table.add_row("scored", str(self.scored))
        mean = "-" if self.mean_score is None else f"{self.mean_score:.4f}"
        table.add_row("mean score", mean)
        table.add_row("cases passed", f"{self.passed} of {self.cases}", end_section=True)
        for status in Status:
            if self.statuses[status.value]:
                table.add_row(status.value, str(self.statuses[status.value]))
        if not self.complete:
            table.add_section()
            table.add_row("bad rows (not readable)", str(self.bad_rows))
            table.add_row("INVALID_SUITE", str(self.invalid))
            table.add_row("INFRA_ERROR", str(self.infra))
        if self.flaky:
            table.add_section()
            table.add_row("flaky: other verdicts in a repeat", str(self.flaky))
        table.add_section()
        table.add_row("CPU seconds of programs", f"{self.cpu_time_s:.2f}")
        table.add_row("seconds", f"{self.elapsed_s:.2f}")
        table.add_row("cases per second", f"{self._new_cases / self.elapsed_s:.1f}")
        return table

    def _passes(self, group: Group) -> list[dict[str, Any]]:
        found = (pass_at_k(group.problems.values(), k) for k in self.ks)
        return [dataclasses.asdict(one) for one in found if one is not None]

    def _pass_table(self) -> Table:
        table = Table("pass@k", "value", "95 %", "problems", "with fewer samples", box=None)
        for k in self.ks:
            found = pass_at_k(self.all.problems.values(), k)
            if found is None:
                table.add_row(str(k), "-", "no problem has so many samples", "0", "")
                continue
            spread = f"{found.low:.4f} .. {found.high:.4f}"
            table.add_row(
                str(k), f"{found.value:.4f}", spread, str(found.problems), str(found.left_out)
            )
        return table

    def _group_table(self, name: str, values: Mapping[str, Group]) -> Table:
        table = Table(name, "rows", "mean score", *(f"pass@{k}" for k in self.ks), box=None)
        largest = sorted(values.items(), key=lambda item: -item[1].rows)
        for value, group in largest[:_SHOWN_GROUPS]:
            mean = "-" if group.mean_score is None else f"{group.mean_score:.4f}"
            passes = (pass_at_k(group.problems.values(), k) for k in self.ks)
            shown = ["-" if one is None else f"{one.value:.4f}" for one in passes]
            table.add_row(value, str(group.rows), mean, *shown)
        if len(largest) > _SHOWN_GROUPS:
            table.add_row(f"... {len(largest) - _SHOWN_GROUPS} more", "", "")
        return table


def _labels(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    extraction = row["extraction"] or {}
    for name in GROUPS:
        value = extraction.get("language") if name == "language" else row[name]
        if value:
            yield name, str(value)
