"""What the backends with a runner in each slot have in common.

The first slot is opened to be asked what holds and which toolchains there are; it is kept as a
spare and becomes the first one that is handed out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection

from verifier.languages import RECIPES
from verifier.sandbox import accept as acceptance
from verifier.sandbox.base import Guarantee, Slot
from verifier.sandbox.probe import Probe, probe
from verifier.sandbox.runner_slot import RunnerSlot
from verifier.sandbox.versions import probe_versions


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
        self._versions: dict[str, str] | None = None
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
        if self._versions is None:
            slot = await self._take()
            try:
                self._versions = await probe_versions(slot, RECIPES)
            finally:
                if self._spare is None and slot.healthy:
                    self._spare = slot
                else:
                    await slot.close()
        return self._versions

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
