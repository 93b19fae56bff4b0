"""The table: on a terminal and in docs/reliability.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.chaos.run import Row

BEGIN, END = "<!-- chaos: begin -->", "<!-- chaos: end -->"
HEAD = (
    "fault", "backend", "repeats", "requests", "lost", "wrong", "twice", "left behind",
    "healed after, s (median, max)",
)  # fmt: skip


def cells(row: Row) -> tuple[str, ...]:
    """One line of it."""
    tally = row.tally
    counts = (len(tally.lost), len(tally.wrong), len(tally.twice), len(row.left))
    heal = f"{row.median_s:.1f}, {max(row.heal_s):.1f}" if row.heal_s else "-"
    return (
        row.fault, row.backend, str(row.repeats), str(tally.requests), *map(str, counts), heal,
    )  # fmt: skip


def markdown(rows: Sequence[Row]) -> str:
    """The whole table."""
    lines = [HEAD, ("---",) * 2 + ("---:",) * (len(HEAD) - 2), *map(cells, rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def write(page: Path, rows: Sequence[Row], how: str) -> None:
    """Put it between the marks of a page.

    Raises:
        ValueError: The page has no such marks.
    """
    text = page.read_text()
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    page.write_text(f"{text[:start]}\n{how}\n\n{markdown(rows)}{text[end:]}")


def problems(row: Row, shown: int = 5) -> list[str]:
    """What was not as it should be, in a few lines."""
    tally = row.tally
    found = []
    for title, texts in (
        ("lost", tally.lost), ("wrong", tally.wrong), ("twice", tally.twice),
        ("left behind", row.left), ("problem", row.problems),
    ):  # fmt: skip
        found += [f"{title}: {text}" for text in texts[:shown]]
        if len(texts) > shown:
            found.append(f"{title}: and {len(texts) - shown} more")
    return found
