"""A short Python program is compiled by its first run."""

from __future__ import annotations

import pytest

from verifier.engine import Engine
from verifier.sandbox.base import RunJob
from verifier.sandbox.sources import MAX_SOURCE_BYTES, artifact_of
from verifier.testcases import load_suite
from verifier.types import Harness, Killer, LimitOverrides, Limits, ScoreTask, Status

LIMITS = Limits(cpu_time_s=5.0, wall_time_s=30.0)


def echo(n):
    return load_suite(
        {"inputs": [f"{i}\n" for i in range(n)], "outputs": [f"{i}\n" for i in range(n)]}
    )


@pytest.fixture
async def engine(sandbox_of):
    made = Engine(sandbox_of(), slots=2)
    await made.start()
    yield made
    await made.close()


@pytest.fixture
async def slot(sandbox_of):
    sandbox = sandbox_of()
    await sandbox.start()
    yield await sandbox.open_slot()
    await sandbox.close()


async def run(slot, source, inputs=(b"1", b"2", b"3"), limits=LIMITS):
    job = RunJob(Harness.PYTHON, artifact_of(source), (), list(inputs), limits)
    return [facts async for facts in slot.run(job)]


async def test_all_runs_give_the_same(slot):
    found = await run(slot, b"print(input())")
    assert [f.stdout for f in found] == [b"1\n", b"2\n", b"3\n"]
    assert not any(f.uncompiled or f.returned for f in found)
    again = await run(slot, b"print(input())")
    assert [f.stdout for f in again] == [b"1\n", b"2\n", b"3\n"]


async def test_what_is_no_program_runs_once_and_says_so(slot):
    (only,) = await run(slot, b"print('before')\nprint((")
    assert only.uncompiled
    assert only.stdout == b""
    assert b"SyntaxError" in only.stderr
    assert slot.healthy
    assert [f.stdout for f in await run(slot, b"print(1)")] == [b"1\n"] * 3


async def test_a_program_finds_no_trace_of_it(slot):
    source = b"""
import os, sys, warnings
sys.stdin.read()
print(sorted(map(int, os.listdir("/proc/self/fd")))[:3], len(os.listdir("/proc/self/fd")))
print(warnings.filters == sys.modules["warnings"].filters, "\\d" == chr(92) + "d")
try:
    os.write(3, b"x" * 100)
except OSError as e:
    print(e.errno)
"""
    first, *others = await run(slot, source)
    assert first.stdout == b"[0, 1, 2] 4\nTrue True\n9\n"
    assert (first.stderr, first.returned) == (b"", None)
    assert {f.stdout for f in others} == {first.stdout}


async def test_killed_before_it_was_compiled(slot):
    # To compile this takes more than this run may have.
    source = b"print(1)\n" + b"x = [%s]\n" % b",\n".join(b"a%d" % i for i in range(4000))
    tiny = Limits(cpu_time_s=0.001, wall_time_s=20.0)
    found = await run(slot, source, limits=tiny)
    assert [f.killer for f in found] == [Killer.CPU] * 3
    assert not any(f.uncompiled for f in found)
    found = await run(slot, source)
    assert all(b"NameError" in f.stderr and f.stdout == b"1\n" for f in found)


async def test_compile_error_is_the_verdict_of_every_case(engine):
    result = await engine.score(ScoreTask("```python\nprint((\n```", echo(7)))
    assert [c.status for c in result.cases] == [Status.COMPILE_ERROR] * 7
    assert result.compile is not None
    assert not result.compile.ok
    assert "SyntaxError" in result.compile.message
    assert result.score == 0.0


@pytest.mark.parametrize("size", [MAX_SOURCE_BYTES - 1000, MAX_SOURCE_BYTES + 1000])
async def test_long_and_short_ones_agree(engine, size):
    for source, status in (
        ("print(input())", Status.ACCEPTED),
        ("print(input()", Status.COMPILE_ERROR),
        ("1 / 0", Status.RUNTIME_ERROR),
        ("while True: pass", Status.TIME_LIMIT),
    ):
        text = f"```python\n# {'x' * size}\n{source}\n```"
        limits = LimitOverrides(cpu_time_s=0.3, wall_time_s=20.0)
        result = await engine.score(ScoreTask(text, echo(3), limits=limits))
        assert [c.status for c in result.cases] == [status] * 3
