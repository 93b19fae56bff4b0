"""The compile cache."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from verifier.engine.artifacts import ENTRY_BYTES, ArtifactCache, artifact_key
from verifier.errors import SlotError
from verifier.languages import RECIPES
from verifier.types import CompileFacts, Killer, Program, RunFacts

CPP = RECIPES["cpp"]


def good(artifact=b"x"):
    return CompileFacts(ok=True, facts=RunFacts(exit_code=0), artifact=artifact)


class Compiler:
    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self):
        self.calls += 1
        await self.gate.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_second_time_is_a_hit():
    cache, compiler = ArtifactCache(), Compiler(good())
    first = await cache.get("k", compiler)
    second = await cache.get("k", compiler)
    assert (first.cached, second.cached, compiler.calls) == (False, True, 1)


async def test_equal_programs_in_flight_compile_once():
    cache, compiler = ArtifactCache(), Compiler(good())
    compiler.gate.clear()
    both = [asyncio.create_task(cache.get("k", compiler)) for _ in range(5)]
    while not compiler.calls:
        await asyncio.sleep(0)
    compiler.gate.set()
    answers = await asyncio.gather(*both)
    assert compiler.calls == 1
    assert sum(a.cached for a in answers) == 4


async def test_a_fault_of_one_is_not_the_answer_of_another():
    cache, compiler = ArtifactCache(), Compiler(SlotError("died"), good())
    compiler.gate.clear()
    first = asyncio.create_task(cache.get("k", compiler))
    while not compiler.calls:
        await asyncio.sleep(0)
    second = asyncio.create_task(cache.get("k", compiler))
    await asyncio.sleep(0)
    compiler.gate.set()
    with pytest.raises(SlotError):
        await first
    assert (await second).ok


async def test_a_cancelled_compile_does_not_cancel_the_others():
    cache, compiler = ArtifactCache(), Compiler(good(), good())
    compiler.gate.clear()
    first = asyncio.create_task(cache.get("k", compiler))
    while not compiler.calls:
        await asyncio.sleep(0)
    second = asyncio.create_task(cache.get("k", compiler))
    await asyncio.sleep(0)
    first.cancel()
    compiler.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await second).ok


async def test_errors_are_kept_and_killed_compilers_are_not():
    bad = CompileFacts(ok=False, facts=RunFacts(exit_code=1))
    killed = CompileFacts(ok=False, facts=RunFacts(signal=9, killer=Killer.CPU))
    starved = CompileFacts(ok=False, facts=RunFacts(exit_code=1, oom_kills=1))
    cache, compiler = ArtifactCache(), Compiler(bad, killed, killed, starved, starved)
    await cache.get("bad", compiler)
    assert (await cache.get("bad", compiler)).cached
    await cache.get("killed", compiler)
    await cache.get("killed", compiler)
    await cache.get("starved", compiler)
    await cache.get("starved", compiler)
    assert compiler.calls == 5


async def test_the_budget_holds_and_the_oldest_goes():
    cache = ArtifactCache(budget_bytes=3 * (ENTRY_BYTES + 1000))
    for name in "abcd":
        await cache.get(name, Compiler(good(bytes(1000))))
    assert cache.peek("a") is None
    assert cache.peek("d") is not None
    assert cache.size_bytes <= 3 * (ENTRY_BYTES + 1000)
    await cache.get("huge", Compiler(good(bytes(100_000))))
    assert cache.peek("huge") is None
    assert cache.peek("d") is not None


def test_the_key_has_all_that_makes_the_artifact():
    program = Program("cpp", b"int main(){}")
    keys = {
        artifact_key(program, CPP, "g++ 12"),
        artifact_key(program, CPP, "g++ 13"),
        artifact_key(
            program, dataclasses.replace(CPP, compile_argv=(*CPP.compile_argv, "-O3")), "g++ 12"
        ),
        artifact_key(program, dataclasses.replace(CPP, outputs=("other",)), "g++ 12"),
        artifact_key(program, dataclasses.replace(CPP, env=(("A", "b"),)), "g++ 12"),
        artifact_key(Program("cpp", b"int main(){} "), CPP, "g++ 12"),
        artifact_key(Program("c", b"int main(){}"), CPP, "g++ 12"),
    }
    assert len(keys) == 7
