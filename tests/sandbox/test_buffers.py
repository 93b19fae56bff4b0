"""What the runner holds for a run is not the program's memory: big inputs and big outputs."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest

from verifier.engine import Engine
from verifier.types import LimitOverrides, Limits, Program, RunTask, Status

MIB = 1024 * 1024
MAX = Limits(
    cpu_time_s=60.0, wall_time_s=121.0, memory_bytes=1024 * MIB, output_bytes=128 * MIB
)  # fmt: skip
LIMITS = LimitOverrides(
    cpu_time_s=20.0, wall_time_s=60.0, memory_bytes=64 * MIB, output_bytes=64 * MIB
)
WRITES = b"import sys\nfor _ in range(60): sys.stdout.buffer.write(b'x' * 1048576)\n"
READS = b"""import sys
count = 0
while part := sys.stdin.buffer.read(65536): count += len(part)
print(count)
"""
USES = b"used = bytearray(%d)\nprint(len(used))\n"


@contextlib.asynccontextmanager
async def engine_of(sandbox_of):
    engine = Engine(sandbox_of(), slots=1, max_limits=MAX)
    try:
        await engine.start()
        yield engine
    finally:
        await engine.close()


async def run(engine: Engine, source: bytes, stdin: bytes = b"", **changes):
    limits = dataclasses.replace(LIMITS, **changes)
    return await engine.run(RunTask(Program("python", source), stdin=stdin, limits=limits))


@pytest.mark.timeout(180)
async def test_an_output_as_big_as_the_memory_limit(sandbox_of):
    async with engine_of(sandbox_of) as engine:
        for _ in range(2):
            outcome = await run(engine, WRITES)
            assert (outcome.status, outcome.facts.stdout_bytes) == (Status.ACCEPTED, 60 * MIB)
        assert engine.faults == 0


@pytest.mark.timeout(180)
async def test_inputs_bigger_than_the_memory_limit(sandbox_of):
    async with engine_of(sandbox_of) as engine:
        for size in (60 * MIB, 200 * MIB, 1):
            outcome = await run(engine, READS, b"y" * size)
            assert (outcome.status, outcome.facts.stdout) == (Status.ACCEPTED, b"%d\n" % size)
        assert engine.faults == 0


@pytest.mark.timeout(180)
async def test_the_programs_own_limit_stays(sandbox_of):
    """Just under is served, over is MEMORY_LIMIT, before and after a big input."""
    async with engine_of(sandbox_of) as engine:
        if any(g.name.value == "memory_limit" and not g.holds for g in engine.info().guarantees):
            pytest.skip("no memory limit over the whole tree here")
        for stdin in (b"", b"y" * (8 * MIB), b""):
            under = await run(engine, USES % (44 * MIB), stdin, output_bytes=MIB)
            assert under.status is Status.ACCEPTED
            over = await run(engine, USES % (120 * MIB), stdin, output_bytes=MIB)
            assert over.status is Status.MEMORY_LIMIT
        assert engine.faults == 0
