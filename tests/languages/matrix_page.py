"""docs/languages-matrix.md, and the command that makes it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.languages.cells.base import WANTED, Kind
from tests.languages.matrix import LANGUAGES, SCORED, Row, problems_of, run_matrix
from verifier.engine import Engine, make_sandbox
from verifier.languages import RECIPES
from verifier.types import Limits, Status

SHORT = {
    Status.ACCEPTED: "AC",
    Status.WRONG_ANSWER: "WA",
    Status.COMPILE_ERROR: "CE",
    Status.RUNTIME_ERROR: "RE",
    Status.TIME_LIMIT: "TL",
    Status.MEMORY_LIMIT: "ML",
    Status.OUTPUT_LIMIT: "OL",
}
PROGRAMS = {
    Kind.ACCEPTED: "prints the sum of the two integers that it reads",
    Kind.WRONG_ANSWER: "prints another number",
    Kind.COMPILE_ERROR: "is none; the compiler's message is in the result",
    Kind.EXIT_CODE: "ends with exit code 3, which is in the result",
    Kind.CPU: "computes for ever: ended by its CPU time, at 1 s",
    Kind.SLEEP: "sleeps for a minute: ended by the wall clock, at 2 s",
    Kind.MEMORY: "keeps all that it allocates, under a limit of 256 MiB",
    Kind.FLOOD: "prints for ever: ended at 1 MiB of output",
    Kind.BIG_STDIN: "counts the lines of an input of 1 MiB",
    Kind.UNICODE: "reads and prints text that is not ASCII",
    Kind.THREADS: "starts four threads and waits for them",
    Kind.RECURSION: "recurses 20,000 calls deep",
    Kind.ENDLESS_RECURSION: "recurses without an end, under a limit of 1,024 MiB",
    Kind.FORBIDDEN: "reads /etc/shadow and /proc/1/environ: neither can be opened",
}
_HEAD = """\
# The matrix of languages

<!-- Made by the command below; change tests/languages/cells instead. -->

What a program of each kind gets, in each language and in each sandbox, under a memory limit of
1,024 MiB where its column does not name another. The programs are in `tests/languages/cells`, one
file a language; more than the verdict is looked at (the exit code, all that is printed, who ended
the program). [languages.md](languages.md) says how each language is compiled and run, and how its
stack overflows.

    {command}
"""
_LEGEND = """\
AC: accepted, WA: wrong answer, CE: compile error, RE: runtime error, TL: time limit, ML: memory
limit, OL: output limit; -: there can be no such program. A number leads to a note below. A verdict
that is not the one wanted is bold.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One sandbox's half of the matrix: toolchains' versions by language, and the rows of those."""

    backend: str
    versions: Mapping[str, str]
    rows: Mapping[str, Sequence[Row]]


async def measured(backend: str, image: str | None, languages: Sequence[str]) -> Part:
    """Run the languages whose toolchain is there, one after the other.

    Raises:
        VerifierError: The sandbox cannot be opened.
    """
    sandbox = make_sandbox(backend, image=image if backend == "docker" else None)
    engine = Engine(sandbox, slots=2, default_limits=Limits(memory_bytes=1024 * 1024 * 1024))
    await engine.start()
    rows = {}
    try:
        there = engine.info().toolchains
        for language in languages:
            if language not in there:
                continue
            rows[language] = await run_matrix(engine, language)
            wrong = problems_of(rows[language])
            sys.stderr.write(f"{backend} {language}: {'; '.join(wrong) or 'right'}\n")
    finally:
        await engine.close()
    return Part(backend, {name: there[name] for name in rows}, rows)


def page(command: str, languages: Sequence[str], parts: Sequence[Part]) -> str:
    """The page, as it is in docs/."""
    return "\n".join([_HEAD.format(command=command), *_sections(languages, parts)])


def _sections(languages: Sequence[str], parts: Sequence[Part]) -> Iterator[str]:
    yield "| column | a program that | wanted |\n|---|---|---|"
    for kind in Kind:
        yield _line(kind.value, PROGRAMS[kind], SHORT[SCORED.get(kind) or WANTED[kind].status])
    yield f"\n{_LEGEND}"
    notes: dict[str, int] = {}
    for part in parts:
        yield f"## {part.backend}\n"
        yield _line("language", *(kind.value for kind in Kind))
        yield "|---" * (1 + len(Kind)) + "|"
        for language in languages:
            cells = [_cell(row, notes) for row in part.rows.get(language, ())]
            yield _line(RECIPES[language].title, *cells or ["no toolchain"])
        yield ""
    if notes:
        yield "## Notes\n"
        yield from (f"{number}. {why[:1].upper()}{why[1:]}." for why, number in notes.items())
        yield ""
    yield "## Toolchains\n"
    yield _line("language", *(part.backend for part in parts))
    yield "|---" * (1 + len(parts)) + "|"
    for language in languages:
        versions = (part.versions.get(language, "-") for part in parts)
        yield _line(RECIPES[language].title, *versions)
    yield ""


def _cell(row: Row, notes: dict[str, int]) -> str:
    note = f" ({notes.setdefault(row.why, len(notes) + 1)})" if row.why else ""
    shown = SHORT[Status(row.got)] if row.got in SHORT else row.got
    return f"**{shown}**{note}" if row.problem else f"{shown}{note}"


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main() -> None:
    """The command; 1 where a cell is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.languages.matrix")
    parser.add_argument("language", nargs="*", help="default: all that are in Debian")
    parser.add_argument("--backend", action="append", help="namespaces, docker; may be repeated")
    parser.add_argument("--image", help="for docker")
    parser.add_argument("--write", type=Path, help="the page; default: standard output")
    given = parser.parse_args()
    languages = given.language or LANGUAGES

    async def parts() -> list[Part]:
        backends = given.backend or ["namespaces"]
        return [await measured(backend, given.image, languages) for backend in backends]

    made = asyncio.run(parts())
    text = page(" ".join(["python -m tests.languages.matrix", *sys.argv[1:]]), languages, made)
    if given.write:
        given.write.write_text(text)
    else:
        sys.stdout.write(text)
    if any(problems_of(rows) for part in made for rows in part.rows.values()):
        sys.exit(1)
