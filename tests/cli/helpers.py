"""What the command line's tests share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from typer.testing import CliRunner
from typer.testing import Result as Invocation

from verifier.cli.app import app
from verifier.data import Row
from verifier.types import CaseResult, Outcome, Result, Status, Timing


def invoke(*args: str, stdin: str | bytes | None = None) -> Invocation:
    """Run the command line in this process."""
    return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)


def plain(text: str) -> str:
    """Text with rich's frames and line breaks taken out, for asserting on sentences."""
    for char in "│╭╮╰╯─":
        text = text.replace(char, " ")
    return " ".join(text.split())


def row(line: int, response: str = "r", **extra: Any) -> Row:
    """A row with nothing special about it."""
    return Row(line, f"row-{line}", "test", response, {"inputs": ["1"], "outputs": ["1"]}, **extra)


def scored(passed: int = 1, total: int = 1, status: Status = Status.ACCEPTED) -> Result:
    """A result with a score."""
    return Result(
        Outcome.SCORED,
        score=passed / total,
        status=status,
        passed=passed,
        total=total,
        cases=tuple(CaseResult(i, status) for i in range(total)),
        timing=Timing(cpu_time_s=0.5),
    )


class FakeScorer:
    """Answers rows from a function; remembers how many were in flight at once."""

    backend = "test"

    def __init__(self, answer: Callable[[Row], Any], slots: int = 1) -> None:
        self._answer = answer
        self._slots = slots
        self.now = 0
        self.most = 0
        self.asked: list[int] = []
        self.closed = False

    @property
    def slots(self) -> int:
        return self._slots

    async def score(self, row: Row) -> Result:
        self.now += 1
        self.most = max(self.most, self.now)
        self.asked.append(row.line)
        try:
            answer = self._answer(row)
            return answer if isinstance(answer, Result) else await answer
        finally:
            self.now -= 1

    async def close(self) -> None:
        self.closed = True


def jsonl(path, *rows: dict[str, Any] | str):
    """Write a JSON Lines file; strings are written as they are."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path
