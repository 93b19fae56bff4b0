"""What a response costs, fitted to the figures of docs/performance.md; and closed forms.

A response of n cases whose programs take t seconds of CPU in all holds one slot for

    response_s + n * case_s + t

The two constants come from works whose programs take next to no CPU, or a known amount of it, on
a machine with as many slots as cores; so what the gateway takes from the cores is in them. It is a
least-squares fit of relative errors: a work of 10 ms counts as much as one of 400 ms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "performance.md"
# As many as the machine of that page has.
MEASURED_SLOTS = 2


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured work.

    Attributes:
        name: Its section of the page.
        cases: Of one response.
        cpu_s: That the programs of one response take by themselves, in all.
        slot_s: That a response held a slot.
    """

    name: str
    cases: int
    cpu_s: float
    slot_s: float


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a response costs besides its programs' own CPU time.

    Attributes:
        response_s: Slot seconds of a response.
        case_s: Slot seconds of each case on top.
    """

    response_s: float
    case_s: float

    def slot_s(self, cases: int, cpu_s: float) -> float:
        """Seconds that one response holds a slot; `cpu_s` is that of all cases together."""
        return self.response_s + cases * self.case_s + cpu_s

    def slots_for(self, responses_per_s: float, slot_s: float, utilization: float) -> int:
        """Slots that carry a steady load at this utilization (0 to 1)."""
        return math.ceil(responses_per_s * slot_s / utilization)


def read_figures(page: str) -> list[Figure]:
    """The works that the fit uses, from the tables of docs/performance.md (namespaces).

    Raises:
        ValueError: The page has no such figure.
    """

    def value(section: str, row: str) -> float:
        found = re.search(
            rf"^### {re.escape(section)}$(?:(?!^### ).)*?^\| {re.escape(row)} \| ([\d.,]+) \|",
            page,
            re.MULTILINE | re.DOTALL,
        )
        if found is None:
            raise ValueError(f"docs/performance.md has no row {row!r} in its section {section!r}")
        return float(found[1].replace(",", ""))

    slots = MEASURED_SLOTS
    return [
        Figure("cases", 10, 0.0, slots * 10 / value("cases", "namespaces")),
        Figure("soak", 10, 0.0, slots * value("soak", "namespaces: a chunk") / 500),
        Figure("prime-code", 10, 0.0, slots * value("prime-code", "namespaces") / 10),
        Figure("latency", 1, 0.0, value("latency", "namespaces") / 1000),
        Figure("time-limits", 1, 0.4, slots * value("time-limits", "namespaces") / 40),
    ]


def fit(figures: Sequence[Figure]) -> Capacity:
    """Least squares of the relative errors, neither constant below zero.

    Raises:
        ValueError: All figures have the same number of cases: the two cannot be told apart.
    """
    if len({figure.cases for figure in figures}) < 2:
        raise ValueError("figures of at least two numbers of cases are needed")
    weights = [1 / figure.slot_s for figure in figures]
    rows = [
        (w, w * f.cases, w * (f.slot_s - f.cpu_s)) for w, f in zip(weights, figures, strict=True)
    ]
    aa, ab, bb = (sum(r[i] * r[j] for r in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    ay, by = (sum(r[i] * r[2] for r in rows) for i in (0, 1))
    determinant = aa * bb - ab * ab
    response_s = (ay * bb - by * ab) / determinant
    case_s = (by * aa - ay * ab) / determinant
    if response_s < 0:
        return Capacity(0.0, by / bb)
    return Capacity(ay / aa, 0.0) if case_s < 0 else Capacity(response_s, case_s)


def measured() -> tuple[Capacity, list[Figure]]:
    """The fit to the page as it is, and what it was fitted to."""
    figures = read_figures(PAGE.read_text(encoding="utf-8"))
    return fit(figures), figures


def erlang_c(servers: int, offered: float) -> float:
    """The probability that an arrival of M/M/c waits (A. K. Erlang, 1917).

    Args:
        servers: c.
        offered: Arrival rate times mean service time; below c.
    """
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))
