"""Facts of this host that decide what a sandbox can do here: read, never changed."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_MEBIBYTE = 1024 * 1024

# What decides whether an ordinary user may make user namespaces, by distribution.
_USERNS_SWITCHES = (
    "user/max_user_namespaces",
    "kernel/unprivileged_userns_clone",
    "kernel/apparmor_restrict_unprivileged_userns",
)


@dataclass(frozen=True, slots=True)
class CgroupLayout:
    """How cgroups are mounted.

    Attributes:
        version: "v2", "v1", "hybrid" (v1 controllers beside a v2 tree) or "none".
        own: This process' cgroup, per hierarchy ("" is v2).
        mounts: Mount point of each hierarchy ("" is v2).
        controllers: Controllers of the v2 root, or the v1 hierarchies.
        writable: Whether we may make cgroups below our own.
    """

    version: str
    own: dict[str, str]
    mounts: dict[str, str]
    controllers: tuple[str, ...]
    writable: bool


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The machine, as `verifier doctor` shows it."""

    kernel: str
    machine: str
    distribution: str
    python: str
    uid: int
    cpus: int
    usable_cpus: int
    memory_mb: int
    memory_available_mb: int
    container: str
    security_modules: str
    user_namespaces: dict[str, str]
    cgroup: CgroupLayout

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def host_facts(proc: Path = Path("/proc"), sys_fs: Path = Path("/sys")) -> HostFacts:
    """Look at the host. What cannot be read is an empty string, never an error."""
    import psutil

    memory = psutil.virtual_memory()
    affinity = len(os.sched_getaffinity(0))
    return HostFacts(
        kernel=platform.release(),
        machine=platform.machine(),
        distribution=_distribution(),
        python=f"{platform.python_version()} ({sys.executable})",
        uid=os.geteuid(),
        cpus=psutil.cpu_count() or affinity,
        usable_cpus=affinity,
        memory_mb=memory.total // _MEBIBYTE,
        memory_available_mb=memory.available // _MEBIBYTE,
        container=_container(proc),
        security_modules=_read(sys_fs / "kernel/security/lsm"),
        user_namespaces={
            name.partition("/")[2]: value
            for name in _USERNS_SWITCHES
            if (value := _read(proc / "sys" / name))
        },
        cgroup=cgroup_layout(proc),
    )


def cgroup_layout(proc: Path = Path("/proc")) -> CgroupLayout:
    """Which hierarchies there are, and where this process is in them."""
    mounts: dict[str, str] = {}
    for line in _read(proc / "mounts").splitlines():
        parts = line.split()
        if len(parts) < 4:
            continue
        if parts[2] == "cgroup2":
            mounts.setdefault("", parts[1])
        elif parts[2] == "cgroup":
            names = [name for name in parts[3].split(",") if name not in {"rw", "ro"}]
            known = [name for name in names if not _is_mount_option(name)]
            mounts.setdefault(",".join(known), parts[1])
    own: dict[str, str] = {}
    for line in _read(proc / "self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        hierarchy, _, path = rest.partition(":")
        own[hierarchy] = path
    first = {name for name in mounts if name and not name.startswith("name=")}
    version = "none"
    if first:
        version = "hybrid" if "" in mounts else "v1"
    elif "" in mounts:
        version = "v2"
    if version == "v2":
        controllers = tuple(_read(Path(mounts[""]) / "cgroup.controllers").split())
    else:
        controllers = tuple(sorted(part for name in first for part in name.split(",")))
    return CgroupLayout(version, own, mounts, controllers, _writable(version, own, mounts))


def _is_mount_option(name: str) -> bool:
    if name.startswith("name="):
        return False
    return "=" in name or name in {
        "nosuid", "nodev", "noexec", "relatime", "noatime", "xattr", "clone_children",
    }  # fmt: skip


def _writable(version: str, own: dict[str, str], mounts: dict[str, str]) -> bool:
    wanted = "" if version == "v2" else next((n for n in mounts if "memory" in n.split(",")), None)
    if wanted is None or wanted not in mounts:
        return False
    path = Path(mounts[wanted]) / own.get(wanted, "/").lstrip("/")
    if not path.is_dir():
        path = Path(mounts[wanted])
    return os.access(path, os.W_OK)


def _container(proc: Path) -> str:
    if Path("/.dockerenv").exists():
        return "docker"
    if Path("/run/.containerenv").exists():
        return "podman"
    environ = _read(proc / "1/environ").split("\0")
    return next((e.partition("=")[2] for e in environ if e.startswith("container=")), "")


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
