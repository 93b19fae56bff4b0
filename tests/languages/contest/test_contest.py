"""One contest in ten languages: each program gets its verdicts, case by case, whatever it is
written in.

The programs are the files beside this one, PROBLEM/PROGRAM.SUFFIX: a right solution, and others
with one fault each, which is the same in every language. `verdicts.txt` says what they get.

The container backend is asked for two languages, and with VERIFIER_REQUIRE_LANGUAGES=1
(`scripts/test --all-languages`) for all that its image has.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

from tests.languages.contest.problems import PROBLEMS
from tests.languages.toolchains import ALL, require_toolchain
from verifier.engine import Engine
from verifier.types import LimitOverrides, Outcome, ScoreTask, Status

HERE = Path(__file__).parent
LANGUAGES = {
    "python": "py",
    "c": "c",
    "cpp": "cpp",
    "java": "java",
    "javascript": "js",
    "typescript": "ts",
    "go": "go",
    "rust": "rs",
    "csharp": "cs",
    "ruby": "rb",
}
IN_CONTAINERS = ("python", "javascript")
SHORT = {
    Status.ACCEPTED: "AC",
    Status.WRONG_ANSWER: "WA",
    Status.TIME_LIMIT: "TL",
    Status.RUNTIME_ERROR: "RE",
}


def table() -> dict[tuple[str, str], str]:
    """(problem, program) -> verdicts."""
    lines = [line.split(maxsplit=2) for line in (HERE / "verdicts.txt").read_text().splitlines()]
    return {(line[0], line[1]): line[2] for line in lines if line and line[0] != "#"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(sandbox_of):
    sandbox = sandbox_of()
    made = Engine(sandbox, accept=frozenset(sandbox.accepted))
    await made.start()
    yield made
    await made.close()


@pytest.mark.timeout(300)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("language", LANGUAGES)
async def test_its_verdicts_are_those_of_the_table(engine, language):
    if engine.sandbox.name != "namespaces" and language not in IN_CONTAINERS and not ALL:
        pytest.skip("in containers: scripts/test --all-languages")
    require_toolchain(engine, language)
    wanted = table()
    suites = {name: problem.suite(name) for name, problem in PROBLEMS.items()}

    async def verdicts(problem: str, program: str) -> str:
        source = (HERE / problem / f"{program}.{LANGUAGES[language]}").read_text()
        limits = LimitOverrides(cpu_time_s=PROBLEMS[problem].cpu_time_s)
        task = ScoreTask(
            f"```{language}\n{source}```", suites[problem], language=language, limits=limits
        )
        result = await engine.score(task)
        if result.outcome is not Outcome.SCORED:
            return f"{result.outcome.value}: {result.error}"
        return " ".join(SHORT.get(case.status, case.status.value) for case in result.cases)

    found = await asyncio.gather(*(verdicts(*names) for names in wanted))
    assert dict(zip(wanted, found, strict=True)) == wanted


def test_every_program_is_in_the_table():
    wanted = table()
    assert {problem for problem, _ in wanted} == set(PROBLEMS)
    for problem in PROBLEMS:
        files = {path.name for path in (HERE / problem).iterdir()}
        programs = [program for name, program in wanted if name == problem]
        assert files == {f"{program}.{ext}" for program in programs for ext in LANGUAGES.values()}
        assert len(programs) >= 3
