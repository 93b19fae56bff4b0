"""What came of a data set: one table for a terminal and for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.bench.report import table
from benchmarks.bench.values import number
from benchmarks.datasets.command import Ran

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Made:
    """Rows that were written, and what is known of them beforehand.

    Attributes:
        arguments: Of `verifier score`: where the rows are.
        data: Of `verifier report`: the same.
        entries: Of the data set, all of them.
        must_pass: Ids of rows whose response is the reference.
        plain: For each mutant, by id, whether it passes without us.
        with_names: Asks the plain interpreter again, with the names that ours have.
        left_out: Entries that gave no row, by reason.
        seconds: To make them; of that `plain_s` for `plain`.
    """

    arguments: tuple[str, ...]
    data: str
    entries: int
    must_pass: frozenset[str]
    plain: Mapping[str, bool] = field(default_factory=dict)
    with_names: Callable[[str], bool] | None = None
    left_out: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    plain_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Judged:
    """Verdicts that are not as they have to be, a line each.

    Attributes:
        failed: References that did not pass.
        disagreed: Mutants with another verdict than a plain interpreter gives.
        explained: Those that have the same verdict once both have the same names.
    """

    failed: Sequence[str]
    disagreed: Sequence[str]
    explained: Sequence[str]

    @property
    def ok(self) -> bool:
        """Nothing is wrong."""
        return not self.failed and not self.disagreed


@dataclass(frozen=True, slots=True)
class Found:
    """All of one data set.

    Attributes:
        made: The rows.
        score: The command that scored them.
        summary: What it printed.
        report: The command that made the page.
        page_bytes: Of the page.
        memory_bytes: Of the hungriest case.
        judged: What is wrong about the verdicts.
    """

    made: Made
    score: Ran
    summary: Mapping[str, Any]
    report: Ran
    page_bytes: int
    memory_bytes: int
    judged: Judged


def judge(made: Made, results: Sequence[Mapping[str, Any]]) -> Judged:
    """Look at all verdicts."""
    rows = {str(row["id"]): row for row in results}
    failed = [
        f"{name}: {_said(rows.get(name))}"
        for name in sorted(made.must_pass)
        if not _passed(rows.get(name))
    ]
    disagreed: list[str] = []
    explained: list[str] = []
    for name, plain in made.plain.items():
        ours = _passed(rows.get(name))
        if ours == plain:
            continue
        line = f"{name}: a plain interpreter {'passes' if plain else 'fails'} it; "
        line += f"here {_said(rows.get(name))}"
        names = made.with_names is not None and made.with_names(name) == ours
        (explained if names else disagreed).append(line)
    return Judged(failed, disagreed, explained)


def _passed(row: Mapping[str, Any] | None) -> bool:
    return row is not None and row["score"] == 1.0


def _said(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "there is no result"
    bad = [case for case in row["cases"] if case["status"] != "ACCEPTED"]
    message = row["error"] or (bad[0]["message"] if bad else "")
    words = f"{row['status'] or row['outcome']}, {row['passed']} of {row['total']}"
    return f"{words}: {message[:200]}" if message else words


def figures(found: Found) -> list[tuple[str, str]]:
    """A figure and its name, a row each."""
    made, score, summary, judged = found.made, found.score, found.summary, found.judged
    rows = summary["rows"]
    passed = summary["statuses"].get("ACCEPTED", 0)
    lines = [("entries of the data set", f"{made.entries:,}")]
    if made.left_out:
        lines.append(("entries that gave no row", f"{sum(made.left_out.values()):,}"))
    lines += [
        ("rows", f"{rows:,}"),
        (
            "references that pass",
            f"{len(made.must_pass) - len(judged.failed):,} of {len(made.must_pass):,}",
        ),
    ]
    if made.plain:
        other = len(judged.disagreed) + len(judged.explained)
        lines += [
            (
                "mutants that pass without us",
                f"{sum(made.plain.values()):,} of {len(made.plain):,}",
            ),
            ("mutants with the same verdict here", f"{len(made.plain) - other:,}"),
            (
                "mutants with another, for the names that programs have here",
                f"{len(judged.explained):,}",
            ),
            ("mutants with another", f"{len(judged.disagreed):,}"),
        ]
    lines.append(("rows that pass", f"{passed:,} ({passed / rows:.1%})" if rows else "0"))
    lines += [
        (f"pass@{one['k']}", f"{one['value']:.3f} ({one['low']:.3f}..{one['high']:.3f})")
        for one in summary["pass_at_k"]
    ]
    mix = sorted(summary["statuses"].items(), key=lambda item: -item[1])
    without = rows - summary["scored"]
    lines += [
        ("verdicts", ", ".join(f"{name} {count:,}" for name, count in mix)),
        ("rows without a score", f"{without:,}"),
        ("cases", f"{summary['cases']:,}"),
        ("cases/s", number(summary["cases"] / summary["seconds"])),
        ("making the rows", f"{number(made.seconds)} s"),
    ]
    if made.plain_s:
        lines.append(("of that the plain interpreter's verdicts", f"{number(made.plain_s)} s"))
    return [
        *lines,
        ("`verifier score`, wall", f"{number(score.wall_s)} s"),
        ("`verifier score`, CPU of its own process", f"{number(score.cpu_s)} s"),
        ("CPU of the programs", f"{number(summary['cpu_time_s'])} s"),
        ("`verifier score`, peak memory", f"{number(score.rss_bytes / MIB)} MiB"),
        ("the hungriest case", f"{number(found.memory_bytes / MIB)} MiB"),
        ("`verifier report`, wall", f"{number(found.report.wall_s)} s"),
        ("`verifier report`, peak memory", f"{number(found.report.rss_bytes / MIB)} MiB"),
        ("the page", f"{number(found.page_bytes / MIB)} MiB"),
    ]


def lines(name: str, found: Found) -> list[str]:
    """For a terminal."""
    shown = figures(found)
    width = max(len(label) for label, _ in shown)
    text = [f"== {name}", *(f"  {label:{width}}  {value}" for label, value in shown)]
    text += [
        f"  left out, {reason}: {count:,}" for reason, count in found.made.left_out.most_common()
    ]
    return text + [f"  {title}: {line}" for title, listed in _listed(found) for line in listed]


def _listed(found: Found) -> list[tuple[str, Sequence[str]]]:
    judged = found.judged
    return [
        ("a reference that does not pass", judged.failed),
        ("another verdict", judged.disagreed),
        ("another verdict, for the names", judged.explained),
    ]


def markdown(machine: Mapping[str, object], command: str, found: Found) -> str:
    """A section of the page."""
    facts = "; ".join(
        f"{key} {' '.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in machine.items()
    )
    text = [f"`{command}`", "", f"Measured on: {facts}.", "", *table(("", ""), figures(found))]
    if found.made.left_out:
        reasons = [(why, f"{count:,}") for why, count in found.made.left_out.most_common()]
        text += ["", *table(("entries that gave no row", ""), reasons)]
    for title, listed in _listed(found):
        if listed:
            text += ["", f"{title[0].upper()}{title[1:]}:", "", *(f"- {line}" for line in listed)]
    return "\n".join(text) + "\n"
