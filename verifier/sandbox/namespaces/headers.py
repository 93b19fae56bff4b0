"""`bits/stdc++.h` precompiled for the C++ recipe, in a folder that every slot sees read-only.

Including that header is three quarters of a small program's compile. Containers have it precompiled
in their image; the root of a namespace slot is the host's own /usr, so here it is made once and
kept in the operator's cache folder:

    CACHE/headers/NAME/bits/stdc++.h.gch    slots see NAME as /precompiled, where the recipe looks
    CACHE/headers/NAME/bits/stdc++.h        goes on to the compiler's own, where that is not taken
    CACHE/headers/NAME.sha256               the digest of the first

NAME is a digest of the compiler's flags and of every folder that its headers are in: an update of a
package makes another name. g++ itself takes a precompiled header only if the compiler and the flags
are the same and no macro or token came before it, and then compiles to the same bytes; else it
reads the header as ever.

Who makes it: this module as a program, in a process of its own (the file is over 100 MB, which need
not pass through a gateway's memory), with the same compiler, in a fresh jail of a slot of its own.
No program's compile can write there: the slots' view is read-only, and so is the jails'. A file
that does not have its digest is removed before the first slot is opened.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from verifier._disk_cache import open_private
from verifier.errors import InfraError
from verifier.languages import RECIPES
from verifier.languages.cpp import PRECOMPILED
from verifier.runner.agent.jobs import unpack
from verifier.sandbox.base import CompileJob, Slot

logger = logging.getLogger("verifier.cache")

HEADER = "bits/stdc++.h.gch"
PLAIN = "bits/stdc++.h"
SOURCE = b"#include <bits/stdc++.h>\n"
# g++ looks for the precompiled one beside the plain one, and needs that when a program includes the
# header again.
NEXT = "#include_next <bits/stdc++.h>\n"
_RECIPE = RECIPES["cpp"]
# Where headers and compilers are, in the host's /usr that every slot sees.
_ROOTS = ("/usr/include", "/usr/local/include", "/usr/lib/gcc", "/usr/lib/gcc-cross")
# Of earlier versions of a compiler; others on a shared disk may still use theirs.
_KEPT_OTHERS = 3
_NICENESS = 10
_PR_SET_PDEATHSIG = 1
_PIECE = 1024 * 1024
_TEMPORARY, _STALE_S = ".tmp-", 3600.0


class Headers:
    """The folder of this host's precompiled header, and whether the header is there.

    Attributes:
        folder: What slots see; None where there can be none.
        problem: Why there is none, for a person; "" while all is well.
    """

    def __init__(self, cache_dir: Path) -> None:
        """Nothing is looked at before `check`."""
        self._home = cache_dir / "headers"
        self.folder: Path | None = None
        self.problem = ""

    @property
    def ready(self) -> bool:
        """Whether the header is there."""
        return self.folder is not None and (self.folder / HEADER).is_file()

    def check(self) -> None:
        """Make the folder; remove a header that is not what was written. Blocks on the disk."""
        if shutil.which("g++", path="/usr/local/bin:/usr/bin:/bin") is None:
            return
        try:
            os.close(open_private(self._home.parent))
            os.close(open_private(self._home))
            folder = self._home / _name()
            (folder / HEADER).parent.mkdir(parents=True, exist_ok=True)
            (folder / PLAIN).write_text(NEXT)
            for path in (folder, (folder / HEADER).parent, folder / PLAIN):
                path.chmod(0o755)  # the slots' own users read it
            self._remove_unsound(folder)
            self._remove_others(folder)
        except OSError as error:
            self.problem = f"{self._home}: {error.strerror or error}; no precompiled C++ header"
            logger.warning("%s", self.problem)
            return
        self.folder = folder

    async def make(self) -> None:
        """Make the header in a process of its own, unless it is there. A failure is a problem."""
        if self.folder is None or self.ready:
            return
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "verifier.sandbox.namespaces.headers",
            str(self.folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        try:
            _, said = await process.communicate()
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()  # it closes its slot first
            await process.wait()
            raise
        if process.returncode:
            why = said.decode(errors="replace").strip().rpartition("\n")[2]
            self.problem = f"no precompiled C++ header: {why[:500]}"
            logger.warning("%s", self.problem)

    def _remove_unsound(self, folder: Path) -> None:
        path, noted = folder / HEADER, _digest_file(folder)
        if not path.exists():
            return
        try:
            sound = noted.read_text() == _digest(path)
        except (OSError, ValueError):
            sound = False
        if sound:
            os.utime(noted)
        else:
            path.unlink()

    def _remove_others(self, folder: Path) -> None:
        for path in self._home.glob(f"{_TEMPORARY}*"):
            if time.time() - path.stat().st_mtime > _STALE_S:  # its writer was killed
                path.unlink()
        others = [path for path in self._home.glob("*.sha256") if path != _digest_file(folder)]
        others.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in others[_KEPT_OTHERS:]:
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            path.unlink(missing_ok=True)


async def build(slot: Slot, folder: Path, source: bytes = SOURCE) -> None:
    """Compile the header in a slot and put it into the folder.

    Raises:
        InfraError: The compiler refused, or the slot failed.
        OSError: The disk refused.
    """
    flags = tuple(word for word in _RECIPE.compile_argv[1:] if word.startswith("-"))
    drop = ("-o", "-l")
    job = CompileJob(
        harness=_RECIPE.run_harness,
        # The program's own name: what g++ says of an error inside of the library names it.
        files={_RECIPE.source_name: source},
        argv=(
            _RECIPE.compile_argv[0],
            *(word for word in flags if not word.startswith(drop)),
            *("-x", "c++-header", _RECIPE.source_name, "-o", "stdc++.h.gch"),
        ),
        outputs=("stdc++.h.gch",),
        limits=_RECIPE.compile_limits,
        env=_RECIPE.env,
    )
    compiled = await slot.compile(job)
    if not compiled.ok:
        raise InfraError(f"{' '.join(job.argv)}: {compiled.message or compiled.facts}")
    ((_, _, data),) = unpack(memoryview(compiled.artifact))
    temporary = folder.parent / f"{_TEMPORARY}{os.getpid()}"
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        # First what tells whether it is sound: without it, a reader throws the header away.
        _digest_file(folder).write_text(_digest(temporary))
        temporary.replace(folder / HEADER)
    finally:
        temporary.unlink(missing_ok=True)


def _digest_file(folder: Path) -> Path:
    return folder.with_name(folder.name + ".sha256")


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _name() -> str:
    """Flags, the kind of machine, compilers, and when each folder of headers was last changed."""
    facts = [PRECOMPILED, _RECIPE.compile_argv, os.uname().machine, *_changes()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def _changes() -> Iterator[tuple[str, int, int]]:
    for root in _ROOTS:
        for folder, inner, files in os.walk(root):
            inner.sort()
            yield folder, os.stat(folder).st_mtime_ns, len(files)
            for name in files:
                if name.startswith("cc1plus"):
                    info = os.stat(os.path.join(folder, name))
                    yield name, info.st_mtime_ns, info.st_size


async def _main(folder: Path) -> None:
    from verifier.sandbox.namespaces.backend import NamespaceSandbox

    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    # Not started: which guarantees the host lacks is the business of who asked for it.
    sandbox = NamespaceSandbox()
    try:
        await build(await sandbox.open_slot(), folder)
    finally:
        await sandbox.close()


if __name__ == "__main__":
    os.nice(_NICENESS)
    try:
        asyncio.run(_main(Path(sys.argv[1])))
    except asyncio.CancelledError:
        sys.exit("cancelled")
    except (InfraError, OSError) as problem:
        sys.exit(f"{type(problem).__name__}: {problem}")
