"""The compile cache."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from verifier._disk_cache import DiskCache
from verifier.config import load_settings
from verifier.engine import engine_of
from verifier.engine.artifacts import ENTRY_BYTES, ArtifactCache, artifact_key
from verifier.errors import SlotError
from verifier.languages import RECIPES
from verifier.languages.unit_tests import BUILD_FAULT
from verifier.testcases import load_suite
from verifier.testing import FakeSandbox
from verifier.types import (
    CompileFacts,
    Killer,
    Outcome,
    Program,
    RunFacts,
    ScoreTask,
    Status,
)

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


# ---------------------------------------------------------------- the disk


@pytest.fixture
def stores(tmp_path):
    """Caches over one folder, as of processes that follow one another."""
    made = []

    def make(scope: str = "", budget_bytes: int = 10_000_000) -> ArtifactCache:
        cache = ArtifactCache(disk=DiskCache(tmp_path / "cache" / "programs", budget_bytes))
        cache.scope = scope
        made.append(cache)
        return cache

    make.folder = tmp_path / "cache" / "programs"
    return make


async def kept(stores, answer, **options):
    cache = stores(**options)
    await cache.get("k", Compiler(answer), lasting=True)
    await cache.close()


@pytest.mark.parametrize(
    "answer",
    [
        good(b"\0binary\xff" * 1000),
        CompileFacts(ok=False, facts=RunFacts(exit_code=1), message="error: x \udc80"),
    ],
)
async def test_the_next_process_does_not_compile(stores, answer):
    await kept(stores, answer)
    cache, compiler = stores(), Compiler()
    for _ in range(2):
        found = await cache.get("k", compiler, lasting=True)
        assert (found.ok, found.artifact, found.message) == (
            answer.ok,
            answer.artifact,
            answer.message,
        )
        assert found.cached
    assert (compiler.calls, cache.hits, cache.misses) == (0, 2, 0)
    await cache.close()


async def test_what_is_cheap_to_make_is_not_on_disk(stores):
    cache = stores()
    await cache.get("k", Compiler(good()))
    await cache.close()
    assert list(stores.folder.iterdir()) == []


async def test_a_killed_compiler_is_not_on_disk(stores):
    await kept(stores, CompileFacts(ok=False, facts=RunFacts(signal=9, killer=Killer.CPU)))
    assert list(stores.folder.iterdir()) == []


async def test_another_sandbox_compiles_for_itself(stores):
    await kept(stores, good(b"linked here"), scope="namespaces")
    cache, compiler = stores(scope="docker image"), Compiler(good(b"linked there"))
    assert (await cache.get("k", compiler, lasting=True)).artifact == b"linked there"
    await cache.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xff\xff\xff",
        b"\0\0\0\2{}",
        b"\0\0\0\4null",
        b"\0\0\0\x02[]artifact",
    ],
)
async def test_an_entry_that_says_nothing_is_compiled_anew(stores, content):
    cache, compiler = stores(), Compiler(good(b"new"))
    name = cache._on_disk("k")
    cache._disk.put(name, content)
    assert (await cache.get("k", compiler, lasting=True)).artifact == b"new"
    await cache.close()
    assert bytes(DiskCache(stores.folder, 10**7).get(name)).endswith(b"new")


async def test_a_disk_that_refuses_is_no_fault(tmp_path):
    (tmp_path / "cache").write_bytes(b"a file")
    cache = ArtifactCache(disk=DiskCache(tmp_path / "cache" / "programs", 10**7))
    compiler = Compiler(good(b"x"))
    for _ in range(2):
        assert (await cache.get("k", compiler, lasting=True)).artifact == b"x"
    assert compiler.calls == 1
    assert "memory only" in cache.problem
    await cache.close()


async def test_an_engine_that_was_started_anew_compiles_nothing(tmp_path):
    suite = load_suite({"inputs": ["1"], "outputs": ["1"]})
    task = ScoreTask("```cpp\nint main() {}\n```", suite)
    flags = {"cache_dir": str(tmp_path / "cache"), "slots": 1}
    compiles = []
    for _ in range(2):
        sandbox = FakeSandbox(toolchains={"cpp": "g++ 12"})
        engine = engine_of(load_settings(None, flags, env={}).settings, sandbox)
        await engine.start()
        result = await engine.score(task)
        assert (result.score, result.cached) == (1.0, False)
        compiles.append((len(sandbox.compiles), result.compile.cached))
        await engine.close()
    assert compiles == [(1, False), (0, True)]
    other = FakeSandbox(toolchains={"cpp": "g++ 13"})
    engine = engine_of(load_settings(None, flags, env={}).settings, other)
    await engine.start()
    await engine.score(task)
    assert len(other.compiles) == 1
    await engine.close()


async def test_a_build_that_failed_by_itself_is_no_verdict_and_not_kept():
    files = {"a_test.go": "package a\nfunc TestA(t *testing.T) {}"}
    suite = load_suite({"unit_tests": {"framework": "go_test", "files": files}})
    codes = iter([BUILD_FAULT, 1])

    def compile_script(job):
        return CompileFacts(ok=False, facts=RunFacts(exit_code=next(codes)), artifact=b"")

    sandbox = FakeSandbox(toolchains={"go_test": "1", "go": "1"}, compile_script=compile_script)
    engine = engine_of(load_settings(None, {"slots": 1}, env={}).settings, sandbox)
    await engine.start()
    results = [await engine.score(ScoreTask("```go\npackage a\n```", suite)) for _ in range(2)]
    assert [result.outcome for result in results] == [Outcome.INFRA_ERROR, Outcome.SCORED]
    assert "unit tests could not be built" in results[0].error
    assert results[1].status is Status.COMPILE_ERROR
    await engine.close()
