"""The shared folder: which runners are there, and how one is connected to.

What is in the folder was put there by containers, so nothing in it is trusted: a link is not
followed, and what is no socket is not looked at.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import socket
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verifier.errors import BackendError, SlotError
from verifier.runner.agent import frames, libjail
from verifier.runner.agent.supervisor import ANY_CORE, START
from verifier.runner.build import zipapp_name

NAME = re.compile(r"(?P<role>runner|helper)-(?P<host>[A-Za-z0-9][A-Za-z0-9_.-]{0,63})\.sock")
MAX_RUNNERS = 4096
MAX_GREETING_BYTES = 4096
GREETING_S = 5.0


class BusyError(SlotError):
    """The runner has a connection already: another gateway's, or one of ours that is ending."""


class MismatchError(BackendError):
    """The runner is of another version than this gateway."""


@dataclass(frozen=True, slots=True)
class Found:
    """A socket in the folder.

    Attributes:
        path: Of the socket.
        role: "runner", or "helper": for the second program of a pair.
        host: The container's name.
        born: Which file it is: a runner that comes back makes a new one.
    """

    path: Path
    role: str
    host: str
    born: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a runner says of itself.

    Attributes:
        name: The container's.
        fresh_proc: A run can have a /proc of its own.
        memory_bytes: Of the container; 0: it has no limit.
        processes: Of the container; 0: it has no limit.
    """

    name: str
    fresh_proc: bool
    memory_bytes: int
    processes: int


def look(folder: Path) -> list[Found]:
    """The sockets in the folder, by name.

    Raises:
        BackendError: It cannot be read.
    """
    found: list[Found] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = NAME.fullmatch(entry.name)
                if name is None or len(found) >= MAX_RUNNERS:
                    continue
                with contextlib.suppress(FileNotFoundError):  # it has just gone
                    facts = entry.stat(follow_symlinks=False)
                    if stat.S_ISSOCK(facts.st_mode):
                        born = (facts.st_ino, facts.st_ctime_ns)
                        found.append(Found(Path(entry.path), name["role"], name["host"], born))
    except OSError as e:
        raise BackendError(
            f"the folder of the runners' sockets cannot be read: {e}; "
            f"it is the setting runners_dir, and the gateway has to be in its group"
        ) from e
    return sorted(found, key=lambda one: one.path.name)


def connect(found: Found, cpu: int | None = None) -> tuple[socket.socket, Greeting]:
    """Have a runner started behind the socket. Blocks for `GREETING_S` at most.

    Raises:
        BusyError: It serves somebody.
        MismatchError: It is of another version.
        SlotError: Nobody answers, or not as a runner does.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(GREETING_S)
        # By descriptor: what stands there now may be a link by the time of a connect by name.
        fd = os.open(found.path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not stat.S_ISSOCK(os.fstat(fd).st_mode):
                raise SlotError(f"{found.path.name} is no socket")
            sock.connect(f"/proc/self/fd/{fd}")
        finally:
            os.close(fd)
        said = _read_greeting(sock, time.monotonic() + GREETING_S)
        greeting = _checked(found, said)
        sock.sendall(START.pack(b"S", ANY_CORE if cpu is None else cpu))
    except BlockingIOError as e:
        sock.close()
        raise BusyError(f"{found.path.name}: too many knock at once") from e
    except (OSError, frames.ProtocolError, ValueError) as e:
        sock.close()
        raise SlotError(f"{found.path.name}: {e}") from e
    except BaseException:
        sock.close()
        raise
    return sock, greeting


def _read_greeting(sock: socket.socket, deadline: float) -> dict[str, Any]:
    head, body = frames.lengths(_exactly(sock, frames.LENGTHS.size, deadline))
    if head > MAX_GREETING_BYTES or body:
        raise frames.ProtocolError(f"a greeting of {head} + {body} bytes")
    header: dict[str, Any] = frames.checked(json.loads(_exactly(sock, head, deadline)))
    if header["op"] != "greeting":
        raise frames.ProtocolError(f"{header['op']!r} in place of a greeting")
    return header


def _exactly(sock: socket.socket, size: int, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        sock.settimeout(max(0.001, deadline - time.monotonic()))
        got = sock.recv(size - len(data))
        if not got:
            raise frames.ProtocolError("it hung up")
        data += got
    return data


def _checked(found: Found, said: Mapping[str, Any]) -> Greeting:
    theirs = (said.get("protocol"), said.get("abi"), said.get("agent"))
    ours = (frames.PROTOCOL, libjail.ABI, agent_digest())
    if theirs != ours:
        raise MismatchError(
            f"{found.host}: its runner is of another version than this gateway (protocol, ABI and "
            f"digest {_spell(theirs)}, here {_spell(ours)}). Start all from one version: "
            f"docker-compose up --detach --force-recreate"
        )
    if said.get("busy") is True:
        raise BusyError(f"{found.host} serves another connection")
    numbers = [said.get("memory_bytes"), said.get("processes")]
    if any(type(number) is not int or number < 0 for number in numbers):
        raise frames.ProtocolError("a greeting with limits that are none")
    memory_bytes, processes = map(int, numbers)  # type: ignore[arg-type]
    return Greeting(found.host, said.get("fresh_proc") is True, memory_bytes, processes)


@functools.lru_cache(maxsize=1)
def agent_digest() -> str:
    """The digest of this version's agent, as its supervisor says it."""
    return zipapp_name().removeprefix("runner-").removesuffix(".pyz")


def _spell(version: tuple[object, ...]) -> str:
    return ", ".join(str(part)[:40] for part in version)
