"""Files that a run finds in its working directory, and files of it that are handed back.

The jail of a run is empty when it begins and gone when it ends, so a small launcher inside of it
carries both: it reads the files from a descriptor, lays them out, runs the program as its child,
and writes what was asked for to the value channel. It is the program's equal in there: what comes
back are bytes of the program's, trusted as little as its output. A run that is killed hands
nothing back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from verifier import languages
from verifier.errors import RequestError
from verifier.languages.source import tidied
from verifier.sandbox.base import RunJob
from verifier.types import Harness, Limits, RunFacts

__all__ = ["MAX_FETCHED_BYTES", "beside_source", "check_names", "fetched", "job"]

MAX_FILES = 256
MAX_FETCHED_BYTES = 16 * 1024 * 1024
"""Of all files that are handed back together; one that does not fit is left out."""

_PART_BYTES = 255
_NAME_BYTES = 1024

# Descriptors: 3 takes the answer, 4 has the files (5 is not used).
_LAUNCHER = r"""
import json, os, signal, stat, subprocess, sys
with os.fdopen(4, "rb") as given:
    head = json.loads(given.readline())
    for name, size in head["files"]:
        if "/" in name:
            os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as file:
            file.write(given.read(size))
env = dict(os.environ, PYTHONPATH=os.getcwd())
code = subprocess.Popen(head["argv"], env=env).wait()
left, table, blobs = head["room"], [], []
for name in head["fetch"]:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                continue
            data = file.read(left + 1)
    except (OSError, ValueError):
        continue
    if len(data) <= left:
        left -= len(data)
        table.append([name, len(data)])
        blobs.append(data)
with os.fdopen(3, "wb") as answer:
    answer.write(json.dumps(table).encode() + b"\n" + b"".join(blobs))
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if -code not in (9, 19) else None
    os.kill(os.getpid(), -code)
os._exit(code)
"""


def check_names(field: str, names: Sequence[str], *, laid: bool) -> None:
    """Names are relative paths below the working directory; those that are laid do not collide.

    Raises:
        RequestError: One is not; names it.
    """
    if len(names) > MAX_FILES:
        raise RequestError(field, f"{len(names)} files; at most {MAX_FILES}")
    folders = {
        "/".join(n.split("/")[:depth]) for n in names for depth in range(1, n.count("/") + 1)
    }
    for name in names:
        clash = "is a folder of another one" if laid and name in folders else ""
        problem = _problem(name) or clash
        if problem:
            raise RequestError(field, f"{name[:80]!r} {problem}")


def _problem(name: str) -> str:
    try:
        size = len(name.encode())
        longest = max(len(part.encode()) for part in name.split("/"))
    except UnicodeEncodeError:
        return "cannot be encoded"
    if "\0" in name:
        return "has a NUL"
    if name.startswith("/"):
        return "is an absolute path"
    if any(part in ("", ".", "..") for part in name.split("/")):
        return "is not a plain relative path"
    return "is too long" if size > _NAME_BYTES or longest > _PART_BYTES else ""


def beside_source(
    recipe: languages.Recipe, files: Mapping[str, bytes], source: bytes
) -> dict[str, bytes]:
    """Those that the compiler sees: headers and further sources, beside the program's own."""
    if not recipe.compile_argv:
        return {}
    own = recipe.file_name(tidied(source))
    return {name: data for name, data in files.items() if "/" not in name and name != own}


def job(
    recipe: languages.Recipe,
    artifact: bytes,
    stdin: bytes,
    files: Mapping[str, bytes],
    fetch: Sequence[str],
    limits: Limits,
) -> RunJob:
    """A run of an artifact with files.

    `limits` are the program's and the launcher's together: an interpreter is about 10 MB.
    """
    head = {
        "files": [[name, len(data)] for name, data in files.items()],
        "argv": list(recipe.run_command(limits)),
        "fetch": list(fetch),
        "room": MAX_FETCHED_BYTES,
    }
    carried = json.dumps(head).encode() + b"\n" + b"".join(files.values())
    python = languages.get("python").run_argv[0]
    return RunJob(
        Harness.EXEC,
        artifact,
        (python, "-S", "-s", "-c", _LAUNCHER),
        [stdin],
        limits,
        env=recipe.run_env(limits),
        extra=[(carried, b"")],
        channel=True,
    )


def fetched(facts: RunFacts, fetch: Sequence[str]) -> tuple[tuple[str, bytes], ...]:
    """The files that a run handed back; none where the program wrote nonsense in their place."""
    table, newline, data = (facts.returned or b"").partition(b"\n")
    found: dict[str, bytes] = {}
    at = 0
    try:
        for name, size in json.loads(table) if newline else ():
            if name not in fetch or size < 0 or at + size > len(data):
                return ()
            found[name] = data[at : at + size]
            at += size
    except (ValueError, TypeError, RecursionError):
        return ()
    return tuple(found.items())
