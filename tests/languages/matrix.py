"""The matrix of languages: each language's programs through an engine, and what each got.

    python -m tests.languages.matrix [LANGUAGE...] --backend namespaces [--write PAGE]

The first two kinds are scored against a suite of one case, as a trainer does it; the others are
run, and more than the verdict is looked at: the exit code, the output, who ended the run.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable
from dataclasses import dataclass

from tests.languages.cells import cells_of
from tests.languages.cells.base import WANTED, Cell, Impossible, Kind
from verifier.engine import Engine
from verifier.errors import VerifierError
from verifier.languages import RECIPES
from verifier.languages.base import SELF_TEST_STDIN, SELF_TEST_STDOUT
from verifier.testcases import load_suite
from verifier.types import Killer, Program, RunFacts, RunTask, ScoreTask, Status

# Those that are tried: the toolchains of the others are nowhere in Debian.
LANGUAGES = tuple(name for name, recipe in RECIPES.items() if not recipe.unpackaged)
SUM = load_suite({"inputs": [SELF_TEST_STDIN.decode()], "outputs": [SELF_TEST_STDOUT.decode()]})
SCORED = {Kind.ACCEPTED: Status.ACCEPTED, Kind.WRONG_ANSWER: Status.WRONG_ANSWER}
KILLERS = {Kind.CPU: Killer.CPU, Kind.SLEEP: Killer.WALL, Kind.FLOOD: Killer.OUTPUT}
SHOWN_BYTES = 300


@dataclass(frozen=True, slots=True)
class Row:
    """One cell of the matrix.

    Attributes:
        kind: Its column.
        wanted: The verdict wanted; None: there is no such program.
        got: The verdict, or the class of the fault of the machinery.
        problem: What is wrong with it, "" where nothing is.
        why: Why it is not what most languages get.
    """

    kind: Kind
    wanted: Status | None
    got: str
    problem: str
    why: str


async def run_matrix(engine: Engine, language: str) -> list[Row]:
    """All cells of one language, as many at once as the engine has slots."""
    return list(await asyncio.gather(*(_row(engine, language, kind) for kind in Kind)))


async def _row(engine: Engine, language: str, kind: Kind) -> Row:
    cell = _cell(language, kind)
    if isinstance(cell, Impossible):
        return Row(kind, None, "-", "", cell.why)
    wanted = cell.status or SCORED.get(kind) or WANTED[kind].status
    try:
        if kind in SCORED:
            got, problems = await _score(engine, language, kind, cell)
        else:
            got, problems = await _run(engine, language, kind, cell)
    except VerifierError as error:
        return Row(kind, wanted, type(error).__name__, str(error), cell.why)
    if got != wanted:
        problems = f"{got.value}, not {wanted.value}; {problems}"
    return Row(kind, wanted, got.value, problems, cell.why)


def _cell(language: str, kind: Kind) -> Cell | Impossible:
    if kind is Kind.ACCEPTED:
        return Cell(RECIPES[language].self_test)
    cell = cells_of(language)[kind]
    return Cell(cell) if isinstance(cell, str) else cell


async def _score(engine: Engine, language: str, kind: Kind, cell: Cell) -> tuple[Status, str]:
    response = f"```{language}\n{cell.source}\n```"
    result = await engine.score(ScoreTask(response, SUM, language=language, no_cache=True))
    if result.status is None:
        raise VerifierError(result.error)
    case, stdout = result.cases[0], cell.stdout or WANTED[kind].stdout
    wrong = case.stdout.rstrip() != stdout
    shown = f"{case.message} {case.stdout[:SHOWN_BYTES]!r} {case.stderr[:SHOWN_BYTES]!r}"
    return result.status, shown if wrong or result.status is not SCORED[kind] else ""


async def _run(engine: Engine, language: str, kind: Kind, cell: Cell) -> tuple[Status, str]:
    wanted = WANTED[kind]
    outcome = await engine.run(
        RunTask(
            Program(language, cell.source.encode()),
            stdin=wanted.stdin,
            limits=cell.limits or wanted.limits,
        )
    )
    facts, problems = outcome.facts, []
    ended = _ended(outcome.status, facts)
    stdout = cell.stdout if cell.stdout is not None else wanted.stdout
    exit_code = cell.exit_code if cell.exit_code is not None else wanted.exit_code
    if stdout is not None and facts.stdout.rstrip() != stdout:
        problems.append(f"stdout is not {stdout!r}")
    if exit_code is not None and facts.exit_code != exit_code:
        problems.append(f"exit code {facts.exit_code}, not {exit_code}")
    if cell.status is None and facts.killer is not KILLERS.get(kind, facts.killer):
        problems.append(f"ended by {facts.killer.value}, not {KILLERS[kind].value}")
    if outcome.status is Status.COMPILE_ERROR and not outcome.message.strip():
        problems.append("the compile error has no message")
    told = RECIPES[language].stack_overflow
    if kind is Kind.ENDLESS_RECURSION and ended not in told:
        problems.append(f"{ended}, where the recipe says {told!r}")
    if problems or outcome.status is not (cell.status or wanted.status):
        said = outcome.message or facts.stderr[:SHOWN_BYTES].decode("utf-8", "replace")
        problems.append(
            f"({ended}, {facts.cpu_time_s:.2f} s of CPU in {facts.wall_time_s:.2f} s, "
            f"{facts.memory_bytes >> 20} MiB, {facts.stdout[:SHOWN_BYTES]!r}, {said!r})"
        )
    return outcome.status, "; ".join(problems)


def _ended(status: Status, facts: RunFacts) -> str:
    """How a run ended, in the words of `Recipe.stack_overflow`."""
    if status in (Status.MEMORY_LIMIT, Status.TIME_LIMIT, Status.OUTPUT_LIMIT):
        return status.value.lower().replace("_", " ")
    if facts.signal is not None:
        return signal.Signals(facts.signal).name
    return f"exit code {facts.exit_code}"


def problems_of(rows: Iterable[Row]) -> list[str]:
    """What is wrong, a line a cell."""
    return [f"{row.kind.value}: {row.problem}" for row in rows if row.problem]


if __name__ == "__main__":
    from tests.languages.matrix_page import main

    main()
