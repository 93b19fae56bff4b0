"""The figures of one run as a section of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MB = 1e6


def lines(found: dict[str, Any]) -> list[str]:
    """A paragraph and two tables, in Markdown."""
    one, other = found["undisturbed"], found["killed"]
    rows = one["rows"]
    speed = (
        f"{found['machine']}, Python {found['python']}, rows of {found['cases']} cases as "
        f"{found['format']}. Undisturbed: {one['seconds']:,.0f} s, "
        f"**{one['rows_per_s']:,.0f} rows/s**; every row came out as it was made to: "
        f"{_yes(found['as_they_have_to_be'])}. Rows {one['rows_bytes'] / MB:,.1f} MB, "
        f"results {one['results_bytes'] / MB:,.1f} MB ({one['results_bytes'] / rows:,.0f} bytes a "
        f"row), the journal {one['journal_bytes_most'] / MB:.2f} MB at most and "
        f"{one['journal_bytes_end']} bytes at the end."
    )
    flat = (
        f"The highest is {one['highest_over_first']:.2f} times the first: flat: "
        f"{_yes(one['flat'])}."
    )
    kept = (
        f"Killed {len(other['kills'])} times: {other['rows']:,} rows in the end, "
        f"{other['different_rows']} of them different from the undisturbed run's; what was in the "
        f"file at a kill still begins it: {_yes(other['kept'])}; no row of it was scored again: "
        f"{_yes(other['none_lost'])}."
    )
    shown = [
        f"### {rows:,} rows, `--backend {found['backend']}`",
        "",
        speed,
        "",
        "| of the rows | 10 % | " + " | ".join(f"{n}0 %" for n in range(2, 11)) + " |",
        "|---|" + "--:|" * 10,
        _line("`verifier score`, MiB", one["scorer_mib"]),
        _line("processes below it, MiB", one["others_mib"]),
        _line("seconds", one["at_seconds"]),
        "",
        flat,
        "",
        kept,
        "",
        "| rows at the kill | and ahead of them | next run behind | its first row | its memory |",
        "|--:|--:|--:|--:|--:|",
    ]
    after = [*other["kills"][1:], other["last"]]
    shown += [
        f"| {kill['rows_written']:,} | {kill['rows_ahead']} | {then['resumed_rows']:,} | "
        f"{then['first_row_s']:.1f} s | {then['highest_mib']:.0f} MiB |"
        for kill, then in zip(other["kills"], after, strict=True)
    ]
    return shown


def _line(name: str, values: list[float]) -> str:
    return f"| {name} | " + " | ".join(f"{value:,.0f}" for value in values) + " |"


def _yes(value: bool) -> str:
    return "yes" if value else "**no**"


def into_page(page: Path, found: dict[str, Any]) -> None:
    """Put the section between the page's marks for this backend.

    Raises:
        ValueError: The page has no such marks.
    """
    begin, end = f"<!-- figures: {found['backend']} -->", "<!-- end of figures -->"
    text = page.read_text(encoding="utf-8")
    head, mark, rest = text.partition(begin)
    _, stop, tail = rest.partition(end)
    if not mark or not stop:
        raise ValueError(f"{page} has no {begin} ... {end}")
    body = "\n".join(lines(found))
    page.write_text(f"{head}{begin}\n{body}\n{end}{tail}", encoding="utf-8")
