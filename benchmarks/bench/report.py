"""What is printed and written: the machine, each work's contenders, the table of targets."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.bench.values import Row, Series, number

BEGIN, END = "<!-- {} writes from here -->", "<!-- {} writes to here -->"


def as_dict(row: Row) -> dict[str, object]:
    """A row for JSON."""
    return {
        **dataclasses.asdict(row),
        "value": row.value,
        "verdict": row.verdict,
        "series": [series_dict(one) for one in row.series],
    }


def series_dict(series: Series) -> dict[str, object]:
    """A series for JSON."""
    return {
        "name": series.name,
        "unit": series.unit,
        "median": series.median,
        "min": min(series.values),
        "max": max(series.values),
        "values": list(series.values),
    }


def machine_lines(machine: Mapping[str, object]) -> list[str]:
    """A fact a line."""
    return [f"{name:15} {_plain(value)}" for name, value in machine.items()]


def row_lines(row: Row) -> list[str]:
    """One work: what was measured, then what is to be known of it."""
    lines = [f"== {row.key}: {row.work}"]
    if row.series:
        width = max(len(one.name) for one in row.series)
        lines += [
            f"  {one.name:{width}} {number(one.median):>12} {one.unit:8}"
            f" {number(min(one.values))}..{number(max(one.values))}"
            for one in row.series
        ]
    lines += [f"  {note}" for note in row.notes]
    return lines


def table_lines(rows: Iterable[Row]) -> list[str]:
    """The table of targets, for a terminal."""
    lines = []
    for row in rows:
        lines += [f"{row.verdict.upper():12} {row.key}: {row.work}", f"{'':12}   {row.target}"]
        lines += [f"{'':12}   {check.text()}" for check in row.checks]
    return lines


def markdown(machine: Mapping[str, object], rows: Sequence[Row], command: str) -> str:
    """The same as a section of a page."""
    lines = [f"`{command}`", ""]
    lines += ["Measured on: " + "; ".join(f"{k} {_plain(v)}" for k, v in machine.items()) + ".", ""]
    lines += table(
        ("row", "work", "target", "value", "verdict"),
        [(row.key, row.work, row.target, row.value, row.verdict) for row in rows],
    )
    for row in rows:
        if not row.series and not row.notes:
            continue
        lines += ["", f"### {row.key}", "", f"{row.work[0].upper()}{row.work[1:]}.", ""]
        if row.series:
            lines += table(
                ("", "median", "min", "max", "unit"),
                [
                    (
                        one.name,
                        number(one.median),
                        number(min(one.values)),
                        number(max(one.values)),
                        one.unit,
                    )
                    for one in row.series
                ],
            )
        for note in row.notes:
            lines += ["", f"{note[0].upper()}{note[1:]}."]
    return "\n".join(lines) + "\n"


def write_section(page: Path, section: str, writer: str) -> None:
    """Put a section between the page's two marks; a page that is not there is made.

    Args:
        page: Markdown.
        section: The new text.
        writer: Whose marks they are.

    Raises:
        ValueError: The page has no such marks.
    """
    first, last = BEGIN.format(writer), END.format(writer)
    if not page.exists():
        page.write_text(f"{first}\n{section}{last}\n", encoding="utf-8")
        return
    text = page.read_text(encoding="utf-8")
    head, begin, rest = text.partition(first)
    _, end, tail = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{page} has no lines {first!r} and {last!r}")
    page.write_text(f"{head}{begin}\n{section}{end}{tail}", encoding="utf-8")


def _plain(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return str(value)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Of Markdown, a line each."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]
