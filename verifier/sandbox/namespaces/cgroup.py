"""One cgroup per slot, under version 1, version 2, or both at once.

The slot's cgroup is made below the caller's own, so limits that were put on the caller still bind.
Version 1 has a hierarchy per controller; version 2 has one, in which a group with processes of its
own cannot have children with controllers: there the caller moves itself into a leaf first, where it
is allowed to.

Files are opened here, as whoever the caller is, and handed to the runner by descriptor: the kernel
checks the opener's rights, so the runner needs none and the jail needs no cgroup mount.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "verifier-"
SWEEP_S = 5.0

# controller -> what it is for; cpuacct is part of version 2's cpu.stat, which needs no controller.
V1_CONTROLLERS = ("memory", "pids", "cpuacct")


@dataclass(frozen=True, slots=True)
class CgroupLayout:
    """Where slots' groups can be made.

    Attributes:
        v1: Controller -> folder of the caller's own group, for version 1 hierarchies it may write.
        v2: Folder of the caller's own version 2 group with usable controllers, or None.
        v2_controllers: The controllers that children of `v2` may have.
        problems: Why something is missing, for a person.
    """

    v1: dict[str, Path]
    v2: Path | None
    v2_controllers: frozenset[str]
    problems: tuple[str, ...] = ()

    def has(self, controller: str) -> bool:
        """Whether slots can have this controller ("memory", "pids", "cpu")."""
        if controller == "cpu":
            return "cpuacct" in self.v1 or self.v2 is not None
        return controller in self.v1 or controller in self.v2_controllers


def detect(proc: Path = Path("/proc/self"), root: Path | None = None) -> CgroupLayout:
    """Read the caller's groups and mounts. `root` stands in for "/" in tests."""
    mounts = _mounts(proc / "mountinfo", root)
    v1: dict[str, Path] = {}
    v2: Path | None = None
    problems: list[str] = []
    for line in (proc / "cgroup").read_text().splitlines():
        number, names, own = line.split(":", 2)
        if number == "0":
            if "cgroup2" in mounts:
                v2 = _own_folder(mounts["cgroup2"], own)
            continue
        for name in names.split(","):
            if name in V1_CONTROLLERS and name in mounts:
                folder = _own_folder(mounts[name], own)
                if os.access(folder, os.W_OK):
                    v1[name] = folder
                else:
                    problems.append(f"{folder} is not writable")
    controllers: frozenset[str] = frozenset()
    if v2 is not None:
        if os.access(v2 / "cgroup.procs", os.W_OK) and os.access(v2, os.W_OK):
            controllers = frozenset((v2 / "cgroup.controllers").read_text().split()) - set(v1)
        else:
            problems.append(f"{v2} is not delegated to this user")
            v2 = None
    return CgroupLayout(v1, v2, controllers, tuple(problems))


def _mounts(mountinfo: Path, root: Path | None) -> dict[str, tuple[Path, str]]:
    """Controller (or "cgroup2") -> (mount point, part of the hierarchy that is mounted there)."""
    found: dict[str, tuple[Path, str]] = {}
    for line in mountinfo.read_text().splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        fields = left.split(" ")
        point = Path(fields[4]) if root is None else root / fields[4].lstrip("/")
        if kind == "cgroup2":
            found.setdefault("cgroup2", (point, fields[3]))
        elif kind == "cgroup":
            for option in options.split(" ")[-1].split(","):
                found.setdefault(option, (point, fields[3]))
    return found


def _own_folder(mount: tuple[Path, str], own: str) -> Path:
    """The caller's own group inside a mount that may show only a part of the hierarchy."""
    point, part = mount
    relative = own[len(part) :] if part != "/" and own.startswith(part) else own
    folder = point / relative.lstrip("/")
    return folder if folder.is_dir() else point


@dataclass(slots=True)
class SlotCgroup:
    """The groups of one slot."""

    folders: dict[str, Path]
    v2: Path | None
    fds: list[int] = field(default_factory=list)

    def runner_config(self) -> tuple[dict[str, object], list[int]]:
        """What the runner is told, and descriptors it must inherit; `release_fds` closes ours."""
        counters: dict[str, list[object]] = {}
        config: dict[str, object] = {"counters": counters, "procs_fds": []}
        procs = [self._open(path / "cgroup.procs", os.O_WRONLY) for path in self._all()]
        config["procs_fds"] = procs
        memory = self.folders.get("memory")
        if memory is not None:
            counters["memory_now"] = [self._open(memory / "memory.usage_in_bytes"), 1, ""]
            counters["memory_stat"] = [self._open(memory / "memory.stat"), 1, ""]
            counters["oom"] = [self._open(memory / "memory.oom_control"), 1, "oom_kill"]
            counters["memory_peak"] = [
                self._open(memory / "memory.max_usage_in_bytes", os.O_RDWR),
                1,
                "",
            ]
            config["peak_resettable"] = True
        elif self.v2 is not None and (self.v2 / "memory.current").exists():
            counters["memory_now"] = [self._open(self.v2 / "memory.current"), 1, ""]
            counters["memory_stat"] = [self._open(self.v2 / "memory.stat"), 1, ""]
            counters["oom"] = [self._open(self.v2 / "memory.events"), 1, "oom_kill"]
            with contextlib.suppress(OSError):  # Linux 5.19; resettable since 6.12
                try:
                    counters["memory_peak"] = [
                        self._open(self.v2 / "memory.peak", os.O_RDWR),
                        1,
                        "",
                    ]
                    config["peak_resettable"] = True
                except PermissionError:
                    counters["memory_peak"] = [self._open(self.v2 / "memory.peak"), 1, ""]
        if "cpuacct" in self.folders:
            counters["cpu"] = [self._open(self.folders["cpuacct"] / "cpuacct.usage"), 1, ""]
        elif self.v2 is not None:
            counters["cpu"] = [self._open(self.v2 / "cpu.stat"), 1000, "usage_usec"]
        return config, list(self.fds)

    def set_memory(self, limit_bytes: int) -> None:
        """Bound memory, with no swap beside it."""
        memory = self.folders.get("memory")
        if memory is not None:
            swap = memory / "memory.memsw.limit_in_bytes"
            # The sum may never be below the part, so the order depends on the direction.
            with contextlib.suppress(OSError):
                swap.write_text("-1")
            (memory / "memory.limit_in_bytes").write_text(str(limit_bytes))
            if swap.exists():
                swap.write_text(str(limit_bytes))
            else:
                with contextlib.suppress(OSError):
                    (memory / "memory.swappiness").write_text("0")
        elif self.v2 is not None and (self.v2 / "memory.max").exists():
            (self.v2 / "memory.max").write_text(str(limit_bytes))
            with contextlib.suppress(OSError):
                (self.v2 / "memory.swap.max").write_text("0")

    def set_processes(self, limit: int) -> None:
        """Bound processes and threads over the whole slot."""
        folder = self.folders.get("pids") or self.v2
        if folder is not None and (folder / "pids.max").exists():
            (folder / "pids.max").write_text(str(limit))

    def release_fds(self) -> None:
        """Close our copies, once the runner has its own."""
        for fd in self.fds:
            os.close(fd)
        self.fds.clear()

    def remove(self) -> None:
        """Kill what is inside and remove the groups."""
        self.release_fds()
        for path in self._all():
            remove_group(path)

    def _all(self) -> list[Path]:
        return [*self.folders.values(), *([self.v2] if self.v2 is not None else [])]

    def _open(self, path: Path, flags: int = os.O_RDONLY) -> int:
        fd = os.open(path, flags | os.O_CLOEXEC)
        self.fds.append(fd)
        return fd


class CgroupManager:
    """Makes and removes the slots' groups of one backend."""

    def __init__(self, layout: CgroupLayout, run_id: str) -> None:
        """`run_id` names the caller: groups of callers that are gone are swept by it."""
        self.layout = layout
        self._name = PREFIX + run_id
        self._v2_ready: Path | None = None
        self.problems: list[str] = list(layout.problems)

    def prepare(self) -> None:
        """Make the caller's own parent groups."""
        for controller, own in list(self.layout.v1.items()):
            try:
                (own / self._name).mkdir(exist_ok=True)
            except OSError as e:  # noqa: PERF203 - three controllers, once
                self.problems.append(f"{controller}: {e}")
                del self.layout.v1[controller]
        if self.layout.v2 is not None and (
            self.layout.v2_controllers or "cpuacct" not in self.layout.v1
        ):
            try:
                self._v2_ready = self._prepare_v2(self.layout.v2)
            except OSError as e:
                self.problems.append(f"cgroup v2: {e}")

    def _prepare_v2(self, own: Path) -> Path:
        wanted = self.layout.v2_controllers & {"memory", "pids", "cpu"}
        parent = own / self._name
        parent.mkdir(exist_ok=True)
        switch_on = " ".join(f"+{c}" for c in sorted(wanted))
        if wanted:
            try:
                (own / "cgroup.subtree_control").write_text(switch_on)
            except OSError:
                # "No internal processes": move ourselves into a leaf, if we are alone in here.
                leaf = own / f"{self._name}-caller"
                leaf.mkdir(exist_ok=True)
                (leaf / "cgroup.procs").write_text(str(os.getpid()))
                (own / "cgroup.subtree_control").write_text(switch_on)
            (parent / "cgroup.subtree_control").write_text(switch_on)
        return parent

    def create(self, slot: str, max_processes: int) -> SlotCgroup:
        """The groups of one slot."""
        folders = {c: own / self._name / slot for c, own in self.layout.v1.items()}
        v2 = self._v2_ready / slot if self._v2_ready is not None else None
        group = SlotCgroup(folders, v2)
        for path in [*folders.values(), *([v2] if v2 is not None else [])]:
            path.mkdir()
        group.set_processes(max_processes)
        return group

    def close(self) -> None:
        """Remove everything that `prepare` made."""
        for own in self.layout.v1.values():
            remove_group(own / self._name)
        if self._v2_ready is not None:
            remove_group(self._v2_ready)

    def sweep(self, alive: Callable[[str], bool]) -> int:
        """Remove groups of callers that are gone. Returns how many.

        Args:
            alive: Whether the caller with this run id is there. It is asked once the group has been
                seen: others start at the same time, and their groups are not in an older answer.
        """
        swept = 0
        for own in {*self.layout.v1.values(), *([self.layout.v2] if self.layout.v2 else [])}:
            for path in own.glob(PREFIX + "*"):
                run_id = path.name.removeprefix(PREFIX).removesuffix("-caller")
                if path.name != self._name and not alive(run_id):
                    remove_group(path)
                    swept += 1
        return swept


def remove_group(path: Path) -> None:
    """Kill all processes below a group and remove it, children first; others may be at it too."""
    deadline = time.monotonic() + SWEEP_S
    if (path / "cgroup.kill").exists():
        with contextlib.suppress(OSError):
            (path / "cgroup.kill").write_text("1")
    try:
        children = sorted((p for p in path.iterdir() if p.is_dir()), key=str)
    except FileNotFoundError:
        return
    for child in children:
        remove_group(child)
    while True:
        try:
            path.rmdir()
        except FileNotFoundError:  # noqa: PERF203 - the loop is there for the errors
            return
        except OSError:
            if time.monotonic() > deadline:
                return
            _kill_members(path)
            # A relative wait: an absolute one (time.sleep) fails where the clock is tampered with.
            select.select((), (), (), 0.002)
        else:
            return


def _kill_members(path: Path) -> None:
    with contextlib.suppress(OSError):
        for pid in (path / "cgroup.procs").read_text().split():
            if int(pid) != os.getpid():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(int(pid), signal.SIGKILL)
