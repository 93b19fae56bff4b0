"""The `runners` backend: slots whose containers compose or Kubernetes started, not we.

Each container listens on a unix socket in a folder that it shares with the gateway, and is one
slot; so the gateway needs no Docker socket and no privilege. A container has one cgroup, which its
runner reads, so it serves one connection at a time, and the second program of a pair (tests, a
checker, an interactor) runs in a container of its own kind, a helper.

Containers come and go: the folder is looked at twice a second, and whoever keeps the slots is told
how many there can be. Every runner is asked from inside what holds, when it is connected to; one
that lacks what the operator has not accepted is not used.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection
from pathlib import Path

from verifier.errors import BackendError, ConfigError, GuaranteeError, InfraError, SlotError
from verifier.languages import PROBED
from verifier.sandbox import accept as acceptance
from verifier.sandbox.base import Guarantee, Slot
from verifier.sandbox.probe import probe
from verifier.sandbox.runners import folder, promises
from verifier.sandbox.runners.folder import BusyError, Found
from verifier.sandbox.runners.slot import SidecarSlot
from verifier.sandbox.versions import Toolchains, probe_versions

logger = logging.getLogger(__name__)

START_S = 60.0
LOOK_S = 0.5
# How long a runner that answered wrongly is left alone; a new socket is tried at once.
AGAIN_S = 5.0
# A runner whose connection has ended is free again after so long, about.
ENDING_S = 0.05
# How long a pair waits for a helper.
HELPER_S = 60.0


class RunnerSandbox:
    """See the module and `Sandbox`.

    Attributes:
        accepted: Guarantees that may be missing.
        compiles_in_run: See `sandbox.sources`.
        memory_ceiling: The largest memory limit that all runners can hold, in bytes.
        partners_wanted: Pairs that wait for a helper.
    """

    name = "runners"

    def __init__(
        self,
        directory: str | Path | None,
        *,
        accept: Collection[str] = (),
        spawn_python: bool = False,
    ) -> None:
        """Nothing is opened yet.

        Args:
            directory: The folder of the runners' sockets.
            accept: Guarantees that may be missing, by name.
            spawn_python: Run Python programs in a fresh interpreter each.

        Raises:
            ConfigError: No folder is named, or `accept` names no guarantee.
        """
        if not directory:
            raise ConfigError(
                "runners_dir: the runners backend needs the folder of their sockets: "
                "VERIFIER_RUNNERS_DIR=/run/verifier/runners (docs/sidecar.md)"
            )
        self.directory = Path(directory)
        self.accepted = acceptance.check_accepted(accept)
        self.compiles_in_run = True
        self.memory_ceiling = 0
        self.partners_wanted = 0
        self._spawn_python = spawn_python
        self._found: dict[Path, Found] = {}
        self._taken: dict[Path, SidecarSlot | None] = {}
        self._left_alone: dict[Path, tuple[tuple[int, int], float, str]] = {}
        self._spare: SidecarSlot | None = None
        self._toolchains: Toolchains | None = None
        self._changed: Callable[[int], None] = lambda _: None
        self._watching: asyncio.Task[None] | None = None
        self._freed = asyncio.Event()
        self._closed = False
        self._opened = 0
        self._said: set[str] = set()

    # ------------------------------------------------------------ what a sandbox is

    async def start(self) -> None:
        """See `Sandbox.start`. Waits for the first runner."""
        deadline = time.monotonic() + START_S
        while self._spare is None:
            try:
                self._spare = await self._open("runner", None)
            except InfraError as e:  # noqa: PERF203 - it waits anyway
                if time.monotonic() > deadline:
                    raise BackendError(
                        f"no runner can be used in {self.directory}: {e}; look at: "
                        f"docker-compose ps, docker-compose logs runner"
                    ) from e
                await asyncio.sleep(LOOK_S / 5)
        self._watching = asyncio.create_task(self._watch())

    async def guarantees(self) -> tuple[Guarantee, ...]:
        """See `Sandbox.guarantees`: of the weakest of the runners that are connected."""
        if self._spare is None and not self._slots():
            self._spare = await self._open("runner", None, required=False)
        return self.held

    async def toolchains(self) -> dict[str, str]:
        """See `Sandbox.toolchains`: asked in one of them; they are of one image."""
        return (await self._ask()).versions

    async def packages(self) -> dict[str, dict[str, str]]:
        """See `Sandbox.packages`: asked with the toolchains."""
        return (await self._ask()).packages

    async def _ask(self) -> Toolchains:
        if self._toolchains is None:
            slot = await self._take(None)
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
        return await self._take(cpu)

    async def open_partner(self, cpu: int | None = None) -> Slot:
        """A helper, as soon as one is free.

        Raises:
            BackendError: There is none, or none has become free in `HELPER_S`.
        """
        deadline = time.monotonic() + HELPER_S
        waiting = False
        try:
            while True:
                self._freed.clear()
                try:
                    return await self._open("helper", cpu)
                except SlotError as e:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise BackendError(f"no helper has become free: {e}") from e
                    # One whose runner is just ending needs no other to be let go.
                    pause_s = ENDING_S if isinstance(e, BusyError) else LOOK_S
                    if not waiting and not isinstance(e, BusyError):
                        waiting = True
                        self.partners_wanted += 1
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(self._freed.wait(), min(left, pause_s))
        finally:
            self.partners_wanted -= waiting

    async def close(self) -> None:
        """See `Sandbox.close`. The containers are not ours; their runners end."""
        self._closed = True
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            self._watching = None
        await asyncio.gather(*(slot.close() for slot in self._slots()), return_exceptions=True)
        self._spare = None

    @property
    def held(self) -> tuple[Guarantee, ...]:
        """Each promise as the runner that has it least, of those that are connected."""
        return promises.weakest([slot.guarantees for slot in self._slots()])

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be known and is no fault."""
        problems = [problem for _, _, problem in self._left_alone.values() if problem]
        slots = self._slots()
        if slots and not any(f.role == "helper" for f in self._found.values()):
            problems.append(
                "there is no helper: asserts, checkers and interactors cannot be run "
                "(docker-compose up --scale helper=N)"
            )
        if self.memory_ceiling:
            problems.append(promises.memory_class(self.memory_ceiling))
        return tuple(sorted(problems))

    # ------------------------------------------------------------ slots that come and go

    @property
    def slot_count(self) -> int:
        """Runners that serve us, or might."""
        return sum(f.role == "runner" and not self._is_left_alone(f) for f in self._found.values())

    def on_slot_count(self, changed: Callable[[int], None]) -> None:
        """Have somebody told how many slots there can be, and when one of them has died."""
        self._changed = changed

    async def _watch(self) -> None:
        told = self._look()
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                seen = self._look()
            except BackendError as e:
                self._say(str(e))
                continue
            if seen != told:
                told = seen
                self._changed(self.slot_count)
                self._freed.set()

    def _look(self) -> frozenset[tuple[int, int]]:
        """Look at the folder; an equal answer means that nothing has changed."""
        self._found = {found.path: found for found in folder.look(self.directory)}
        for path in set(self._left_alone) - set(self._found):
            del self._left_alone[path]
        for path, slot in self._taken.items():
            if slot is not None and path in self._found and slot.is_lost():
                # Its container has gone, and its file has stayed.
                self._left_alone[path] = (slot.found.born, float("inf"), "")
        return frozenset(f.born for f in self._found.values() if not self._is_left_alone(f))

    def _is_left_alone(self, found: Found) -> bool:
        born, until, _ = self._left_alone.get(found.path, ((0, 0), 0.0, ""))
        return born == found.born and time.monotonic() < until

    def _slots(self) -> list[SidecarSlot]:
        return [slot for slot in self._taken.values() if slot is not None]

    async def _take(self, cpu: int | None) -> SidecarSlot:
        slot, self._spare = self._spare, None
        if slot is not None and slot.healthy:
            return slot
        return await self._open("runner", cpu)

    async def _open(self, role: str, cpu: int | None, *, required: bool = True) -> SidecarSlot:
        """Connect to a runner of a role that is free.

        Raises:
            SlotError: None is free at the moment.
            BackendError: There is none of that role, or all are of another version.
            GuaranteeError: None gives what is required.
        """
        self._look()
        problem: InfraError | GuaranteeError | None = None
        of_role = [found for found in self._found.values() if found.role == role]
        for found in of_role:
            if found.path in self._taken or self._is_left_alone(found) or self._closed:
                continue
            try:
                return await self._connect(found, cpu, required=required)
            except (InfraError, GuaranteeError) as e:
                problem = e
        if isinstance(problem, GuaranteeError) and self._watching is not None:
            raise BackendError(str(problem)) from problem  # one of many, and we serve already
        if problem is not None:
            raise problem
        said = [why for _, _, why in self._left_alone.values() if why]
        if not of_role or said:
            raise BackendError(
                "; ".join(said)
                or f"there is no {role} in {self.directory}: docker-compose up --scale {role}=N"
            )
        raise SlotError(f"each {role} in {self.directory} is taken")

    async def _connect(self, found: Found, cpu: int | None, *, required: bool) -> SidecarSlot:
        self._taken[found.path] = None
        slot: SidecarSlot | None = None

        async def on_close() -> None:
            if self._taken.get(found.path) is slot:
                del self._taken[found.path]
            self._freed.set()

        try:
            sock, greeting = await asyncio.to_thread(folder.connect, found, cpu)
            self._opened += 1
            name = f"{found.role}-{found.host}-{self._opened}"
            slot = SidecarSlot(name, found, greeting, on_close=on_close, spawn=self._spawn_python)
            self._taken[found.path] = slot
            await slot.connect(sock, START_S)
            inside = await probe(slot)
            slot.guarantees = promises.of_runner(
                inside, greeting, slot.ready["counters"], str(slot.ready.get("kernel"))
            )
            if required:
                acceptance.require(slot.guarantees, self.accepted)
        except BaseException as e:
            if slot is None:
                del self._taken[found.path]
            else:
                await slot.close()
            if isinstance(e, (InfraError, GuaranteeError)) and not isinstance(e, BusyError):
                self._leave_alone(found, e)
            raise
        ceiling = promises.largest_limit(greeting)
        self.memory_ceiling = min(self.memory_ceiling or ceiling, ceiling)
        return slot

    def _leave_alone(self, found: Found, error: Exception) -> None:
        """For a while; what it is goes into the notes, unless it is just not there."""
        told = "" if isinstance(error, SlotError) else str(error)
        self._left_alone[found.path] = (found.born, time.monotonic() + AGAIN_S, told)
        if told:
            self._say(told)

    def _say(self, problem: str) -> None:
        if problem not in self._said:
            logger.warning("%s", problem)
            self._said.add(problem)
