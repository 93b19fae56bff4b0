"""Which host a client sends a response to, by what this client knows: its own requests in flight.

Two choices is the client's own code (`verifier.client.balance`). Suite affinity is its rule with
the same constants; there the order of hosts that a suite prefers is made by hashing all of them,
here it is drawn host by host as far as it is looked at, from a generator seeded by the suite. Both
are uniformly random orders that all clients agree on.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.scale.work import Suite
from verifier.client.balance import GROUP, LOAD_FACTOR, choose

# What the client sends along with each request instead of uploading it (`upload_above_bytes`).
UPLOAD_ABOVE_BYTES = 262_144


@dataclass(slots=True)
class Lane:
    """One host as one client sees it.

    Attributes:
        host: Its number.
        in_flight: Requests of this client there.
        usable: False while the client knows that it is gone.
    """

    host: int
    in_flight: int = 0
    usable: bool = True

    @property
    def target(self) -> str:
        """A name, as the client's balancing asks for one."""
        return str(self.host)


class Policy:
    """How one client chooses; the base class goes round robin.

    Attributes:
        total: This client's requests in flight, at all hosts.
    """

    def __init__(self, lanes: Sequence[Lane], seed: int) -> None:
        """`seed` is of this client."""
        self.lanes = lanes
        self.total = 0
        self.rng = random.Random(seed)  # noqa: S311 - a simulation
        self._next = self.rng.randrange(len(lanes))
        self.usable: list[Lane] = []
        self.looked()

    def choose(self, suite: Suite | None) -> Lane:  # noqa: ARG002 - others look at it
        """A usable host; there is one."""
        self._next = (self._next + 1) % len(self.usable)
        return self.usable[self._next]

    def add(self, lane: Lane, requests: int) -> None:
        """So many more are in flight there; less where negative."""
        lane.in_flight += requests
        self.total += requests

    def looked(self) -> None:
        """Hosts went or came back."""
        self.usable = [lane for lane in self.lanes if lane.usable]


class LeastLoaded(Policy):
    """The host with the fewest of this client's requests in flight; of several, any.

    A heap of (load, tie, host); an entry whose load is no longer true is thrown away.
    """

    def choose(self, suite: Suite | None) -> Lane:  # noqa: ARG002
        """The first true entry's."""
        while True:
            load, _, number = self._heap[0]
            lane = self.lanes[number]
            if lane.usable and lane.in_flight == load:
                return lane
            heapq.heappop(self._heap)

    def add(self, lane: Lane, requests: int) -> None:
        """What was pushed before is no longer true."""
        super().add(lane, requests)
        heapq.heappush(self._heap, (lane.in_flight, self.rng.random(), lane.host))

    def looked(self) -> None:
        """From scratch."""
        super().looked()
        self._heap = [(lane.in_flight, self.rng.random(), lane.host) for lane in self.usable]
        heapq.heapify(self._heap)


class TwoChoices(Policy):
    """The less busy of two drawn at random."""

    def choose(self, suite: Suite | None) -> Lane:  # noqa: ARG002
        """The client's own code."""
        return choose(self.usable, None, self.rng.random)


class Affinity(TwoChoices):
    """An uploaded suite's responses go where it is, up to a bound; the others by two choices."""

    def __init__(self, lanes: Sequence[Lane], seed: int) -> None:
        """No suite was seen yet."""
        super().__init__(lanes, seed)
        self._orders: dict[int, tuple[random.Random, list[int]]] = {}

    def choose(self, suite: Suite | None) -> Lane:
        """The first in the suite's order that has not more than its share."""
        if suite is None or suite.size_bytes <= UPLOAD_ABOVE_BYTES:
            return super().choose(suite)
        bound = max(GROUP, math.ceil(LOAD_FACTOR * (self.total + 1) / len(self.usable)))
        first = None
        for position in range(len(self.lanes)):
            lane = self.lanes[self._ranked(suite.number, position)]
            if lane.usable:
                first = first or lane
                if lane.in_flight < bound:
                    return lane
        return first or self.usable[0]

    def _ranked(self, suite: int, position: int) -> int:
        """The host at this place of the suite's order, the same for each client."""
        if suite not in self._orders:
            self._orders[suite] = random.Random(suite), []  # noqa: S311 - a simulation
        rng, order = self._orders[suite]
        while len(order) <= position:
            host = rng.randrange(len(self.lanes))
            if host not in order:
                order.append(host)
        return order[position]


POLICIES: dict[str, Callable[[Sequence[Lane], int], Policy]] = {
    "round robin": Policy,
    "least loaded": LeastLoaded,
    "two choices": TwoChoices,
    "suite affinity": Affinity,
}
