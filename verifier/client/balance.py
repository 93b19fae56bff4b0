"""Which of several gateways a request goes to. Pure: no clock, no connection.

Without a key: the less busy of two drawn at random (M. Mitzenmacher, "The Power of Two Choices in
Randomized Load Balancing", 2001), by requests in flight from here.

With a key (a suite that lies at the gateway it was uploaded to): by rendezvous hashing (D. Thaler
and C. Ravishankar, 1998), so every client sends one suite to one gateway, and a gateway that goes
moves only its own suites. Bounded load (V. Mirrokni et al., "Consistent Hashing with Bounded
Loads", 2018) passes over a gateway that has a quarter more than its share, and more than a group's.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

__all__ = ["Candidate", "choose", "rank"]

# Of the mean: what a gateway may have before a suite's requests go to the next one.
LOAD_FACTOR = 1.25
# So many stay together in any case: a group of an RL step is about that, and one more upload of its
# suite costs more than a short queue.
GROUP = 16


class Candidate(Protocol):
    """What is known of a gateway here."""

    @property
    def target(self) -> str:
        """Its address: the same in every client."""
        ...

    @property
    def in_flight(self) -> int:
        """Requests that it has of this client."""
        ...


_C = TypeVar("_C", bound=Candidate)


def choose(candidates: Sequence[_C], key: bytes | None, draw: Callable[[], float]) -> _C:
    """One of them.

    Args:
        candidates: At least one.
        key: What should go to the same gateway each time; None: the least busy of two.
        draw: Gives a uniform number in [0, 1).
    """
    if len(candidates) == 1:
        return candidates[0]
    if key is None:
        first = int(draw() * len(candidates))
        second = int(draw() * (len(candidates) - 1))
        one, other = candidates[first], candidates[second + (second >= first)]
        return other if other.in_flight < one.in_flight else one
    total = sum(candidate.in_flight for candidate in candidates) + 1
    bound = max(GROUP, math.ceil(LOAD_FACTOR * total / len(candidates)))
    ranked = rank(candidates, key)
    return next((found for found in ranked if found.in_flight < bound), ranked[0])


def rank(candidates: Sequence[_C], key: bytes) -> list[_C]:
    """All of them, in the order in which this key prefers them."""

    def weight(candidate: _C) -> bytes:
        return hashlib.blake2b(candidate.target.encode(), key=key[:64], digest_size=8).digest()

    return sorted(candidates, key=weight, reverse=True)
