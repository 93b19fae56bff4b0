"""Host side build of the jail's library and the runner's zipapp, and the wheel that ships them."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import stat
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from verifier.errors import BackendError
from verifier.runner import build

ROOT = Path(__file__).resolve().parent.parent

# Writes the file that -o names, and a line per call beside itself.
FAKE_COMPILER = """\
#!/bin/sh
echo call >>"$0.calls"
while [ "$1" != -o ]; do shift; done
echo library >"$2"
"""
BROKEN_COMPILER = "#!/bin/sh\necho 'stdio.h: no such file' >&2\nexit 1\n"


def put_program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache that may be trusted, and no shipped files."""
    base = tmp_path / "cache"
    base.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(base))
    monkeypatch.setattr(build, "SHIPPED", tmp_path / "absent")
    build._temporary_folder.cache_clear()
    yield base / "sandbox-verifier" / "runner"
    build._temporary_folder.cache_clear()


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """A PATH on which there is one fake compiler; its `calls` file has a line per call."""
    folder = tmp_path / "bin"
    path = put_program(folder, "cc", FAKE_COMPILER)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return path


def calls(compiler: Path) -> int:
    record = Path(f"{compiler}.calls")
    return len(record.read_text().splitlines()) if record.exists() else 0


# ---------------------------------------------------------------- the cache


def test_library_is_compiled_once(cache, compiler):
    first = build.jail_library()
    assert first.parent == cache
    assert first.read_text() == "library\n"
    assert build.jail_library() == first
    assert calls(compiler) == 1
    assert [path.name for path in cache.iterdir()] == [first.name]


def test_cache_is_private_and_its_files_are_readable(cache, compiler):
    library = build.jail_library()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE(library.stat().st_mode) == 0o644


def test_another_source_is_another_file(cache, compiler, tmp_path, monkeypatch):
    first = build.jail_library()
    source = tmp_path / "jail.c"
    source.write_bytes(build.SOURCE.read_bytes() + b"\n")
    monkeypatch.setattr(build, "SOURCE", source)
    assert build.jail_library() != first
    assert calls(compiler) == 2


def test_name_has_the_machine(monkeypatch):
    monkeypatch.setattr(build.platform, "machine", lambda: "riscv64")
    assert build.library_name().endswith("-riscv64.so")


def test_many_threads_agree(cache, compiler):
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: build.jail_library(), range(8)))
    assert len(found) == 1
    assert [path.name for path in cache.iterdir()] == [found.pop().name]


@pytest.mark.parametrize("spoil", ["writable", "symlink", "empty", "folder"])
def test_untrusted_file_is_not_loaded(cache, compiler, tmp_path, spoil):
    library = build.jail_library()
    evil = tmp_path / "evil.so"
    evil.write_text("evil\n")
    if spoil == "writable":
        library.write_text("evil\n")
        library.chmod(0o666)
    elif spoil == "symlink":
        library.unlink()
        library.symlink_to(evil)
    elif spoil == "empty":
        library.write_text("")
    else:
        library.unlink()
        library.mkdir()
    again = build.jail_library()
    assert again.read_text() == "library\n"
    assert not again.is_symlink()
    assert evil.read_text() == "evil\n"


def test_file_of_another_user_is_not_loaded(cache, compiler, monkeypatch):
    library = build.jail_library()
    monkeypatch.setattr(build.os, "geteuid", lambda: os.getuid() + 1)
    assert not build._trusted_file(library)
    assert not build._trusted_folder(library.parent)


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o701])
def test_open_cache_folder_is_not_used(cache, compiler, mode):
    cache.mkdir(parents=True)
    cache.chmod(mode)
    library = build.jail_library()
    assert cache not in library.parents
    assert list(cache.iterdir()) == []
    assert stat.S_IMODE(library.parent.stat().st_mode) == 0o700


def test_cache_below_a_folder_that_others_can_write_is_not_used(cache, compiler, tmp_path):
    parent = tmp_path / "cache"
    parent.chmod(0o777)
    assert cache not in build.jail_library().parents
    # Sticky, as /tmp: others cannot move ours away.
    parent.chmod(0o1777)
    assert cache in build.jail_library().parents


def test_unwritable_home_gets_a_temporary_folder(cache, compiler, tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    first = build.jail_library()
    assert first.read_text() == "library\n"
    assert build.jail_library() == first
    assert calls(compiler) == 1


def test_relative_cache_setting_is_ignored(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert build._cache_base() == tmp_path / ".cache"


def test_shipped_files_come_first(cache, compiler, tmp_path, monkeypatch):
    shipped = tmp_path / "built"
    shipped.mkdir()
    monkeypatch.setattr(build, "SHIPPED", shipped)
    for name in (build.library_name(), build.zipapp_name()):
        (shipped / name).write_text("shipped")
    assert build.jail_library().parent == shipped
    assert build.runner_zipapp().parent == shipped
    assert calls(compiler) == 0


# ---------------------------------------------------------------- compilers


def test_no_compiler_says_what_to_install(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(BackendError, match=r"pip install ziglang, or apt-get install gcc"):
        build.jail_library()
    assert list(cache.iterdir()) == []


def test_next_compiler_is_tried(cache, tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    put_program(folder, "cc", BROKEN_COMPILER)
    works = put_program(folder, "gcc", FAKE_COMPILER)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    assert build.jail_library().read_text() == "library\n"
    assert calls(works) == 1


def test_all_compilers_failing_shows_what_they_said(cache, tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    for name in build.COMPILERS:
        put_program(folder, name, BROKEN_COMPILER)
    monkeypatch.setenv("PATH", f"{folder}:/bin")
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(BackendError, match=r"(?s)stdio\.h: no such file.*pip install ziglang"):
        build.jail_library()
    assert list(cache.iterdir()) == []


def test_zig_targets_an_old_libc(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(build.platform, "machine", lambda: "x86_64")
    (command,) = build.compilers()
    assert command[1:] == ["-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.17"]


@pytest.mark.skipif(not build.compilers(), reason="no C compiler on this machine")
def test_real_library_loads(cache):
    library = ctypes.CDLL(str(build.jail_library()))
    assert library.jail_serve


# ---------------------------------------------------------------- the zipapp


def test_zipapp_is_deterministic(cache, tmp_path, monkeypatch):
    first = build.runner_zipapp()
    copy = tmp_path / "agent"
    copy.mkdir()
    # Another order of creation, other times, other modes.
    for path in sorted(build.AGENT.glob("*.py"), reverse=True):
        (copy / path.name).write_bytes(path.read_bytes())
        (copy / path.name).chmod(0o600)
        os.utime(copy / path.name, (1, 1))
    (copy / "__pycache__").mkdir()
    (copy / "__pycache__" / "x.pyc").write_bytes(b"stale")
    monkeypatch.setattr(build, "AGENT", copy)
    again = build.runner_zipapp()
    assert again.name == first.name
    target = tmp_path / "other.pyz"
    build.pack_zipapp(target)
    assert target.read_bytes() == first.read_bytes()


def test_zipapp_has_the_agent_as_a_package(cache):
    with zipfile.ZipFile(build.runner_zipapp()) as archive:
        names = archive.namelist()
    assert names[0] == "__main__.py"
    assert {"agent/__init__.py", "agent/__main__.py"} <= set(names)
    assert all(name.endswith(".py") for name in names)


def test_zipapp_starts_under_the_systems_python(cache):
    system = Path("/usr/bin/python3")
    python = str(system) if system.exists() else sys.executable
    done = subprocess.run(
        [python, "-s", str(build.runner_zipapp()), "--config", "{}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "runner: --lib is missing, or a value\n"


def test_missing_agent_is_an_error(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "AGENT", tmp_path / "none")
    with pytest.raises(BackendError, match="install the package again"):
        build.runner_zipapp()


def test_build_needs_nothing_of_the_package_but_errors():
    # -S: no installed packages at all.
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import verifier.runner.build;"
        "print(*sorted(n for n in sys.modules if n.startswith('verifier')))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script, str(ROOT)], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= {
        "verifier",
        "verifier._version",
        "verifier.errors",
        "verifier.runner",
        "verifier.runner.build",
    }


# ---------------------------------------------------------------- the wheel


def build_wheel(folder: Path, version: str = "standard") -> zipfile.ZipFile:
    wheel = pytest.importorskip("hatchling.builders.wheel")
    builder = wheel.WheelBuilder(str(ROOT))
    (path,) = builder.build(directory=str(folder), versions=[version])
    return zipfile.ZipFile(path)


def test_wheel_ships_what_a_slot_needs(cache, compiler, tmp_path):
    with build_wheel(tmp_path) as wheel:
        names = set(wheel.namelist())
        (meta,) = (wheel.read(name).decode() for name in names if name.endswith("/WHEEL"))
    assert {
        "verifier/runner/jail.c",
        "verifier/runner/agent/__main__.py",
        "verifier/sandbox/docker/seccomp.json",
        f"verifier/runner/built/{build.library_name()}",
        f"verifier/runner/built/{build.zipapp_name()}",
    } <= names
    assert f"Tag: py3-none-{build.wheel_platform()}" in meta
    assert "Root-Is-Purelib: false" in meta
    assert "verifier.runner.build" in sys.modules  # the hook put back what it took away
    assert sys.modules["verifier.runner.build"] is build


def test_wheel_without_a_compiler_is_pure(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(build.importlib.util, "find_spec", no_zig(build.importlib.util.find_spec))
    with build_wheel(tmp_path) as wheel:
        names = set(wheel.namelist())
        (meta,) = (wheel.read(name).decode() for name in names if name.endswith("/WHEEL"))
    assert "Tag: py3-none-any" in meta
    assert not [name for name in names if name.endswith(".so")]
    assert f"verifier/runner/built/{build.zipapp_name()}" in names


def test_editable_install_fills_the_cache(cache, compiler, tmp_path):
    pytest.importorskip("editables")
    with build_wheel(tmp_path, "editable") as wheel:
        assert not [name for name in wheel.namelist() if "built" in name]
    assert (cache / build.library_name()).is_file()


def test_hook_asks_for_zig_only_where_there_is_no_compiler(compiler, tmp_path, monkeypatch):
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    hook_file = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook_file)

    def hook(target):
        return hook_file.JailBuildHook(str(ROOT), {}, None, None, str(tmp_path), target)

    assert hook("wheel").dependencies() == []
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", no_zig(importlib.util.find_spec))
    assert hook("wheel").dependencies() == ["ziglang>=0.12"]
    assert hook("sdist").dependencies() == []


def no_zig(real):
    return lambda name, package=None: None if name == "ziglang" else real(name, package)
