"""Checkers: programs that judge an output, run in the partner of the solution's slot.

The solution's slot never sees a checker, nor the expected answer: both enter the partner's jail
alone, and what the checker uses is billed there. A checker that crashes, breaks a limit, or answers
nonsense is run once more; then there is no score (`HelperError`), for it says nothing about the
program.

How each style is called, and what its answers mean: `verifier.types.Checker`, and
`verifier.judging.programs`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from verifier import languages
from verifier.engine.pool import SlotPool
from verifier.engine.shares import Claim
from verifier.engine.shop import ATTEMPTS, Shop
from verifier.errors import BackendError, HelperError, RequestError, SlotError
from verifier.judging import CHECKER_STYLES, INTERACTOR_STYLES, Answer, Broken, Verdict, answer_of
from verifier.languages import Recipe
from verifier.limits import resolve
from verifier.sandbox.base import RunJob, Slot
from verifier.types import (
    Checker,
    Harness,
    Interactor,
    Limits,
    Program,
    ScoreTask,
    Status,
    SuiteKind,
)

# What a checker may use where neither it nor its suite says: open-r1 gives its own 10 s.
HELPER_LIMITS = Limits(
    cpu_time_s=10.0, wall_time_s=30.0, memory_bytes=1024**3, output_bytes=1024**2
)
# Above this, the texts of a function are put together in a thread.
INLINE_BYTES = 1024 * 1024
# The names that files have in a jail: nothing is written there.
FIRST, SECOND, THIRD = "/proc/self/fd/0", "/proc/self/fd/4", "/proc/self/fd/5"
FEEDBACK = "/tmp/"  # noqa: S108 - the jail's own, empty and gone after the run
PYTHON_STYLES = ("function", "script")
# Python programs leave with 1 when they crash, which is testlib's word for a wrong answer. And like
# the next one: an interactor whose last words the program does not wait for is no failure.
LAUNCHER = """
import io, runpy, sys, traceback
class Pipe(io.FileIO):
    def write(self, data):
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)
sys.stdout = io.TextIOWrapper(io.BufferedWriter(Pipe(1, "wb", closefd=False)), "utf-8")
sys.argv[:1] = []
sys.path[0] = sys.argv[0].rpartition("/")[0]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except Exception:
    traceback.print_exc()
    sys.exit(3)
"""
WITHOUT_SIGPIPE = 'trap "" PIPE; exec "$0" "$@"'
TESTLIB = "testlib.h"
# A function is called in the warm interpreter, which has no folder of a program: its files are
# written into the jail's own, where it can import and open them.
WITH_FILES = """
import os, sys, tempfile
_folder = tempfile.mkdtemp()
for _name, _data in {files!r}:
    with open(os.path.join(_folder, _name), "wb") as _file:
        _file.write(_data)
sys.path.insert(0, _folder)
__file__ = os.path.join(_folder, {name!r})
exec(compile({source!r}, __file__, "exec", dont_inherit=True), globals())
"""
# How many controls (see `_control`) are kept.
MAX_CONTROLS = 256


@dataclass(frozen=True, slots=True)
class Given:
    """What a checker looks at in one case."""

    index: int
    stdin: bytes
    output: bytes
    expected: bytes


class Helper:
    """A checker or an interactor of one task, compiled before its first run.

    Attributes:
        name: "checker" or "interactor", for messages.
        program: As it was given.
        limits: Of each of its runs.
        recipe: Of its language.
        artifact: Compiled.
    """

    def __init__(
        self, shop: Shop, name: str, program: Checker | Interactor, ceilings: Limits
    ) -> None:
        """Nothing is compiled before `compile`.

        Raises:
            RequestError: A limit is wrong.
            HelperError: The sandbox has no toolchain for its language.
        """
        self.name, self.program, self._shop = name, program, shop
        self.limits = limits_of(name, program, ceilings)
        try:
            self.recipe = shop.recipe(program.language)
        except BackendError as e:
            raise HelperError(f"{name}: {e}") from e
        self.artifact = b""

    async def compile(self, holder: list[Slot], claim: Claim | int) -> None:
        """Compile in the partner of the slot in `holder`, unless an equal one was before.

        Raises:
            SlotError: The slot failed.
            HelperError: It does not compile.
        """
        source = source_of(self.program)
        files = dict(self.program.files)
        recipe = self.recipe
        if (recipe.written_as or recipe.name) in ("c", "cpp") and self._shop.testlib is not None:
            files.setdefault(TESTLIB, self._shop.testlib)
        function = self.program.style == "function"
        if function and files:
            # For what its compiler says; what runs is the source with its files.
            await self._compiled(source, recipe, holder, claim, {})
            given = list(files.items())
            source = WITH_FILES.format(files=given, name=recipe.source_name, source=source).encode()
            files = {}
        elif recipe.run_harness is Harness.PYTHON and files:
            recipe = dataclasses.replace(
                recipe,
                run_harness=Harness.EXEC,
                compile_argv=(recipe.run_argv[0], "-m", "py_compile", recipe.source_name),
                outputs=("*",),
            )
        self.artifact = await self._compiled(source, recipe, holder, claim, files)

    async def _compiled(
        self,
        source: bytes,
        recipe: Recipe,
        holder: list[Slot],
        claim: Claim | int,
        files: dict[str, bytes],
    ) -> bytes:
        compiled = await self._shop.compiled(
            Program(recipe.name, source), recipe, holder, claim, beside=True, files=files
        )
        if not compiled.ok:
            hint = ""
            if TESTLIB in compiled.message and TESTLIB not in files:
                hint = f" (give yours with --testlib PATH, or put {TESTLIB} among its files)"
            raise HelperError(f"{self.name}: does not compile{hint}: {compiled.message}")
        return compiled.artifact

    @property
    def controls(self) -> OrderedDict[bytes, str]:
        """What the controls of all checkers said (see `_control`)."""
        return self._shop.controls

    def job(self, argv: Sequence[str], inputs: Sequence[bytes], limits: Limits) -> RunJob:
        """A run of it with these arguments."""
        limits = dataclasses.replace(
            limits, processes=limits.processes + self.recipe.extra_processes
        )
        command = self.recipe.run_command(limits)
        if self.recipe.run_harness is Harness.PYTHON:
            command = (*command[:-1], "-c", LAUNCHER, command[-1])
        elif isinstance(self.program, Interactor):
            command = ("sh", "-c", WITHOUT_SIGPIPE, *command)
        argv = (*command, *argv, *self.program.args)
        env = self.recipe.run_env(limits)
        return RunJob(Harness.EXEC, self.artifact, argv, inputs, limits, env=env)


def limits_of(name: str, program: Checker | Interactor, ceilings: Limits) -> Limits:
    """What each of its runs may use.

    Raises:
        LimitError: A limit is wrong.
    """
    defaults = Limits(
        **{
            field.name: min(getattr(HELPER_LIMITS, field.name), getattr(ceilings, field.name))
            for field in dataclasses.fields(Limits)
        }
    )
    return resolve(program.limits, defaults=defaults, ceilings=ceilings, field=f"{name}.limits")


def check_task(task: ScoreTask, ceilings: Limits) -> None:
    """Look at a task's checker and interactor.

    Raises:
        RequestError: A field of one of them is wrong.
    """
    for name, helper, styles in (
        ("checker", task.checker or task.suite.checker, CHECKER_STYLES),
        ("interactor", task.interactor or task.suite.interactor, INTERACTOR_STYLES),
    ):
        if helper is None:
            continue
        if task.suite.kind is not SuiteKind.STDIN:
            raise RequestError(
                name, f"it judges programs that read and write, not {task.suite.kind.value} suites"
            )
        if helper.style not in styles:
            raise RequestError(
                f"{name}.style", f"there is no {helper.style!r}; there are {', '.join(styles)}"
            )
        try:
            recipe: Recipe = languages.get(helper.language)
        except RequestError as e:
            raise RequestError(f"{name}.language", e.problem) from None
        if helper.style in PYTHON_STYLES and recipe.name != "python":
            raise RequestError(
                f"{name}.language", f"the style {helper.style} is Python, not {recipe.name}"
            )
        if not helper.source:
            raise RequestError(f"{name}.source", "empty")
        for position, (file, _) in enumerate(helper.files):
            taken = file == recipe.file_name(source_of(helper))
            if not file or "/" in file or "\0" in file or file.startswith(".") or taken:
                raise RequestError(
                    f"{name}.files[{position}]", f"{file!r} cannot be the name of a file beside it"
                )
        if any("\0" in arg for arg in helper.args):
            raise RequestError(f"{name}.args", "has a NUL byte")
        if not 0 < helper.full_points < float("inf"):
            raise RequestError(f"{name}.full_points", f"must be positive, not {helper.full_points}")
        limits_of(name, helper, ceilings)


async def check(
    pool: SlotPool, slot: Slot, helper: Helper, given: Sequence[Given]
) -> list[Verdict]:
    """The verdicts of a checker on outputs, in their order.

    Args:
        pool: Whose slot it is.
        slot: The solution's; the checker runs in its partner.
        helper: The checker.
        given: What it looks at.

    Raises:
        SlotError: The partner failed.
        HelperError: The checker failed on a case, twice.
    """
    answers: dict[int, Answer] = {}
    left = list(given)
    for _ in range(ATTEMPTS):
        partner = await pool.partner(slot)
        job = await _job(helper, left)
        facts = [f async for f in partner.run(job)]
        if len(facts) != len(left):
            raise SlotError(f"{partner.name}: {len(facts)} answers for {len(left)} runs")
        for case, fact in zip(left, facts, strict=True):
            answers[case.index] = answer_of(helper.program, fact, helper.limits)
        left = [case for case in left if isinstance(answers[case.index], Broken)]
        if not left:
            break
    verdicts = []
    for case in given:
        answer = answers[case.index]
        if isinstance(answer, Broken):
            control = await _control(pool, slot, helper, case)
            raise HelperError(f"{helper.name}: on case {case.index}: {answer.reason} ({control})")
        verdicts.append(answer)
    return verdicts


async def _control(pool: SlotPool, slot: Slot, helper: Helper, given: Given) -> str:
    """What a checker that failed says to the expected answer in the output's place.

    Either way there is no score: whether a checker fails on an output is up to its author, never to
    the program. But who reads the message learns whether to mend the checker or to look at that
    output.
    """
    digest = hashlib.sha256(repr((helper.program, given.index)).encode())
    for part in (given.stdin, given.expected):
        digest.update(hashlib.sha256(part).digest())
    key = digest.digest()
    if key not in helper.controls:
        partner = await pool.partner(slot)
        job = await _job(helper, [dataclasses.replace(given, output=given.expected)])
        (facts,) = [f async for f in partner.run(job)]
        answer = answer_of(helper.program, facts, helper.limits)
        if isinstance(answer, Broken):
            said = "it fails on the expected answer too"
        elif answer.status is Status.ACCEPTED:
            said = "it fails on this output alone: it accepts the expected answer"
        else:
            said = "it fails on this output, and does not accept the expected answer either"
        helper.controls[key] = said
        while len(helper.controls) > MAX_CONTROLS:
            helper.controls.popitem(last=False)
    return helper.controls[key]


async def _job(helper: Helper, given: Sequence[Given]) -> RunJob:
    style, limits = helper.program.style, helper.limits
    if style == "function":
        if sum(len(g.stdin) + len(g.output) + len(g.expected) for g in given) > INLINE_BYTES:
            inputs = await asyncio.to_thread(lambda: [_arguments(g) for g in given])
        else:
            inputs = [_arguments(g) for g in given]
        return RunJob(
            Harness.PYTHON_CALL,
            helper.artifact,
            helper.recipe.run_argv,
            inputs,
            limits,
            fn_name="check",
        )
    if style == "kattis":
        job = helper.job((SECOND, THIRD, FEEDBACK), [g.output for g in given], limits)
        extra = [(g.stdin, g.expected) for g in given]
    elif style == "script":
        job = helper.job((FIRST, SECOND, THIRD), [_lines(g.stdin) for g in given], limits)
        extra = [(_full_lines(_lines(g.expected)), _full_lines(g.output)) for g in given]
    else:
        job = helper.job((FIRST, SECOND, THIRD), [g.stdin for g in given], limits)
        extra = [(g.output, g.expected) for g in given]
    return dataclasses.replace(job, extra=extra)


def source_of(program: Checker | Interactor) -> bytes:
    """Its source as a file."""
    source = program.source
    return source.encode("utf-8", "replace") if isinstance(source, str) else source


def _arguments(given: Given) -> bytes:
    """The arguments of a function. What is not UTF-8 in them is U+FFFD."""
    texts = (given.stdin, given.output, given.expected)
    return json.dumps([t.decode("utf-8", "replace") for t in texts], ensure_ascii=False).encode()


def _lines(data: bytes) -> bytes:
    """Without the carriage returns at the ends of lines."""
    data = data.replace(b"\r\n", b"\n")
    return data.removesuffix(b"\r")


def _full_lines(data: bytes) -> bytes:
    """Without its empty lines."""
    lines = [line for line in data.split(b"\n") if line]
    if not lines:
        return b""
    return b"\n".join(lines) + (b"\n" if data.endswith(b"\n") else b"")
