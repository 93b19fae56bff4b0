"""The precompiled C++ header: used, sound, and without any effect but time."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from verifier.engine import Engine
from verifier.languages import RECIPES
from verifier.sandbox.base import CompileJob
from verifier.sandbox.namespaces.headers import HEADER, Headers
from verifier.types import Program, RunTask, Status

CPP = RECIPES["cpp"]
INCLUDE = "#include <bits/stdc++.h>\n"
MAIN = "using namespace std;\nint main() { int a; cin >> a; cout << a + 1 << endl; }\n"
# How it is included decides whether it is taken; each has to end in the same way either way.
PROGRAMS = {
    "first": INCLUDE + MAIN,
    "twice, in quotes": "// mine\n" + INCLUDE + '#include "bits/stdc++.h"\n' + MAIN,
    "behind a pragma": '#pragma GCC optimize("O3")\n' + INCLUDE + MAIN,
    "behind a macro that breaks it": "#define int long long\n" + INCLUDE + MAIN,
    "an error inside of the library": INCLUDE
    + "int main() { std::list<int> l; std::sort(l.begin(), l.end()); }\n",
}


@pytest.fixture(scope="module")
def cache_dir(namespaces, tmp_path_factory) -> Path:
    """A folder in which the header has been made as `serve` makes it."""
    folder = tmp_path_factory.mktemp("headers") / "cache"

    async def make() -> None:
        headers = Headers(folder)
        headers.check()
        await headers.make()
        assert headers.problem == ""
        assert headers.ready

    asyncio.run(make())
    return folder


@pytest.fixture
async def slot_with(namespaces):
    """Slots of sandboxes, by their cache folder."""
    sandboxes = []

    async def make(cache_dir: Path | None):
        folder = None if cache_dir is None else str(cache_dir)
        sandbox = namespaces(cache_dir=folder)
        sandboxes.append(sandbox)
        await sandbox.start()
        return await sandbox.open_slot()

    yield make
    for sandbox in sandboxes:
        await sandbox.close()


async def compiled(slot, source: str):
    job = CompileJob(
        CPP.run_harness, {"main.cpp": source.encode()}, CPP.compile_argv, CPP.outputs,
        CPP.compile_limits,
    )  # fmt: skip
    return await slot.compile(job)


async def test_every_program_compiles_to_the_same_bytes_and_messages(cache_dir, slot_with):
    with_header, without = await slot_with(cache_dir), await slot_with(None)
    for name, source in PROGRAMS.items():
        one, other = await compiled(with_header, source), await compiled(without, source)
        assert (name, one.ok, one.message) == (name, other.ok, other.message)
        assert one.artifact == other.artifact, name
    assert with_header.healthy


LOOK = (
    "cd /tmp && printf '#include <bits/stdc++.h>\\n' > a.cpp && g++ "
    + " ".join(CPP.compile_argv[1 : CPP.compile_argv.index("-o")])
    + " -H -c a.cpp 2>&1 | head -n 1"
)


async def test_the_compiler_takes_it(sandbox_of, backend, cache_dir):
    options = {"cache_dir": str(cache_dir)} if backend == "namespaces" else {}
    engine = Engine(sandbox_of(**options), slots=1)
    await engine.start()
    try:
        found = await engine.run(RunTask(argv=("/bin/sh", "-c", LOOK)))
    finally:
        await engine.close()
    # "!": a precompiled header that is valid and used; "x": one that is not.
    assert found.facts.stdout.startswith(b"! /"), found.facts.stdout
    assert b"stdc++.h.gch" in found.facts.stdout


async def test_nobody_inside_can_change_it(namespaces, cache_dir):
    engine = Engine(namespaces(cache_dir=str(cache_dir)), slots=1)
    await engine.start()
    source = (
        "import os\n"
        "for do in (lambda: open('/precompiled/bits/stdc++.h.gch', 'r+b'),\n"
        "           lambda: open('/precompiled/new', 'wb'),\n"
        "           lambda: os.unlink('/precompiled/bits/stdc++.h.gch'),\n"
        "           lambda: os.rename('/precompiled/bits', '/precompiled/x'),\n"
        "           lambda: os.chmod('/precompiled', 0o777)):\n"
        "    try: do(); print('done')\n"
        "    except OSError as e: print(e.errno in (1, 13, 30))\n"
    )
    try:
        found = await engine.run(RunTask(Program("python", source.encode())))
    finally:
        await engine.close()
    assert found.status is Status.ACCEPTED
    assert found.facts.stdout.split() == [b"True"] * 5


@pytest.fixture
def headers(tmp_path) -> Headers:
    """Sound ones, of a content that no compiler made."""
    made = Headers(tmp_path / "cache")
    made.check()
    if made.folder is None:
        pytest.skip("no g++ here")
    write(made, b"content")
    return made


def write(headers: Headers, content: bytes) -> None:
    import hashlib

    (headers.folder / HEADER).write_bytes(content)
    noted = headers.folder.with_name(headers.folder.name + ".sha256")
    noted.write_text(hashlib.sha256(content).hexdigest())


def again(headers: Headers) -> Headers:
    found = Headers(headers.folder.parent.parent)
    found.check()
    return found


def test_a_sound_one_stays(headers):
    assert again(headers).ready


@pytest.mark.parametrize("content", [b"", b"conten", b"contenT", b"content more"])
def test_an_unsound_one_is_removed(headers, content):
    (headers.folder / HEADER).write_bytes(content)
    assert not again(headers).ready
    assert not (headers.folder / HEADER).exists()


def test_one_that_nobody_vouches_for_is_removed(headers):
    headers.folder.with_name(headers.folder.name + ".sha256").unlink()
    assert not again(headers).ready


def test_those_of_earlier_compilers_go(headers):
    home = headers.folder.parent
    for number in range(6):
        (home / f"old{number}" / "bits").mkdir(parents=True)
        (home / f"old{number}.sha256").write_text("x")
        os.utime(home / f"old{number}.sha256", (number, number))
    assert again(headers).ready
    assert {p.name for p in home.iterdir() if p.is_dir()} == {
        "old3", "old4", "old5", headers.folder.name
    }  # fmt: skip


async def test_a_folder_that_others_may_write_is_refused_and_programs_compile(tmp_path, slot_with):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    headers = Headers(tmp_path / "cache")
    headers.check()
    assert "chmod go-w" in headers.problem
    slot = await slot_with(tmp_path / "cache")
    assert (await compiled(slot, "int main() {}\n")).ok


async def test_a_compiler_that_fails_is_said_and_is_no_fault(tmp_path, monkeypatch, caplog):
    headers = Headers(tmp_path / "cache")
    headers.check()
    if headers.folder is None:
        pytest.skip("no g++ here")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    await headers.make()
    assert "no precompiled C++ header" in headers.problem
    assert caplog.text.count("no precompiled C++ header") == 1


def test_what_a_killed_writer_left_goes(headers):
    home = headers.folder.parent
    for name, age in ((".tmp-1", 0), (".tmp-2", 10_000_000_000)):
        (home / name).write_bytes(b"half")
        os.utime(home / name, (age, age))
    again(headers)
    assert {p.name for p in home.glob(".tmp-*")} == {".tmp-2"}
