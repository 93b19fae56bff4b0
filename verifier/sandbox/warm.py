"""What the backends with a runner in each slot have in common.

The first slot is opened to be asked what holds and which toolchains there are; it is kept as a
spare and becomes the first one that is handed out.
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Collection
from pathlib import Path

from verifier.languages import PROBED
from verifier.sandbox import accept as acceptance
from verifier.sandbox.base import Guarantee, Slot
from verifier.sandbox.probe import Probe, probe
from verifier.sandbox.runner_slot import RunnerSlot
from verifier.sandbox.versions import Toolchains, probe_versions


class WarmSandbox(ABC):
    """A backend that opens `RunnerSlot`s.

    Attributes:
        accepted: Guarantees that may be missing.
    """

    def __init__(self, accept: Collection[str], *, spawn_python: bool) -> None:
        """Nothing is opened yet.

        Args:
            accept: Guarantees that may be missing, by name.
            spawn_python: Run Python programs in a fresh interpreter each (the `exec` mode).
        """
        self.accepted = acceptance.check_accepted(accept)
        self._spawn_python = spawn_python
        self._slots: set[RunnerSlot] = set()
        self._spare: RunnerSlot | None = None
        self._probe: Probe | None = None
        self._counters: frozenset[str] = frozenset()
        self._toolchains: Toolchains | None = None
        self.compiles_in_run = True
        self._opened = 0

    @abstractmethod
    async def _open(self) -> RunnerSlot:
        """A new slot, connected; it removes itself from `_slots` when it is closed."""

    @abstractmethod
    async def _pin(self, slot: RunnerSlot, cpu: int) -> None:
        """Bind all processes of a slot that is doing nothing to a core, as far as that can be."""

    @abstractmethod
    def _host_guarantees(self, counters: frozenset[str]) -> list[Guarantee]:
        """The promises that cannot be seen from inside a jail, from the counters a runner has."""

    async def start(self) -> None:
        """See `Sandbox.start`."""
        acceptance.require(await self.guarantees(), self.accepted)

    async def guarantees(self) -> tuple[Guarantee, ...]:
        """See `Sandbox.guarantees`: opens a slot and asks it."""
        if self._probe is None:
            slot = await self._open()
            try:
                self._probe = await probe(slot)
            except BaseException:
                await slot.close()
                raise
            self._spare, self._counters = slot, frozenset(slot.ready["counters"])
        return (*self._probe.guarantees(), *self._host_guarantees(self._counters))

    async def toolchains(self) -> dict[str, str]:
        """See `Sandbox.toolchains`: asked in a slot."""
        return (await self._ask()).versions

    async def packages(self) -> dict[str, dict[str, str]]:
        """See `Sandbox.packages`: asked with the toolchains."""
        return (await self._ask()).packages

    async def _ask(self) -> Toolchains:
        if self._toolchains is None:
            slot = await self._take()
            try:
                self._toolchains = await probe_versions(slot, PROBED)
            finally:
                if self._spare is None and slot.healthy:
                    self._spare = slot
                else:
                    await slot.close()
        return self._toolchains

    async def open_slot(self, cpu: int | None = None) -> Slot:
        """See `Sandbox.open_slot`."""
        slot = await self._take()
        if cpu is not None:
            try:
                await self._pin(slot, cpu)
            except BaseException:
                await slot.close()
                raise
        return slot

    async def _take(self) -> RunnerSlot:
        slot, self._spare = self._spare, None
        if slot is not None and slot.healthy:
            return slot
        return await self._open()

    def _number(self) -> int:
        """The next slot's number."""
        number, self._opened = self._opened, self._opened + 1
        return number


def processes_of(pid: int) -> list[int]:
    """A process and all below it, none of which is making others at the moment."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def any_stopped(pids: Collection[int]) -> bool:
    """Whether one of these processes is stopped (SIGSTOP); those that cannot be seen are not."""
    for pid in pids:
        with contextlib.suppress(OSError, IndexError):
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
            if stat.rpartition(")")[2].split()[0] == "T":
                return True
    return False


class ForkFailures:
    """Whether processes were refused to a slot by its own group, or by one above it.

    A program has its own limit (RLIMIT_NPROC), which is below that of the slot's group. Where the
    group is what refuses, it is full by somebody else's doing, or its limit was lowered: nothing
    that the program did then says anything about it. The kernel counts such refusals
    (`pids.events`). Where this host cannot see the group, none are seen.
    """

    def __init__(self) -> None:
        """Of nobody yet."""
        self._fd = -1
        self._count = b""

    def watch(self, pid: int) -> None:
        """Count those of the group that this process is in from now on."""
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
                _, names, own = line.split(":", 2)
                file = Path("/sys/fs/cgroup", names, own.lstrip("/"), "pids.events")
                if names in ("pids", "") and file.exists():
                    self._fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
                    self._count = os.pread(self._fd, 256, 0)
                    return

    def met(self) -> bool:
        """Whether there was one."""
        if self._fd < 0:
            return False
        try:
            return os.pread(self._fd, 256, 0) != self._count
        except OSError:  # the group is gone, and the slot with it
            return False

    def close(self) -> None:
        """No more."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
