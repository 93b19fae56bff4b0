"""Suites that call a function, in the languages that the warm interpreter does not run.

The recipe's driver (`verifier.languages.calls`) is compiled with the program. A run has an empty
standard input, as Python's has, the arguments on descriptor 4, and the value channel.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

from verifier import _json
from verifier.errors import BackendError
from verifier.languages import RECIPES, CalledProgram, Recipe
from verifier.sandbox.base import RunJob
from verifier.types import Harness, Program, Suite, SuiteKind

# Above this, a driver is put around a program in a thread.
COMPLETE_INLINE_BYTES = 64 * 1024


def serves(kind: SuiteKind, recipe: Recipe) -> bool:
    """Whether programs of this language can be tested by such a suite, in any sandbox."""
    if kind in (SuiteKind.STDIN, SuiteKind.UNIT_TEST) or recipe.run_harness is not Harness.EXEC:
        return True
    return kind is SuiteKind.CALL and recipe.calls is not None


def by_driver(kind: SuiteKind, recipe: Recipe) -> bool:
    """Whether a suite of this kind needs a driver with a program of this language.

    Raises:
        BackendError: It does, and there is none.
    """
    if kind is SuiteKind.STDIN or recipe.run_harness is not Harness.EXEC:
        return False
    if serves(kind, recipe):
        return True
    known = ", ".join(r.name for r in RECIPES.values() if serves(kind, r))
    raise BackendError(
        f"{kind.value} suites are not implemented for {recipe.name}; they are for {known}"
    )


async def completed(program: Program, recipe: Recipe, suite: Suite) -> CalledProgram:
    """The program with its driver."""
    arguments: object = None
    with contextlib.suppress(ValueError):  # then no call succeeds, and each says why
        arguments = _json.loads(min((case.stdin for case in suite.cases), key=len))
    # It tells overloads apart: the cases of a suite differ in it where there are defaults alone.
    arity = len(arguments) if isinstance(arguments, list) else 0

    def work() -> CalledProgram:
        return recipe.called(program.source, suite.fn_name or "", arity)

    if len(program.source) > COMPLETE_INLINE_BYTES:
        return await asyncio.to_thread(work)
    return work()


def call_job(job: RunJob) -> RunJob:
    """A job whose inputs are standard inputs, with arguments in their place."""
    return dataclasses.replace(
        job,
        inputs=[b""] * len(job.inputs),
        extra=[(arguments, b"") for arguments in job.inputs],
        channel=True,
    )
