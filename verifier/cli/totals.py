"""What came of all rows: counted as they finish, shown as a table at the end."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from rich.table import Table

from verifier.cli.pipeline import Scored
from verifier.data import BadRow
from verifier.types import Outcome, Status


@dataclass(slots=True)
class Totals:
    """Counts over rows. `score_sum` is over scored rows only: a fault has no score."""

    rows: int = 0
    bad_rows: int = 0
    scored: int = 0
    invalid: int = 0
    infra: int = 0
    score_sum: float = 0.0
    cases: int = 0
    passed: int = 0
    cpu_time_s: float = 0.0
    statuses: Counter[Status] = field(default_factory=Counter)
    started_s: float = field(default_factory=time.monotonic)

    def add(self, scored: Scored) -> None:
        """Count one row."""
        result = scored.result
        self.rows += 1
        if isinstance(scored.row, BadRow):
            self.bad_rows += 1
        elif result.outcome is Outcome.INVALID_SUITE:
            self.invalid += 1
        elif result.outcome is Outcome.INFRA_ERROR:
            self.infra += 1
        else:
            self.scored += 1
            self.score_sum += result.score or 0.0
            self.cases += result.total
            self.passed += result.passed
            self.cpu_time_s += result.timing.cpu_time_s
            if result.status is not None:
                self.statuses[result.status] += 1

    @property
    def mean_score(self) -> float | None:
        """Mean over scored rows; None when there are none."""
        return self.score_sum / self.scored if self.scored else None

    @property
    def complete(self) -> bool:
        """Every row has a score."""
        return self.scored == self.rows

    @property
    def elapsed_s(self) -> float:
        """Since counting began."""
        return time.monotonic() - self.started_s

    def line(self) -> str:
        """All of it in one short line, for progress."""
        mean = "-" if self.mean_score is None else f"{self.mean_score:.3f}"
        faults = self.bad_rows + self.invalid + self.infra
        return f"mean score {mean}, {faults} without a score"

    def table(self) -> Table:
        """The table at the end."""
        table = Table(title="Totals", show_header=False, title_justify="left")
        table.add_column()
        table.add_column(justify="right")
        table.add_row("rows", str(self.rows))
        table.add_row("scored", str(self.scored))
        mean = "-" if self.mean_score is None else f"{self.mean_score:.4f}"
        table.add_row("mean score", mean)
        table.add_row("cases passed", f"{self.passed} of {self.cases}", end_section=True)
        for status in Status:
            if self.statuses[status]:
                table.add_row(status.value, str(self.statuses[status]))
        if not self.complete:
            table.add_section()
            table.add_row("bad rows (not readable)", str(self.bad_rows))
            table.add_row("INVALID_SUITE", str(self.invalid))
            table.add_row("INFRA_ERROR", str(self.infra))
        table.add_section()
        table.add_row("CPU seconds of programs", f"{self.cpu_time_s:.2f}")
        elapsed = max(self.elapsed_s, 1e-9)
        table.add_row("seconds", f"{elapsed:.2f}")
        table.add_row("cases per second", f"{self.cases / elapsed:.1f}")
        return table
