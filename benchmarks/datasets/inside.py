"""Runs inside the sandbox: an entry's generator makes inputs, its reference answers them, or both.

Read as text by `codeio` and sent there. Takes a job as JSON on standard input and prints one JSON
object: inputs as texts (one JSON value a line, each an argument) and outputs as JSON, null where
the reference raised; or why there are none. What the entry's code prints is thrown away. An entry
can print a lie here: it is only ever read as data, and a lie about the reference fails when the
reference is scored.

Each input goes to a reference that was loaded anew, with arguments that went through JSON, as a
scored program is called.
"""

# Whatever an entry raises is about the entry, and to run it is the job.
# ruff: noqa: BLE001, S102

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


def generated(job: dict[str, Any], reference: dict[str, Any]) -> list[str]:
    """Inputs, none of them twice."""
    try:
        # As in the package: the generator sees the reference's names, and `Random`.
        names = loaded(job["generator"], **{**reference, "Random": random.Random})
        generate = names.get("generate_inputs") or names["generate_input"]
    except BaseException:
        raise NoCaseError("the generator does not load") from None
    rng = random.Random(job["seed"])  # noqa: S311 - the same in all runs
    found: dict[str, None] = {}
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
        found.setdefault("\n".join(map(plain, arguments)))
        if len(found) == job["cases"]:
            break
    return list(found)


def answered(job: dict[str, Any], text: str) -> str | None:
    """What the reference returns."""
    arguments = [json.loads(line) for line in text.split("\n")] if text else []
    random.seed(job["random"])
    try:
        output = loaded(job["reference"])["main_solution"](*arguments)
    except BaseException:
        return None
    return plain(output)


def work(job: dict[str, Any]) -> dict[str, object]:
    """What the job asks for: inputs that are not given are generated."""
    try:
        reference = loaded(job["reference"])
    except BaseException:
        raise NoCaseError("the reference does not load") from None
    if not callable(reference.get("main_solution")):
        raise NoCaseError("there is no main_solution")
    inputs = job["inputs"] if job["inputs"] is not None else generated(job, reference)
    return {"inputs": inputs, "outputs": [answered(job, x) for x in inputs if job["answer"]]}


def main() -> None:
    """Do one job."""
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
        answer = work(job)
    except NoCaseError as error:
        answer = {"reason": str(error)}
    json.dump(answer, answers)
    answers.flush()
    os._exit(0)


main()
