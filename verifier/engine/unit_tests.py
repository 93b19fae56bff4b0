"""Test files run by their framework, with the program among them: one run for all tests.

The program and the tests are compiled together, then `run.py` of `verifier.languages.unit_tests`
runs the framework in the program's jail and writes what its reporter says to the value channel.
Which tests there are is known from their files (`verifier.testcases.test_names`). Limits are of the
whole run, framework included.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verifier import judging, languages
from verifier.engine.carried import MAX_FETCHED_BYTES
from verifier.engine.shop import ATTEMPTS, contended
from verifier.errors import SlotError
from verifier.languages.unit_tests import BY_NAME, Mode, beside
from verifier.sandbox.base import RunJob, Slot
from verifier.testcases.test_names import UnitTest, tests_in
from verifier.types import (
    Case,
    CaseResult,
    Harness,
    Limits,
    Program,
    RunFacts,
    RunTask,
    UnitTests,
)

if TYPE_CHECKING:
    from verifier.engine.score_run import ScoreRun

__all__ = ["TestFileRun", "score_unit_tests"]

_TOKEN_CHARS = 20
# How a program that is a test file is named, where its framework goes by that.
_TEST_FILES = {"pytest": "test_main.py", "go_test": "main_test.go", "jest": "main.test.ts"}
_JEST_TESTS = re.compile(r"\.(test|spec)\.[cm]?[jt]sx?$|(^|/)__tests__/")


async def score_unit_tests(run: ScoreRun) -> None:
    """Compile and run a UNIT_TEST suite; the cases and what was compiled are left in `run`.

    Raises:
        SlotError: Twice in a row for the same work.
        BackendError: There are no slots, or no toolchain.
    """
    suite = run.task.suite
    unit = suite.unit_tests
    assert unit is not None  # noqa: S101 - the kind says so
    unit = dataclasses.replace(unit, solution_file=solution_path(unit, run.program.source))
    mode = languages.MODES[unit.framework]
    tests = tests_in(unit.framework, _texts(unit.files, mode))
    holder: list[Slot] = []
    try:
        compiles = await run.compile(holder, compile_files(mode, unit, tests, scored=True))
        assert run.compiled is not None  # noqa: S101 - it was compiled
        if not compiles:
            return
        wanted = {case.name for case in suite.cases}
        if unit.framework in BY_NAME:
            tests = [test for test in tests if test.shown in wanted]
        job = unit_test_job(mode, unit, tests, run.compiled.artifact, run.limits, scored=True)
        facts = await _run_once(run, holder, job)
    finally:
        for slot in holder:
            run.pool.give_back(slot)
    rerun = contended(facts, run.limits)
    if rerun:
        async with run.shop.alone(run.claim) as slots:
            run.shop.reruns += 1
            (facts,) = [facts async for facts in slots[0].run(job)]
    facts = run.recipe.told(facts)
    several = len({test.file for test in tests}) > 1
    report = judging.read_unit_tests(facts.returned, several=several)
    keep = run.task.excerpt_bytes
    for index, test in enumerate(judging.unit_test_results(suite.cases, report)):
        verdict = judging.unit_test_verdict(test, facts, run.limits)
        case = CaseResult(
            index=index,
            status=verdict.status,
            wall_time_s=test.seconds or 0.0,
            memory_bytes=facts.memory_bytes,
            exit_code=facts.exit_code,
            signal=facts.signal,
            message=verdict.message,
            rerun=rerun,
            name=test.name,
        )
        if index == 0:  # the run's own, once
            case = dataclasses.replace(
                case,
                cpu_time_s=facts.cpu_time_s,
                wall_time_s=facts.wall_time_s,
                queue_s=run.queue_s,
                stdout=facts.stdout[:keep],
                stderr=facts.stderr[:keep],
                stdout_bytes=facts.stdout_bytes,
                stderr_bytes=facts.stderr_bytes,
            )
        run.cases[index] = case


async def _run_once(run: ScoreRun, holder: list[Slot], job: RunJob) -> RunFacts:
    for attempt in range(ATTEMPTS):
        if not holder:
            await run.take(holder)
        run.shop.running += 1
        try:
            (facts,) = [facts async for facts in holder[0].run(job)]
        except SlotError as e:
            run.shop.fault(e)
            run.pool.give_back(holder.pop())
            if attempt + 1 == ATTEMPTS:
                raise
        else:
            return facts
        finally:
            run.shop.running -= 1
    raise AssertionError("unreachable")


def solution_path(unit: UnitTests, source: bytes) -> str:
    """Where the program goes."""
    return unit.solution_file or languages.get(unit.language).file_name(source)


def compile_files(
    mode: Mode, unit: UnitTests, tests: Sequence[UnitTest], *, scored: bool
) -> dict[str, bytes]:
    """What lies beside the program when it is compiled (see `jail/build.py`)."""
    by_file: dict[str, list[str]] = {}
    for test in tests:
        by_file.setdefault(test.file, []).append(test.name)
    given = {
        "solution": unit.solution_file,
        "files": {path: base64.b64encode(data).decode() for path, data in unit.files},
        "tests": by_file,
        "token": _token(unit),
        "scored": scored,
    }
    return {**beside(mode), "given.json": json.dumps(given, sort_keys=True).encode()}


def _token(unit: UnitTests) -> str:
    """A name that only who knows the test files can tell."""
    digest = hashlib.sha256(repr(unit.files).encode())
    return "v" + digest.hexdigest()[:_TOKEN_CHARS]


def unit_test_job(
    mode: Mode,
    unit: UnitTests,
    tests: Sequence[UnitTest],
    artifact: bytes,
    limits: Limits,
    *,
    scored: bool,
    stdin: bytes = b"",
    fetch: Sequence[str] = (),
    room: int = 0,
) -> RunJob:
    """The one run of the framework (see `jail/run.py`)."""
    recipe, name = mode.recipe, mode.recipe.name
    given: dict[str, object] = {
        "mode": name,
        "scored": scored,
        "token": _token(unit),
        "folder": unit.solution_file.rpartition("/")[0],
        "tests": [test.name for test in tests],
        "arguments": _arguments(name, unit, tests, scored=scored),
        "fetch": list(fetch),
        "room": room,
    }
    if name == "cargo_test":
        given["tests"] = [[_binary(test, unit), test.name, test.shown] for test in tests]
    limits = dataclasses.replace(limits, processes=limits.processes + recipe.extra_processes + 1)
    return RunJob(
        Harness.EXEC,
        artifact,
        recipe.run_command(limits),
        [stdin],
        limits,
        env=recipe.run_env(limits),
        extra=[(json.dumps(given).encode(), b"")],
        channel=True,
    )


def _binary(test: UnitTest, unit: UnitTests) -> str:
    if test.file.startswith("tests/"):
        return test.file.rpartition("/")[2].removesuffix(".rs")
    return _token(unit)


def _arguments(name: str, unit: UnitTests, tests: Sequence[UnitTest], *, scored: bool) -> list[str]:
    """What the framework is told to run: the data's test files alone."""
    files = sorted({test.file for test in tests})
    if name == "jest":
        return [_made_of(path) for path in files or [unit.solution_file]]
    if name == "pytest":
        return list(files or [unit.solution_file])
    if name != "junit":
        return []
    jars = ":".join(path for path, _ in unit.files if path.endswith(".jar"))
    known = [f"--class-path={jars}"] if jars else []
    if not scored:
        return [*known, "--scan-class-path=/program/classes.jar"]
    classes = sorted({test.name.rpartition(".")[0].partition("$")[0] for test in tests})
    return [*known, *(f"--select-class={name}" for name in classes)]


def _made_of(path: str) -> str:
    stem, dot, suffix = path.rpartition(".")
    return (
        f"{stem}.js" if dot and suffix in ("ts", "tsx", "jsx", "mjs", "cjs", "mts", "cts") else path
    )


def _texts(files: Sequence[tuple[str, bytes]], mode: Mode) -> dict[str, str]:
    """Those that can hold tests."""
    return {
        path: data.decode("utf-8", "replace")
        for path, data in files
        if path.endswith(mode.suffixes)
    }


class TestFileRun:
    """A run whose program is a test file, as Sandbox Fusion's pytest, jest, junit and go_test.

    Attributes:
        files: For its compile step.
    """

    __test__ = False

    def __init__(self, task: RunTask, program: Program) -> None:
        """Read which tests there are; nothing runs."""
        self._task, self._mode = task, languages.MODES[program.language]
        name = _TEST_FILES.get(program.language) or self._mode.solution_file
        files = task.files
        if program.language == "go_test":
            # `go test FILE` compiles that file alone.
            files = tuple(file for file in files if not file[0].endswith(".go"))
        unit = UnitTests(program.language, files, name, self._mode.language)
        self._unit = dataclasses.replace(unit, solution_file=solution_path(unit, program.source))
        texts = _texts((*files, (self._unit.solution_file, program.source)), self._mode)
        if program.language == "jest":
            texts = {path: text for path, text in texts.items() if _JEST_TESTS.search(path)}
        elif program.language != "junit":
            texts = {name: texts[name]}
        self._tests = tests_in(program.language, texts)
        self._several = len({test.file for test in self._tests}) > 1
        self.files = compile_files(self._mode, self._unit, self._tests, scored=False)

    def job(self, artifact: bytes, limits: Limits) -> RunJob:
        """The run of the framework."""
        task = self._task
        return unit_test_job(
            self._mode,
            self._unit,
            self._tests,
            artifact,
            limits,
            scored=False,
            stdin=task.stdin,
            fetch=task.fetch,
            room=MAX_FETCHED_BYTES,
        )

    def told(self, facts: RunFacts) -> dict[str, Any]:
        """The fields of a `RunOutcome` that come from the framework's report."""
        report = judging.read_unit_tests(facts.returned, several=self._several)
        cases = [Case(name=test.shown, test=test.pattern or None) for test in self._tests]
        files = tuple(file for file in report.files if file[0] in self._task.fetch)
        return {"tests": judging.all_unit_tests(cases, report), "files": files}
