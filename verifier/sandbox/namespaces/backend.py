"""The `namespaces` backend: each slot is a runner in namespaces of its own.

It works as root and as an ordinary user, and needs nothing installed but the system's Python. What
it can give depends on who runs it: root has a cgroup per slot and user ids for each slot; an
ordinary user has what was delegated. `guarantees` says which.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

from verifier.errors import BackendError, SlotError
from verifier.runner.build import jail_library, runner_zipapp
from verifier.sandbox import controls, owner
from verifier.sandbox.base import Guarantee, GuaranteeName
from verifier.sandbox.namespaces import cgroup
from verifier.sandbox.namespaces.headers import Headers
from verifier.sandbox.runner_slot import RunnerSlot
from verifier.sandbox.warm import ForkFailures, WarmSandbox, any_stopped, processes_of

PYTHON = "/usr/bin/python3"
# PYTHONHASHSEED and the thread counts have to be there before the interpreter starts; the rest of a
# program's environment is the agent's (agent/jobs.py). -I would ignore all of it.
INTERPRETER = (PYTHON, "-s", "-X", "int_max_str_digits=0")
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # inside the jail
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}
# Two ids per slot, far above what distributions and container engines hand out.
UID_BASE, UID_SLOTS = 1_900_000_000, 50_000
MAX_SLOT_PROCESSES = 1200
START_S = 60.0


class NamespaceSandbox(WarmSandbox):
    """See the module."""

    name = "namespaces"

    def __init__(
        self,
        *,
        accept: Collection[str] = (),
        spawn_python: bool = False,
        cache_dir: str | None = None,
        _control_without: Collection[str] = (),
    ) -> None:
        """See `WarmSandbox`.

        Args:
            accept: See there.
            spawn_python: See there.
            cache_dir: Where precompiled headers are kept (`headers`); None or "": there are none.
            _control_without: For control runs (sandbox/controls.py).
        """
        super().__init__(accept, spawn_python=spawn_python)
        self._without = controls.check(_control_without)
        self._run_id = owner.new_run_id()
        self._manager: cgroup.CgroupManager | None = None
        folder = Path(cache_dir).expanduser().resolve() if cache_dir else None
        self.headers = Headers(folder) if folder is not None else None
        self._making: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """See `Sandbox.start`."""
        if self.headers is not None:
            await asyncio.to_thread(self.headers.check)
        await super().start()
        if self.headers is not None:
            # Behind the first programs: they compile as ever until it is there.
            self._making = asyncio.create_task(self.headers.make())

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be known and is no fault."""
        problem = "" if self.headers is None else self.headers.problem
        return (problem,) if problem else ()

    def _host_guarantees(self, counters: frozenset[str]) -> list[Guarantee]:
        del counters  # what the runner was given follows from the layout
        manager = self._groups()
        why = "; ".join(manager.problems) or "no cgroup controller can be used by this user"
        remedy = "run as root, or: systemd-run --user --scope -p Delegate=yes verifier ..."

        def one(name: GuaranteeName, controller: str, how: str, instead: str) -> Guarantee:
            if manager.layout.has(controller):
                return Guarantee(name, holds=True, mechanism=how)
            return Guarantee(name, holds=False, mechanism=f"{instead} ({why})", remedy=remedy)

        # Since Linux 5.14 RLIMIT_NPROC counts within the user namespace: slots do not add up.
        release = tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])
        processes = Guarantee(
            GuaranteeName.PROCESS_LIMIT,
            holds=True,
            mechanism="RLIMIT_NPROC, counted within the slot's user namespace",
        )
        if manager.layout.has("pids") or release < (5, 14):
            processes = one(
                GuaranteeName.PROCESS_LIMIT,
                "pids",
                "RLIMIT_NPROC and the slot's pids cgroup",
                "RLIMIT_NPROC, which this kernel counts over all slots",
            )
        return [
            one(
                GuaranteeName.MEMORY_LIMIT,
                "memory",
                "the slot's memory cgroup, over the whole process tree",
                "resident memory of the tree is sampled every 10 ms",
            ),
            one(
                GuaranteeName.CPU_ACCOUNTING,
                "cpu",
                "the slot's cgroup counter, over the whole process tree",
                "CPU time of living and waited-for processes is sampled every 10 ms",
            ),
            processes,
        ]

    async def close(self) -> None:
        """See `Sandbox.close`."""
        if self._making is not None:
            self._making.cancel()
            await asyncio.gather(self._making, return_exceptions=True)
            self._making = None
        for slot in list(self._slots):
            await slot.close()
        self._spare = None
        if self._manager is not None:
            await asyncio.to_thread(self._manager.close)
            self._manager = None

    # ------------------------------------------------------------ slots

    async def _pin(self, slot: RunnerSlot, cpu: int) -> None:
        # What they fork later inherits it. A core that has just been taken from this process, or a
        # sandbox around it that does not allow this: then the slot runs anywhere.
        with contextlib.suppress(OSError):
            for pid in processes_of(slot.pid):
                os.sched_setaffinity(pid, {cpu})

    def _groups(self) -> cgroup.CgroupManager:
        if self._manager is None:
            self._manager = cgroup.CgroupManager(cgroup.detect(), self._run_id)
            self._manager.sweep(owner.is_alive)
            self._manager.prepare()
        return self._manager

    async def _open(self) -> RunnerSlot:
        number = self._number()
        name = f"ns{number}"
        manager = await asyncio.to_thread(self._groups)
        bound = "process_limit" not in self._without
        try:
            group = manager.create(name, MAX_SLOT_PROCESSES if bound else 10 * MAX_SLOT_PROCESSES)
        except OSError as e:
            raise BackendError(f"cannot make a cgroup: {e}") from e
        process: subprocess.Popen[bytes] | None = None
        # Keeper, runner and zygote; what a program does to its own processes is its business.
        own: list[int] = []
        refusals = ForkFailures()
        slot: RunnerSlot

        async def on_close() -> None:
            self._slots.discard(slot)
            refusals.close()
            if process is not None:
                process.kill()
                await asyncio.to_thread(process.wait)
            await asyncio.to_thread(group.remove)

        async def set_memory(limit_bytes: int) -> None:
            try:
                group.set_memory(limit_bytes)
            except OSError as e:
                raise SlotError(f"{name}: cannot set the memory limit: {e}") from e

        async def stopped() -> bool:
            return any_stopped(own)

        has_memory = manager.layout.has("memory") and "memory_limit" not in self._without
        slot = RunnerSlot(
            name,
            on_close=on_close,
            set_memory=set_memory if has_memory else None,
            stopped=stopped,
            held_back=refusals.met,
            spawn=self._spawn_python,
        )
        self._slots.add(slot)
        ends: tuple[socket.socket, ...] = ()
        try:
            ends = ours, theirs = socket.socketpair()
            config, fds = group.runner_config()
            config["ids"] = _ids(number)
            if self._without:
                controls.apply(config, self._without)
            headers = None if self.headers is None else self.headers.folder
            process = await asyncio.to_thread(_start, config, theirs, fds, headers)
            slot.pid = process.pid
            theirs.close()
            group.release_fds()
            await slot.connect(ours, START_S)
            own += processes_of(process.pid)
            refusals.watch(own[-1])
        except (OSError, RuntimeError, SlotError) as e:  # RuntimeError: no thread can be started
            await self._undo(slot, ends)
            raise BackendError(f"cannot start a runner: {e}") from e
        except BaseException:
            await self._undo(slot, ends)
            raise
        finally:
            for end in ends[1:]:
                end.close()
        return slot

    @staticmethod
    async def _undo(slot: RunnerSlot, ends: tuple[socket.socket, ...]) -> None:
        try:
            await slot.close()
        finally:
            for end in ends:
                end.close()


def _start(
    config: dict[str, Any], theirs: socket.socket, fds: list[int], headers: Path | None
) -> subprocess.Popen[bytes]:
    # By descriptor: no path of the host is in the runner's memory, and it need not be able to walk
    # there itself.
    files = [
        os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in (jail_library(), runner_zipapp())
    ]
    library, zipapp = (f"/proc/self/fd/{fd}" for fd in files)
    if headers is not None:
        files.append(os.open(headers, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
        config["headers_fd"] = files[-1]
    argv = [
        *INTERPRETER,
        zipapp,
        "--lib",
        library,
        "--fd",
        str(theirs.fileno()),
        "--config",
        json.dumps(config),
    ]
    environment = dict(ENVIRONMENT)
    if "OPENBLAS_CORETYPE" in os.environ:  # some processors need it told
        environment["OPENBLAS_CORETYPE"] = os.environ["OPENBLAS_CORETYPE"]
    try:
        return subprocess.Popen(
            argv,
            pass_fds=[theirs.fileno(), *files, *fds],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None,
            cwd="/",
            start_new_session=True,
        )
    finally:
        for fd in files:
            os.close(fd)


def _ids(number: int) -> dict[str, Any] | None:
    """How the slot's user ids are mapped, or None for the caller's own id alone."""
    if os.geteuid() == 0:
        first = UID_BASE + 2 * ((os.getpid() * 64 + number) % UID_SLOTS)
        return {"how": "direct", "runner": first, "payload": first + 1}
    sub = [_sub_id(path) for path in ("/etc/subuid", "/etc/subgid")]
    if None not in sub and shutil.which("newuidmap") and shutil.which("newgidmap"):
        return {"how": "newuidmap", "subuid": sub[0], "subgid": sub[1]}
    return None


def _sub_id(path: str) -> int | None:
    """The first id of the caller's range in /etc/subuid or /etc/subgid."""
    names = {str(os.geteuid())}
    with contextlib.suppress(KeyError):
        names.add(pwd.getpwuid(os.geteuid()).pw_name)
    with contextlib.suppress(OSError, ValueError):
        for line in Path(path).read_text().splitlines():
            user, first, count = line.split(":")
            if user in names and int(count) > 0:
                return int(first)
    return None
