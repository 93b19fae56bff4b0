"""Every recipe for real, in the embedded sandbox under verl's default of 1,024 MB.

A language whose toolchain this host lacks is a skip, and so are those that take long to compile;
with `VERIFIER_REQUIRE_LANGUAGES=1` (`scripts/test --all-languages`) all run, and an absent
toolchain is a failure.
"""

from __future__ import annotations

import os

import pytest
import pytest_asyncio

from tests.languages.programs import PROGRAMS
from verifier.engine import Engine
from verifier.errors import BackendError
from verifier.languages import RECIPES
from verifier.languages.base import SELF_TEST_STDIN, SELF_TEST_STDOUT
from verifier.testcases import load_suite
from verifier.types import Limits, Program, RunTask, ScoreTask, Status

ALL = os.environ.get("VERIFIER_REQUIRE_LANGUAGES") == "1"
SLOW = ("kotlin", "scala", "racket", "haskell", "d")
SUM = load_suite({"inputs": [SELF_TEST_STDIN.decode()], "outputs": [SELF_TEST_STDOUT.decode()]})

pytestmark = [pytest.mark.namespaces, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(namespaces):
    made = Engine(namespaces(), slots=1, default_limits=Limits(memory_bytes=1024 * 1024 * 1024))
    await made.start()
    yield made
    await made.close()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", [n for n, r in RECIPES.items() if not r.unpackaged])
async def test_a_language(engine, name):
    recipe = RECIPES[name]
    if name not in engine.info().toolchains:
        assert not ALL, f"no toolchain: {recipe.remedy}"
        pytest.skip(f"no toolchain: {recipe.remedy}")
    if name in SLOW and not ALL:
        pytest.skip("slow to compile: scripts/test --all-languages")
    programs = PROGRAMS[recipe.written_as or name]

    async def verdict(source):
        response = f"```{name}\n{source}\n```"
        result = await engine.score(ScoreTask(response, SUM, language=name))
        return result.status, result

    right, result = await verdict(recipe.self_test)
    assert right is Status.ACCEPTED, result
    if recipe.written_as and not ALL:
        return  # the flags are the only difference
    assert (await verdict(programs.wrong))[0] is Status.WRONG_ANSWER
    if programs.broken:
        broken, result = await verdict(programs.broken)
        assert broken is Status.COMPILE_ERROR, result
        assert result.cases[0].message
    outcome = await engine.run(RunTask(Program(name, programs.exits.encode())))
    assert outcome.status is Status.RUNTIME_ERROR, outcome
    assert outcome.facts.exit_code == 3


JAVA_MAIN = "{ public static void main(String[] a) { System.out.println(5); } }"
SOURCES = [
    pytest.param("bash", b"\xef\xbb\xbfread a b\r\necho $((a + b))\r\n", id="bom-and-crlf"),
    pytest.param("java", b"\xef\xbb\xbfclass A " + JAVA_MAIN.encode(), id="java-bom"),
    pytest.param("java", f"class A {JAVA_MAIN}\nclass B {{}}\nclass C {{}}".encode(), id="three"),
    pytest.param(
        "java", f"package a.b;\npublic class A {JAVA_MAIN}\nclass Main {{}}".encode(), id="package"
    ),
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "source"), SOURCES)
async def test_odd_sources_run(engine, name, source):
    if name not in engine.info().toolchains:
        pytest.skip(f"no toolchain: {RECIPES[name].remedy}")
    outcome = await engine.run(RunTask(Program(name, source), stdin=SELF_TEST_STDIN))
    assert (outcome.status, outcome.facts.stdout) == (Status.ACCEPTED, SELF_TEST_STDOUT), outcome


@pytest.mark.parametrize("name", ["python", "bash", "cpp"])
async def test_a_nul_is_a_compile_error(engine, name):
    if name not in engine.info().toolchains:
        pytest.skip(f"no toolchain: {RECIPES[name].remedy}")
    outcome = await engine.run(RunTask(Program(name, b"x\n\0")))
    assert outcome.status is Status.COMPILE_ERROR
    assert "line 2: the source holds a NUL byte" in outcome.message


async def test_an_absent_toolchain_is_the_machinerys_fault(engine):
    absent = next(n for n in ("lean", "swift", "julia") if n not in engine.info().toolchains)
    with pytest.raises(BackendError, match="not in Debian: build an image FROM"):
        await engine.run(RunTask(Program(absent, b"x")))


async def test_a_full_heap_is_the_memory_limit(engine):
    if "java" not in engine.info().toolchains:
        pytest.skip("no toolchain: java")
    source = (
        b"import java.util.*; class A { public static void main(String[] a) {"
        b" List<int[]> kept = new ArrayList<>(); while (true) kept.add(new int[1 << 22]); } }"
    )
    outcome = await engine.run(RunTask(Program("java", source)))
    assert outcome.status is Status.MEMORY_LIMIT
    assert outcome.facts.exit_code == 1
