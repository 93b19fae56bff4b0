"""Host side: makes the two files that a slot is started from, `libjail.so` and `runner.pyz`.

A wheel ships both, made by `hatch_build.py` with the functions of this module. A source checkout,
or a wheel that was built where no compiler was, makes them at first use into a cache. Both names
carry the digest of what they were made from, so an edited `jail.c` is a new file and a stale one is
never loaded.

The library is code that runs as the caller, so where it is loaded from matters. A shipped file is
trusted as the package around it is. The cache is trusted only while this user alone can write it:
the folder has to be ours with mode 0700, its ancestors must not be writable by others (unless
sticky), and a file in it has to be ours, regular and not writable by others. Otherwise a private
temporary folder, removed at exit, stands in.

Files appear by rename, complete or not at all, so any number of processes may build at once. Both
are world readable: a container or a jail reads them as another uid. The folder is not, so mount or
open them as the caller.

This module imports the standard library and `verifier.errors` only: the build backend runs it too.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.util
import io
import os
import platform
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from verifier.errors import BackendError

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "jail.c"
AGENT = HERE / "agent"
# Where a wheel has the built files (see hatch_build.py); absent from a checkout.
SHIPPED = HERE / "built"

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O2", "-shared", "-fPIC")
# The oldest glibc that any supported interpreter runs on: what loads there loads everywhere newer.
ZIG_GLIBC = "2.17"
COMPILE_TIMEOUT_S = 300.0

# The archive's own entry point. It makes `agent` a package, whose modules can import each other.
ENTRY = b"import sys\n\nfrom agent.__main__ import main\n\nsys.exit(main())\n"
SHEBANG = b"#!/usr/bin/env python3\n"
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def jail_library() -> Path:
    """The shared library of `jail.c` for this machine, built if need be.

    Returns:
        An absolute path. The file is world readable; its folder may be the caller's alone.

    Raises:
        BackendError: There is no compiler, or it failed.
    """
    shipped = SHIPPED / library_name()
    if shipped.is_file():
        return shipped
    return _cached(library_name(), compile_library)


def runner_zipapp() -> Path:
    """The in-jail agent as a zipapp, packed if need be; see `jail_library` for the path.

    Raises:
        BackendError: The agent's files cannot be read.
    """
    name = zipapp_name()
    shipped = SHIPPED / name
    if shipped.is_file():
        return shipped
    return _cached(name, pack_zipapp)


def library_name() -> str:
    """File name of the library: the digest of its source and flags, and the machine it is for."""
    digest = hashlib.sha256(" ".join(FLAGS).encode() + b"\0" + _read(SOURCE)).hexdigest()
    return f"libjail-{digest[:20]}-{platform.machine()}.so"


def zipapp_name() -> str:
    """File name of the zipapp: the digest of its content."""
    return f"runner-{hashlib.sha256(_zipapp_bytes()).hexdigest()[:20]}.pyz"


def compilers() -> list[list[str]]:
    """Commands of the C compilers that are here, best first: the system's, then zig from PyPI."""
    found = [[path] for path in map(shutil.which, COMPILERS) if path]
    if importlib.util.find_spec("ziglang") is not None:
        target = f"{platform.machine()}-linux-gnu.{ZIG_GLIBC}"
        found.append([sys.executable, "-m", "ziglang", "cc", "-target", target])
    return found


def compile_library(target: Path) -> None:
    """Compile `jail.c` into a new file.

    Raises:
        BackendError: There is no compiler, or none succeeded; the message has what they said.
    """
    problems: list[str] = []
    for compiler in compilers():
        problem = _compile([*compiler, *FLAGS, "-o", str(target), str(SOURCE)])
        if problem is None:
            return
        # A machine may have cc without libc's headers, and zig beside it.
        problems.append(problem)
    if not problems:
        raise BackendError(
            "the jail's library is not built and there is no C compiler to build it with: "
            "pip install ziglang, or apt-get install gcc libc6-dev"
        )
    raise BackendError(
        "cannot compile the jail:\n" + "\n".join(problems) + "\n"
        "it needs libc's headers: apt-get install gcc libc6-dev, or pip install ziglang"
    )


def _compile(command: list[str]) -> str | None:
    """Run a compiler; what went wrong, or None."""
    with tempfile.TemporaryDirectory(prefix="verifier-build-") as scratch:
        env = {
            **os.environ,
            # zig keeps caches, by default under a home that may not be writable.
            "ZIG_GLOBAL_CACHE_DIR": scratch,
            "ZIG_LOCAL_CACHE_DIR": scratch,
            "TMPDIR": scratch,
        }
        try:
            done = subprocess.run(
                command,
                env=env,
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=COMPILE_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if done.returncode == 0:
        return None
    said = done.stderr.decode(errors="replace").strip()[-2000:]
    return f"{' '.join(command)} ended with {done.returncode}:\n{said}"


def pack_zipapp(target: Path) -> None:
    """Write the zipapp into a new file. The same sources always give the same bytes."""
    target.write_bytes(_zipapp_bytes())


def wheel_platform() -> str:
    """The platform tag of a wheel with the library inside, for any Python 3."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _zipapp_bytes() -> bytes:
    """The archive: a shebang line, then a stored zip with fixed times, modes and order.

    Not `zipapp.create_archive`: it records the files' times, in the local time zone.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        entries = {"__main__.py": ENTRY}
        for path in sorted(AGENT.rglob("*.py")):
            entries[f"agent/{path.relative_to(AGENT).as_posix()}"] = _read(path)
        if "agent/__main__.py" not in entries:
            raise BackendError(
                f"the runner's agent is missing from {AGENT}: install the package again"
            )
        for name, data in entries.items():
            info = zipfile.ZipInfo(name, ZIP_EPOCH)
            info.create_system = 3  # unix, wherever it is packed
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, data)
    return SHEBANG + buffer.getvalue()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BackendError(f"cannot read {path}: {error}; install the package again") from error


def _cached(name: str, make: Callable[[Path], None]) -> Path:
    """The file of that name in the cache, made if it is not there or not to be trusted."""
    folder = _cache_folder()
    try:
        return _cached_in(folder, name, make)
    except OSError:
        # A full or read-only home, or something in the file's place that cannot be replaced.
        if folder == _temporary_folder():
            raise
        return _cached_in(_temporary_folder(), name, make)


def _cached_in(folder: Path, name: str, make: Callable[[Path], None]) -> Path:
    path = folder / name
    if _trusted_file(path):
        return path
    handle, scratch = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    os.close(handle)
    try:
        make(Path(scratch))
        with open(scratch, "rb+") as file:
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise
    return path


def _cache_folder() -> Path:
    """The cache folder if it is ours alone, else a temporary one that this process removes."""
    try:
        folder = _cache_base() / "sandbox-verifier" / "runner"
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        folder = folder.resolve(strict=True)
    except (OSError, RuntimeError):
        return _temporary_folder()
    return folder if _trusted_folder(folder) else _temporary_folder()


def _cache_base() -> Path:
    """The XDG cache folder; a relative setting is ignored, as that specification says."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    return Path(configured) if os.path.isabs(configured) else Path.home() / ".cache"


@functools.lru_cache(maxsize=1)
def _temporary_folder() -> Path:
    folder = tempfile.mkdtemp(prefix="sandbox-verifier-")
    owner = os.getpid()

    def remove() -> None:
        # Not in a forked child: the parent still loads from it.
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return Path(folder)


def _trusted_folder(folder: Path) -> bool:
    """Ours, closed to others, and nobody else can put another one in its place."""
    try:
        facts = folder.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
            return False
        return all(_safe_ancestor(ancestor.lstat()) for ancestor in folder.parents)
    except OSError:
        return False


def _safe_ancestor(facts: os.stat_result) -> bool:
    owned = facts.st_uid in {0, os.geteuid()}
    closed = not facts.st_mode & 0o022 or bool(facts.st_mode & stat.S_ISVTX)
    return owned and closed


def _trusted_file(path: Path) -> bool:
    """A regular file of ours, that others cannot write, and not empty."""
    try:
        facts = path.lstat()
    except OSError:
        return False
    return (
        stat.S_ISREG(facts.st_mode)
        and facts.st_uid == os.geteuid()
        and not facts.st_mode & 0o022
        and facts.st_size > 0
    )
