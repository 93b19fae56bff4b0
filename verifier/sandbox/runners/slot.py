"""A slot behind a runner that somebody else started."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from verifier.sandbox.base import Guarantee
from verifier.sandbox.runner_slot import RunnerSlot
from verifier.sandbox.runners.folder import Found, Greeting


class SidecarSlot(RunnerSlot):
    """See the module.

    Attributes:
        found: Its socket.
        greeting: What its container gives.
        guarantees: What was seen to hold in it.
    """

    def __init__(
        self,
        name: str,
        found: Found,
        greeting: Greeting,
        *,
        on_close: Callable[[], Awaitable[None]],
        spawn: bool = False,
    ) -> None:
        """For the rest see `RunnerSlot`."""
        super().__init__(name, on_close=on_close, spawn=spawn)
        self.found = found
        self.greeting = greeting
        self.guarantees: tuple[Guarantee, ...] = ()

    @property
    def healthy(self) -> bool:
        """Also false when the container has gone while the slot was idle."""
        return self._healthy and not self._stream.ended

    def is_lost(self) -> bool:
        """Whether the other end has gone, busy or idle."""
        return hasattr(self, "_stream") and self._stream.ended
