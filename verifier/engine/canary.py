"""A program with a known answer: what a backend has to show before it is trusted again."""

from __future__ import annotations

import asyncio

from verifier.errors import SlotError
from verifier.sandbox.base import CompileJob, RunJob, Slot
from verifier.types import Harness, Limits

SOURCE = b"import sys\nsys.stdout.write(sys.stdin.read())\n"
SAID = b"is anybody there?\n"
LIMITS = Limits(cpu_time_s=5.0, wall_time_s=20.0, memory_bytes=128 * 1024 * 1024)
# All of it, opening the slot left out.
TIMEOUT_S = 30.0


async def sing(slot: Slot) -> None:
    """Compile and run it.

    Raises:
        SlotError: The slot failed, is silent, or its answer is wrong.
    """
    try:
        facts = await asyncio.wait_for(_run(slot), TIMEOUT_S)
    except asyncio.TimeoutError:
        raise SlotError(f"{slot.name}: no answer within {TIMEOUT_S:g} s") from None
    if facts != SAID:
        raise SlotError(f"{slot.name}: a program that repeats its input said {facts[:40]!r}")


async def _run(slot: Slot) -> bytes:
    compiled = await slot.compile(CompileJob(Harness.PYTHON, {"main.py": SOURCE}, (), (), LIMITS))
    job = RunJob(Harness.PYTHON, compiled.artifact, (), [SAID], LIMITS)
    (facts,) = [f async for f in slot.run(job)]
    return facts.stdout
