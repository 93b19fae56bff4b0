"""What a slot and its host look like between two runs, as sentences; what is new is left over.

Everything here looks from outside: at the slot's processes and their namespaces, mounts, cgroups
and descriptors, at the keys, shared memory and files of the slot's users, and at the service's own
process. As root all of it can be seen; an ordinary user sees processes and files, and `Scope` says
so.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from verifier.sandbox.base import Slot

# Attack programs put this into every name they make, wherever they try to make it.
MARK = "vstress"
PROC = Path("/proc")
NAMESPACES = ("pid", "mnt", "ipc", "uts", "net", "user", "cgroup", "time")
OWN_ROLES = ("keeper", "runner", "zygote")
# A slot keeps its last program's files, and the zygote is as big as it is.
MEMORY_SLACK = 48 * 1024 * 1024
SERVICE_MEMORY_SLACK = 96 * 1024 * 1024
# Connections to a Docker engine are pooled, one per thread that talks to it.
SERVICE_FD_SLACK = 4


@dataclass(frozen=True, slots=True)
class Process:
    """One line of /proc."""

    pid: int
    parent: int
    uid: int
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class Scope:
    """What a sweep could look at on this host."""

    seen: tuple[str, ...]
    hidden: tuple[str, ...]


def processes() -> dict[int, Process]:
    """All processes that can be seen."""
    found = {}
    for entry in os.scandir(PROC):
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            stat = Path(entry.path, "stat").read_text(errors="replace")
            name, _, rest = stat.partition("(")[2].rpartition(")")
            fields = rest.split()
            uid = entry.stat().st_uid
            pid = int(entry.name)
            found[pid] = Process(pid, int(fields[1]), uid, name, fields[0])
    return found


def below(root: int, table: dict[int, Process]) -> list[Process]:
    """A process and all its descendants."""
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    found, left = [], [root]
    while left:
        pid = left.pop()
        if pid in table:
            found.append(table[pid])
            left.extend(children.get(pid, ()))
    return found


class SlotSweep:
    """One slot, looked at again and again. `look` gives what is there, as sentences."""

    def __init__(self, slot: Slot) -> None:
        """The slot is idle and fresh: its processes are its own three, or fewer in a container."""
        self.name = slot.name
        self.root = int(getattr(slot, "pid", 0))
        own = below(self.root, processes()) if self._is_runner() else []
        self.own = [process.pid for process in own]
        self.users = self._users()
        # Containers, and the slots of an ordinary user, share theirs with other slots.
        alone = len(self.users) > 1 and os.geteuid() not in self.users
        self.uids = self.users if alone else frozenset()
        self.groups = self._groups()
        self.memory_start = self.memory()

    def _is_runner(self) -> bool:
        with contextlib.suppress(OSError):
            return self.root > 0 and b"runner" in (PROC / f"{self.root}/cmdline").read_bytes()
        return False

    def _users(self) -> frozenset[int]:
        """The ids on this host of the slot's runner and its programs."""
        for pid in self.own:
            with contextlib.suppress(OSError, ValueError):
                rows = [line.split() for line in (PROC / f"{pid}/uid_map").read_text().splitlines()]
                mapped = {int(outside) for _, outside, count in rows if count == "1"}
                if mapped:
                    return frozenset(mapped - {0})
        return frozenset()

    def _groups(self) -> tuple[Path, ...]:
        """Folders of the slot's own cgroups: those that its zygote is in and we are not."""
        found: set[Path] = set()
        ours = set(_cgroups("self"))
        for pid in self.own:
            found.update(path for path in _cgroups(str(pid)) if path not in ours)
        return tuple(sorted(found))

    # ------------------------------------------------------------ traces

    def processes(self, table: dict[int, Process] | None = None) -> frozenset[str]:
        """Processes of the slot that are not its own."""
        table = processes() if table is None else table
        mine = {process.pid: process for process in below(self.root, table)} if self.own else {}
        for process in table.values():
            if process.uid in self.uids:
                mine[process.pid] = process
        for folder in self.groups:
            for pid in _members(folder):
                if pid in table:
                    mine[pid] = table[pid]
        return frozenset(
            f"process {p.pid} ({p.name}, state {p.state}) of {self.name}"
            for p in mine.values()
            if p.pid not in self.own
        )

    def look(self) -> frozenset[str]:
        """Everything."""
        return frozenset({*self.processes(), *self._inside(), *self._outside()})

    def memory(self) -> int:
        """Bytes of processes and of shared memory (a tmpfs's too) that the slot's cgroup has.

        Pages of the host's files that it read are left out: they are given up when needed.
        """
        for folder in self.groups:
            with contextlib.suppress(OSError, ValueError):
                rows = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
                stat = {name: int(value) for name, value in rows}
                return stat.get("rss", 0) + stat.get("anon", 0) + stat.get("shmem", 0)
        return 0

    def grown(self) -> frozenset[str]:
        """Memory that stays charged to the slot, if it is more than a program's files."""
        by = self.memory() - self.memory_start
        if by <= MEMORY_SLACK:
            return frozenset()
        return frozenset({f"memory: {by >> 20} MiB more are charged to {self.name}"})

    def _inside(self) -> Iterator[str]:
        """Namespaces, mounts, descriptors of the slot's own processes; groups below its own."""
        for pid, role in zip(self.own, OWN_ROLES):  # noqa: B905 - a container has fewer
            for kind in NAMESPACES:
                with contextlib.suppress(OSError):
                    link = os.readlink(PROC / f"{pid}/ns/{kind}")
                    yield f"namespace {link} of the {role} of {self.name}"
            whose = f"of the {role} of {self.name}"
            yield from _numbered("mount", whose, _mounts(pid))
            yield from _numbered("descriptor", whose, _descriptors(pid))
        for folder in self.groups:
            with contextlib.suppress(OSError):
                for entry in os.scandir(folder):
                    if entry.is_dir():
                        yield f"cgroup {entry.path}"

    def _outside(self) -> Iterator[str]:
        """Keys and shared memory of the slot's users on the host, and their files."""
        with contextlib.suppress(OSError):
            for line in (PROC / "key-users").read_text().splitlines():
                uid, _, rest = line.strip().partition(":")
                if int(uid) in self.users - {os.geteuid()}:
                    yield f"kernel keys of user {uid}: {rest.split()[1]}"
        for kind in ("shm", "sem", "msg"):
            with contextlib.suppress(OSError):
                for line in (PROC / f"sysvipc/{kind}").read_text().splitlines()[1:]:
                    if self.users & {int(f) for f in line.split() if f.isdigit()}:
                        yield f"SysV {kind} {' '.join(line.split()[:2])}"
        for folder in dict.fromkeys(
            ("/dev/mqueue", "/dev/shm", tempfile.gettempdir(), "/tmp", "/var/tmp", "/run/lock")  # noqa: S108
        ):
            with contextlib.suppress(OSError):
                for entry in os.scandir(folder):
                    with contextlib.suppress(OSError):
                        owner = entry.stat(follow_symlinks=False).st_uid
                        if MARK in entry.name or owner in self.uids:
                            yield f"file {entry.path}"

    def scope(self) -> Scope:
        """What can be looked at here."""
        pid = self.own[-1] if self.own else 0
        able = {
            "processes": bool(self.own),
            "namespaces": os.access(PROC / f"{pid}/ns/pid", os.F_OK) and _readable(pid),
            "mounts": _readable(pid),
            "descriptors of the runner": _readable(pid),
            "cgroups": bool(self.groups),
            "files": True,
            "kernel keys": bool(self.users - {os.geteuid()}) and (PROC / "key-users").exists(),
            "shared memory": bool(self.users) and (PROC / "sysvipc/shm").exists(),
            "the service": True,
        }
        return Scope(
            tuple(name for name, can in able.items() if can),
            tuple(name for name, can in able.items() if not can),
        )


class ServiceSweep:
    """This process: descriptors and resident memory, at the start and now."""

    def __init__(self) -> None:
        """Everything that stays open is open."""
        self.fds = _descriptors(os.getpid())
        self.rss = resident()

    def grown(self, pool: int = 0) -> frozenset[str]:
        """What is more than at the start; `pool` descriptors may be."""
        now = _descriptors(os.getpid())
        more = now - self.fds
        found: set[str] = set()
        if sum(more.values()) > pool:
            found.update(_numbered("descriptor", "of this process", more))
        by = resident() - self.rss
        if by > SERVICE_MEMORY_SLACK:
            found.add(f"memory: this process has {by >> 20} MiB more")
        return frozenset(found)


def resident() -> int:
    """Resident bytes of this process."""
    return int((PROC / "self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    """Open descriptors of this process."""
    return sum(_descriptors(os.getpid()).values())


def _readable(pid: int) -> bool:
    with contextlib.suppress(OSError):
        os.readlink(PROC / f"{pid}/ns/pid")
        return True
    return False


def _descriptors(pid: int) -> Counter[str]:
    """What a process has open, by kind: numbers in it (of pipes, of sockets) say nothing."""
    found: Counter[str] = Counter()
    with contextlib.suppress(OSError):
        for name in os.listdir(PROC / f"{pid}/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(PROC / f"{pid}/fd/{name}")
                if not (pid == os.getpid() and target == f"/proc/{pid}/fd"):
                    found[re.sub(r":\[\d+\]", "", target)] += 1
    return found


def _mounts(pid: int) -> Counter[str]:
    """Root, point and options of each mount that a process sees; they may lie on each other."""
    with contextlib.suppress(OSError):
        lines = (PROC / f"{pid}/mountinfo").read_text().splitlines()
        return Counter(" ".join(line.split()[3:6]) for line in lines)
    return Counter()


def _numbered(what: str, whose: str, kinds: Counter[str]) -> Iterator[str]:
    for kind, count in kinds.items():
        for number in range(count):
            yield f"{what} {kind} #{number + 1} {whose}"


def _cgroups(pid: str) -> Iterable[Path]:
    """The folders of a process's groups, where the hierarchies are mounted in the usual place."""
    with contextlib.suppress(OSError):
        for line in (PROC / pid / "cgroup").read_text().splitlines():
            _, names, own = line.split(":", 2)
            for base in {"": ("", "unified")}.get(names, (names.removeprefix("name="),)):
                folder = Path("/sys/fs/cgroup", base) / own.lstrip("/")
                if (folder / "cgroup.procs").exists():
                    yield folder


def _members(folder: Path) -> list[int]:
    with contextlib.suppress(OSError, ValueError):
        return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]
    return []
