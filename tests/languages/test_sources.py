"""Odd sources for real, in the embedded sandbox, and languages that it cannot run."""

from __future__ import annotations

import pytest
import pytest_asyncio

from verifier.engine import Engine
from verifier.errors import BackendError
from verifier.languages import RECIPES
from verifier.languages.base import SELF_TEST_STDIN, SELF_TEST_STDOUT
from verifier.types import Program, RunTask, Status

pytestmark = [pytest.mark.namespaces, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(namespaces):
    made = Engine(namespaces(), slots=1)
    await made.start()
    yield made
    await made.close()


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


async def test_node_waits_for_its_reader(engine):
    if "javascript" not in engine.info().toolchains:
        pytest.skip(f"no toolchain: {RECIPES['javascript'].remedy}")
    source = (
        b"for (let i = 0; i < 2000; i++) console.log('x'.repeat(999));"
        b" require('fs').writeSync(1, 'y'.repeat(300000)); process.exit(0);"
    )
    outcome = await engine.run(RunTask(Program("javascript", source)))
    assert (outcome.status, outcome.facts.stdout_bytes) == (Status.ACCEPTED, 2_300_000), outcome


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
