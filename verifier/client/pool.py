"""The gateways of one client on one event loop: who is there, who is set aside, who comes back.

    usable --a connection failed, or three refusals in a row--> aside --its wait is over--> probed
       ^                                                          ^                          |  |
       |                                                          +--not there, a longer wait---+
       +---------------------------gRPC health says SERVING----------------------------------+

Nothing but health checks goes to a gateway that is set aside, each over a fresh connection, and all
calls share them: while no gateway is usable, calls wait for one check and not each for its own.
Once a call has given up in that state, later ones do not begin to wait: until the next check is due
they fail at once, and then wait for that one (a circuit breaker, half open).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from typing import Any

from verifier.client.balance import choose
from verifier.client.channel import CONNECT_TIMEOUT_S, Link
from verifier.client.counts import Counting
from verifier.client.endpoints import Address, Lookup, host_and_port, lookup, resolve
from verifier.client.gateway import Gateway
from verifier.client.retry import Backoff, RetryPolicy, pause
from verifier.client.uploads import Uploads
from verifier.errors import (
    BackendError,
    DeadlineError,
    GatewayUnavailableError,
    OverloadedError,
    SlotError,
    VerifierError,
)

__all__ = ["Pool"]

# A health check is answered from memory; it makes a connection first.
PROBE_TIMEOUT_S = CONNECT_TIMEOUT_S + 1.0
# A name is looked up again this often while it is in use, and at once when a gateway goes.
LOOK_UP_EVERY_S = 30.0
LOOK_UP_AT_MOST_EVERY_S = 1.0
# Requests refused in a row as not servable, over a connection that is fine: it drains, or is ill.
REFUSALS = 3


class Pool:
    """All of them. Belongs to the running loop.

    Args:
        targets: As `parse_targets` gives them.
        policy: Its waits are those between health checks.
        uploads: Makes the table of what a gateway has of ours.
        find: Looks names up.
        counting: Counters of the client.
    """

    def __init__(
        self,
        targets: Sequence[str],
        policy: RetryPolicy,
        uploads: Callable[[Gateway], Uploads],
        *,
        find: Lookup = lookup,
        counting: Counting | None = None,
    ) -> None:
        """Nothing is looked up or dialed."""
        self._targets = targets
        self._find = find
        self._uploads = uploads
        self._counting = counting or Counting()
        self._backoff = Backoff(policy)
        self._loop = asyncio.get_running_loop()
        self._gateways: dict[Address, Gateway] = {}
        self._named = any(host_and_port(target) for target in targets)
        self._looked_up = self._look_up_next = float("-inf")
        self._looking: asyncio.Task[None] | None = None
        self._reviving: asyncio.Task[None] | None = None
        self._probing: dict[Gateway, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._given_up = False
        self._back = asyncio.Event()
        self._why = ""

    # ------------------------------------------------------------ who there is

    @property
    def gateways(self) -> Collection[Gateway]:
        """All that are known."""
        return self._gateways.values()

    @property
    def usable(self) -> list[Gateway]:
        """Those that are not set aside."""
        return [gateway for gateway in self._gateways.values() if not gateway.aside]

    async def refresh(self) -> None:
        """Look the names up where that is due. Waits for it the first time only."""
        if self._gateways and (not self._named or self._loop.time() < self._look_up_next):
            return
        if self._looking is None:
            self._looking = self._spawn(self._look_up())
        if not self._gateways:
            await asyncio.shield(self._looking)

    async def _look_up(self) -> None:
        try:
            self._take(await resolve(self._targets, self._find))
        except OSError:
            # Those that are known stay. Where none is, gRPC says what is wrong with the name.
            if not self._gateways:
                self._take([Address(target) for target in self._targets])
        finally:
            self._looked_up = self._loop.time()
            self._look_up_next = self._looked_up + LOOK_UP_EVERY_S
            self._looking = None

    def _take(self, addresses: Iterable[Address]) -> None:
        found = {
            address: self._gateways.get(address) or Gateway(address, self._uploads)
            for address in addresses
        }
        gone = [gateway for address, gateway in self._gateways.items() if address not in found]
        self._gateways = found
        self._back.set()
        for gateway in gone:
            # What is in flight there may end.
            self._drop(gateway.relink(None))

    # ------------------------------------------------------------ which one

    async def admit(self) -> None:
        """Before a call.

        Raises:
            GatewayUnavailableError: It is known that nobody is there.
        """
        await self.refresh()
        if not self._given_up or self.usable:
            return
        wait_s = self._next_due() - self._loop.time()
        if wait_s > 0:
            raise GatewayUnavailableError(f"{self._why} (it is asked again in {wait_s:.1f} s)")
        if not await self.revive():
            raise self.unavailable()

    def pick(
        self,
        key: bytes | None = None,
        *,
        avoid: Collection[Gateway] = (),
        without: Collection[Gateway] = (),
    ) -> Gateway | None:
        """The gateway for a request.

        Args:
            key: Of its suite, where that was uploaded.
            avoid: Where it failed before: taken only if there is no other.
            without: Not to be taken.

        Returns:
            None where none of the rest is usable.
        """
        usable = [gateway for gateway in self.usable if gateway not in without]
        if not usable:
            return None
        self._probe_due()
        if len(usable) == 1:
            return usable[0]
        now = self._loop.time()
        fresh = [gateway for gateway in usable if gateway not in avoid] or usable
        calm = [gateway for gateway in fresh if gateway.quiet_until <= now] or fresh
        return choose(calm, key, random.random)

    def elsewhere(self, gateway: Gateway) -> bool:
        """Whether another one would take a request now."""
        now = self._loop.time()
        return any(g is not gateway and g.quiet_until <= now for g in self.usable)

    def unavailable(self) -> GatewayUnavailableError:
        """Why no gateway is usable."""
        return GatewayUnavailableError(self._why)

    # ------------------------------------------------------------ how it went

    def answered(self, gateway: Gateway) -> None:
        """It did: whatever was held against it is forgotten."""
        gateway.failures = gateway.refusals = 0
        gateway.quiet_until = 0.0
        if gateway.aside:
            self._restore(gateway)

    def failed(self, gateway: Gateway, link: Link, error: VerifierError) -> None:
        """A call over this connection ended in this error."""
        if isinstance(error, OverloadedError):
            gateway.quiet_until = self._loop.time() + error.retry_after_s
        elif isinstance(error, (GatewayUnavailableError, BackendError)):
            # A connection that was replaced meanwhile says nothing of the one that is.
            if gateway.holds(link):
                self._set_aside(gateway, error)
        elif isinstance(error, SlotError):
            self.refused(gateway, link, error)
        elif not isinstance(error, DeadlineError):
            self.answered(gateway)

    def refused(self, gateway: Gateway, link: Link, error: VerifierError) -> None:
        """It could not serve one request, and its connection is fine."""
        gateway.refusals += 1
        if gateway.refusals >= REFUSALS and gateway.holds(link):
            self._set_aside(gateway, error)

    def gave_up(self) -> None:
        """A call has no attempts left: where nobody is there, later ones do not wait as long."""
        self._given_up = not self.usable

    def _set_aside(self, gateway: Gateway, error: VerifierError) -> None:
        if not gateway.aside:
            self._counting.set_aside()
        gateway.aside = True
        gateway.refusals = 0
        gateway.failures += 1
        now = self._loop.time()
        gateway.due = now + self._backoff.sleep_s(gateway.failures, None)
        self._why = str(error)
        # Its name may have other addresses by now.
        self._look_up_next = min(self._look_up_next, self._looked_up + LOOK_UP_AT_MOST_EVERY_S)
        self._drop(gateway.relink(None))

    def _restore(self, gateway: Gateway) -> None:
        gateway.aside = False
        self._given_up = False
        self._back.set()

    # ------------------------------------------------------------ coming back

    async def revive(self) -> bool:
        """Wait until the next health check is over; whether there is a usable gateway then."""
        if not self.usable:
            if self._reviving is None:
                self._reviving = self._spawn(self._revive())
            await asyncio.shield(self._reviving)
        return bool(self.usable)

    async def _revive(self) -> None:
        try:
            await self._until_due()
            await self.refresh()
            if self._looking is not None:
                await asyncio.shield(self._looking)
            probes = self._probe_due()
            if probes:
                await asyncio.wait(probes, return_when=asyncio.ALL_COMPLETED)
        finally:
            self._reviving = None

    async def _until_due(self) -> None:
        """The pause before a check; over at once when one is usable by other ways."""
        self._back.clear()
        waits = {
            self._spawn(pause(max(0.0, self._next_due() - self._loop.time()))),
            self._loop.create_task(self._back.wait()),
        }
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _next_due(self) -> float:
        return min((gateway.due for gateway in self._gateways.values()), default=0.0)

    def _probe_due(self) -> list[asyncio.Task[None]]:
        """Check those whose wait is over; the checks that run."""
        now = self._loop.time()
        for gateway in self._gateways.values():
            if gateway.aside and gateway not in self._probing and gateway.due <= now:
                self._probing[gateway] = self._spawn(self._probe(gateway))
        return list(self._probing.values())

    async def _probe(self, gateway: Gateway) -> None:
        link = Link(gateway.address)
        try:
            error = await link.check(PROBE_TIMEOUT_S)
            if gateway.aside and error is None:
                self._drop(gateway.relink(link))
                self._restore(gateway)
                return
            if gateway.aside and error is not None:
                self._set_aside(gateway, error)
            await link.close()
        finally:
            self._probing.pop(gateway, None)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _drop(self, link: Link | None) -> None:
        if link is not None:
            self._spawn(link.drop())

    async def close(self) -> None:
        """Close every connection, and end the checks."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for gateway in self._gateways.values():
            await gateway.close()
        self._gateways = {}
