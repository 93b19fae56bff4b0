"""Assert-style tests, run where the program cannot reach them.

The program and the tests run in two jails, in a slot and its partner, joined by a socket (the
in-jail halves are `runner/agent/served.py` and `remote.py`). The expected values are in the tests'
source, so they are in the tests' process alone; the program's process sees calls with arguments.
Whether a test came to its end is a record on a channel that only the tests' process has.

The program's CPU, memory and time are its own slot's: what the tests use is not billed to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import socket
from collections.abc import AsyncGenerator, Awaitable

from verifier.engine.pool import SlotPool
from verifier.errors import SlotError
from verifier.sandbox.base import RunJob, Slot
from verifier.types import Harness, Killer, Limits, RunFacts, Suite


async def run_tests(
    pool: SlotPool, slot: Slot, artifact: bytes, suite: Suite, batch: range, limits: Limits
) -> AsyncGenerator[RunFacts, None]:
    """The merged facts of each test of a batch, in order.

    Raises:
        SlotError: One of the two slots failed.
        BackendError: The partner could not be opened.
    """
    partner = await pool.partner(slot)
    pairs = [socket.socketpair() for _ in batch]
    try:
        program = RunJob(
            Harness.PYTHON_SERVE,
            artifact,
            (),
            [suite.preamble.encode("utf-8", "surrogateescape")] * len(batch),
            limits,
            suite.fn_name or "",
            peers=tuple(ours for ours, _ in pairs),
        )
        tests = RunJob(
            Harness.PYTHON_TEST,
            b"",
            (),
            [_source(suite, index) for index in batch],
            dataclasses.replace(limits, processes=max(limits.processes, 16)),
            peers=tuple(theirs for _, theirs in pairs),
        )
        async with (
            contextlib.aclosing(slot.run(program)) as programs,  # type: ignore[type-var]
            contextlib.aclosing(partner.run(tests)) as answers,  # type: ignore[type-var]
        ):
            for _ in batch:
                yield merge(*await both(anext(programs), anext(answers)))
            for rest in (programs, answers):
                async for _ in rest:
                    raise SlotError("more answers than runs")
    finally:
        for pair in pairs:
            for end in pair:
                end.close()


async def both(one: Awaitable[RunFacts], other: Awaitable[RunFacts]) -> tuple[RunFacts, RunFacts]:
    """Wait for both at once; when one fails, the other is stopped before the failure goes on."""
    tasks = [asyncio.ensure_future(one), asyncio.ensure_future(other)]
    try:
        first, second = await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    return first, second


def _source(suite: Suite, index: int) -> bytes:
    case = suite.cases[index]
    given = {
        "preamble": suite.preamble,
        "test": case.test or "",
        "entry_point": suite.fn_name or "",
    }
    return json.dumps(given).encode()


def merge(program: RunFacts, test: RunFacts) -> RunFacts:
    """One run's facts out of two: the program's own, with the record of the tests.

    A limit that stopped the program counts; a limit that stopped the tests counts only when the
    program was not stopped by one itself (a program that never answers holds its tests up).
    """
    killer = program.killer if program.killer is not Killer.NONE else test.killer
    return dataclasses.replace(
        program,
        killer=killer,
        returned=test.returned,
        run_delay_s=max(program.run_delay_s, test.run_delay_s),
        wall_time_s=max(program.wall_time_s, test.wall_time_s),
        stderr=program.stderr or test.stderr,
    )
