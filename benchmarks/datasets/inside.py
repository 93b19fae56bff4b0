"""Runs inside the sandbox: an entry's generator makes inputs, its reference answers them.

Read as text by `codeio` and sent there. Takes a job as JSON on standard input and prints one JSON
object: the cases as texts (one JSON value a line, each an argument; the output as JSON), or why
there are none. What the entry's code prints is thrown away. An entry can print a lie here: it is
only ever read as data, and a lie about the reference fails when the reference is scored.

Each case calls a reference that was loaded anew, in an empty folder, with arguments that went
through JSON, as a scored program is called.
"""

# Whatever an entry raises is about the entry, and to run it is the job.
# ruff: noqa: BLE001, PTH102, PTH109, S102, S112

from __future__ import annotations

import datetime  # noqa: ICN001 - programs look it up by this name
import inspect
import io
import json
import os
import random
import sys
import time
import types
from collections.abc import Callable
from typing import Any

# To another month and another day of the week.
SHIFT = datetime.timedelta(days=38, hours=5, minutes=7, seconds=11)
MAX_TEXT = 200_000


class NoCaseError(Exception):
    """The entry has no cases; says why."""


def another_day() -> None:
    """Let the clock that a program asks show another day."""
    real = time.time

    class Date(datetime.date):
        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(time.time())

    class DateTime(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

        @classmethod
        def utcnow(cls) -> Any:
            return cls.now(datetime.timezone.utc).replace(tzinfo=None)

    time.time = lambda: real() + SHIFT.total_seconds()
    vars(datetime).update(date=Date, datetime=DateTime)


def loaded(source: str, **names: object) -> dict[str, Any]:
    """The names of a program, in a module of its own."""
    module = types.ModuleType("program")
    sys.modules["program"] = module
    module.__dict__.update(names)
    exec(compile(source, "<program>", "exec"), module.__dict__)
    return module.__dict__


def positional(function: Callable[..., object], given: dict[str, object]) -> list[object]:
    """The arguments as a call by position passes them."""
    bound = inspect.signature(function).bind(**given)
    bound.apply_defaults()
    if bound.kwargs:
        raise NoCaseError("arguments cannot go by position")
    return list(bound.args)


def plain(value: object) -> str:
    """As JSON."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise NoCaseError("values are not JSON") from None
    if len(text) > MAX_TEXT:
        raise NoCaseError("values are too large")
    return text


def cases(job: dict[str, Any]) -> list[list[str]]:
    """Input and output of each case, with no input twice."""
    try:
        reference = loaded(job["reference"])
    except BaseException:
        raise NoCaseError("the reference does not load") from None
    if not callable(reference.get("main_solution")):
        raise NoCaseError("there is no main_solution")
    try:
        # As in the package: the generator sees the reference's names, and `Random`.
        names = loaded(job["generator"], **{**reference, "Random": random.Random})
        generate = names.get("generate_inputs") or names["generate_input"]
    except BaseException:
        raise NoCaseError("the generator does not load") from None
    rng = random.Random(job["seed"])  # noqa: S311 - the same in both runs
    seen, found, home = set(), [], os.getcwd()
    for _ in range(2 * job["cases"]):
        try:
            given = generate(rng)
        except BaseException:
            raise NoCaseError("the generator raises") from None
        try:
            arguments = positional(reference["main_solution"], given)
        except TypeError:
            raise NoCaseError(
                "the generator gives other arguments than the reference takes"
            ) from None
        text = "\n".join(map(plain, arguments))
        if text in seen:
            continue
        seen.add(text)
        fresh = [json.loads(line) for line in text.split("\n")] if arguments else []
        random.seed(job["random"])
        # What a generator left in files is no input.
        os.mkdir(f"case-{len(seen)}")
        os.chdir(f"case-{len(seen)}")
        try:
            output = loaded(job["reference"])["main_solution"](*fresh)
        except BaseException:
            continue
        finally:
            os.chdir(home)
        found.append([text, plain(output)])
        if len(found) == job["cases"]:
            break
    if not found:
        raise NoCaseError("the reference raises on every input")
    return found


def main() -> None:
    """Answer one job."""
    job = json.load(sys.stdin)
    sys.stdin = io.StringIO()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if job["another_day"]:
        another_day()
    random.seed(job["random"])
    try:
        answer: dict[str, object] = {"cases": cases(job)}
    except NoCaseError as error:
        answer = {"reason": str(error)}
    json.dump(answer, answers)
    answers.flush()
    os._exit(0)


main()
