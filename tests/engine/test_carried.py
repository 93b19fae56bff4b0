"""Files that go into a run and come out of it, and what a program may write in their place."""

from __future__ import annotations

import json

import pytest

from verifier.engine import Engine, carried
from verifier.errors import RequestError
from verifier.testing import FakeSandbox
from verifier.types import Harness, Program, RunFacts, RunTask


def handed(table, data=b""):
    return RunFacts(exit_code=0, returned=json.dumps(table).encode() + b"\n" + data)


def test_what_was_handed_back():
    facts = handed([["a", 2], ["b/c", 0], ["d", 1]], b"xyz")
    assert carried.fetched(facts, ["a", "b/c", "d", "e"]) == (
        ("a", b"xy"),
        ("b/c", b""),
        ("d", b"z"),
    )


@pytest.mark.parametrize(
    "facts",
    [
        RunFacts(exit_code=0),
        RunFacts(exit_code=0, returned=b""),
        RunFacts(exit_code=0, returned=b"nonsense\nxyz"),
        RunFacts(exit_code=0, returned=b"[" * 100_000 + b"\n"),
        handed([["b", 1]], b"x"),
        handed([["a", 5]], b"x"),
        handed([["a", -1]], b"x"),
        handed([["a"]], b"x"),
        handed([["a", "1"]], b"x"),
        handed([[["a"], 1]], b"x"),
        handed(5),
        handed({"a": 1}),
    ],
)
def test_nonsense_is_no_files(facts):
    assert carried.fetched(facts, ["a"]) == ()


@pytest.mark.parametrize("name", ["", "/a", "../a", "a/../b", "a//b", "a/", "./a", "a\0", "\udc80"])
def test_names_that_are_refused(name):
    for laid in (True, False):
        with pytest.raises(RequestError, match=r"^files: "):
            carried.check_names("files", [name], laid=laid)


def test_names_that_collide_are_refused_where_they_are_laid():
    with pytest.raises(RequestError, match="folder of another"):
        carried.check_names("files", ["a", "a/b"], laid=True)
    carried.check_names("fetch", ["a", "a/b"], laid=False)
    carried.check_names("files", ["a/b/c.txt", "a/b/d", "é"], laid=True)


async def test_the_engine_runs_it_by_a_launcher_and_compiles_once_per_set_of_headers():
    def runs(job, data):
        return handed([["out", 1]], b"x") if job.channel else RunFacts(exit_code=0, stdout=data)

    sandbox = FakeSandbox(runs)
    engine = Engine(sandbox, slots=1)
    await engine.start()
    try:
        program = Program("cpp", b"int main() {}")
        plain = await engine.run(RunTask(program, stdin=b"in"))
        assert (plain.facts.stdout, plain.files) == (b"in", ())
        for header in (b"1", b"1", b"2"):
            task = RunTask(program, files=(("h.h", header), ("d/x", b"")), fetch=("out",))
            assert (await engine.run(task)).files == (("out", b"x"),)
        # A Python program has no compiler that looks at them.
        for content in (b"1", b"2"):
            await engine.run(RunTask(Program("python", b""), files=(("h.py", content),)))
        with pytest.raises(RequestError, match="files"):
            await engine.run(RunTask(argv=("ls",), fetch=("a",)))
    finally:
        await engine.close()
    assert [sorted(job.files) for job in sandbox.compiles] == [
        ["main.cpp"],
        ["h.h", "main.cpp"],
        ["h.h", "main.cpp"],
        ["main.py"],
    ]
    job, _ = sandbox.runs[1]
    assert (job.harness, job.channel) == (Harness.EXEC, True)
    head, _, blobs = job.extra[0][0].partition(b"\n")
    assert json.loads(head)["files"] == [["h.h", 1], ["d/x", 0]]
    assert blobs == b"1"
