"""Whose turn it is at the slots. Pure bookkeeping: nothing waits here, and times are handed in.

1. Priority is strict: nothing of a lower one is granted while something of a higher one waits.
2. Inside a priority, clients share by the time their tasks hold slots. Each client has an account
   of that time, and the one that used least is next (start-time fair queueing: a client that comes,
   or comes back, begins where the last grant began. It is owed nothing for the time before, and
   what it used beyond its share is not forgotten while others are there).
3. Inside a client, tasks come in the order in which they asked. One that has held slots for a turn
   (`TURN_S`) goes to the end of the line when it asks again; before that it keeps its place.

A task that holds a slot asks after each case whether somebody has a better claim (`outranked`). A
higher priority has one at once, another client after a grain (`GRAIN_S`) more than the other had, a
task of the same client after a turn. So long suites interleave with short ones, and short ones are
not torn apart for others of their kind.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from typing import Generic, TypeVar

TURN_S = 2.0
GRAIN_S = 0.1
# Accounts of clients that are not there are dropped when there are this many more of them.
_SPARE_ACCOUNTS = 64

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Claim:
    """What one task may say for itself in the line.

    Attributes:
        client: Whose account it is on.
        priority: Higher first.
        turn_s: Slot time of its turn so far: seconds, summed over slots.
        number: Its place among the tasks of its client; 0 before it has one.
        slot: Name of the slot it had last: what it compiled may still lie there.
    """

    client: str = ""
    priority: int = 0
    turn_s: float = 0.0
    number: int = 0
    slot: str = ""


@dataclass(eq=False, slots=True)
class Place(Generic[T]):
    """A claim in line, and what the line's owner keeps with it."""

    claim: Claim
    item: T
    gone: bool = False


@dataclass(eq=False, slots=True)
class _Account(Generic[T]):
    used_s: float
    held: int = 0
    waiting: int = 0
    line: list[tuple[int, int, Place[T]]] = field(default_factory=list)

    def first(self) -> Place[T]:
        while self.line[0][2].gone:
            heapq.heappop(self.line)
        return self.line[0][2]


@dataclass(eq=False, slots=True)
class _Level(Generic[T]):
    """The accounts of one priority. `clock_s` is where the last grant began."""

    clock_s: float = 0.0
    active: int = 0
    waiting: int = 0
    accounts: dict[str, _Account[T]] = field(default_factory=dict)
    # Entries go stale when an account changes, and a new one is pushed: see `_first`.
    order: list[tuple[float, int, int, _Account[T]]] = field(default_factory=list)


class Line(Generic[T]):
    """See the module. Every `enter` is followed by `leave`, and every `grant` by `end`.

    Who is granted from the line is granted first and leaves it then.
    """

    def __init__(self) -> None:
        """Nobody waits."""
        self._levels: dict[int, _Level[T]] = {}
        self._priorities: list[int] = []  # a heap of their negatives; stale ones are popped late
        self._queued: set[int] = set()
        self._numbers = itertools.count(1)
        self.waiting = 0

    def enter(self, claim: Claim, item: T) -> Place[T]:
        """Join the line."""
        place = Place(claim, item)
        level, account = self._account(claim)
        if not claim.number or claim.turn_s >= TURN_S:
            claim.number, claim.turn_s = next(self._numbers), 0.0
        heapq.heappush(account.line, (claim.number, next(self._numbers), place))
        if claim.priority not in self._queued:
            self._queued.add(claim.priority)
            heapq.heappush(self._priorities, -claim.priority)
        account.waiting += 1
        level.waiting += 1
        self.waiting += 1
        if account.waiting == 1:
            self._push(level, account)
        return place

    def first(self) -> Place[T] | None:
        """Whose turn it is."""
        level = self._top()
        return None if level is None else _first(level).first()

    def leave(self, place: Place[T]) -> None:
        """Give a place up; nothing was granted."""
        if place.gone:
            return
        place.gone = True
        claim = place.claim
        level = self._levels[claim.priority]
        account = level.accounts[claim.client]
        account.waiting -= 1
        level.waiting -= 1
        self.waiting -= 1
        if not account.waiting:
            account.line.clear()
        self._settle(claim, level, account)

    def grant(self, claim: Claim, count: int = 1) -> None:
        """Note that a claim was given so many slots."""
        level, account = self._account(claim)
        level.clock_s = max(level.clock_s, account.used_s)
        account.held += count
        level.active += count
        self._push(level, account)

    def charge(self, claim: Claim, seconds: float) -> None:
        """Note slot time that a granted claim has used."""
        claim.turn_s += seconds
        level = self._levels[claim.priority]
        account = level.accounts[claim.client]
        account.used_s += seconds
        self._push(level, account)

    def end(self, claim: Claim) -> None:
        """Note that one of its slots came back."""
        level = self._levels[claim.priority]
        account = level.accounts[claim.client]
        account.held -= 1
        level.active -= 1
        self._push(level, account)
        self._settle(claim, level, account)

    def outranked(self, claim: Claim) -> bool:
        """Whether somebody in line should have the slot of this claim."""
        level = self._top()
        if level is None:
            return False
        mine = self._levels[claim.priority]
        if level is not mine:
            return -self._priorities[0] > claim.priority
        own = mine.accounts[claim.client]
        best = _first(level)
        if best is not own and best.used_s + GRAIN_S < own.used_s:
            return True
        return own.waiting > 0 and claim.turn_s >= TURN_S

    # ------------------------------------------------------------ inside

    def _top(self) -> _Level[T] | None:
        while self._priorities:
            level = self._levels.get(-self._priorities[0])
            if level is not None and level.waiting:
                return level
            self._queued.discard(-heapq.heappop(self._priorities))
        return None

    def _account(self, claim: Claim) -> tuple[_Level[T], _Account[T]]:
        level = self._levels.setdefault(claim.priority, _Level())
        account = level.accounts.get(claim.client)
        if account is None:
            account = level.accounts[claim.client] = _Account(level.clock_s)
        elif not account.held and not account.waiting:
            account.used_s = max(account.used_s, level.clock_s)
        return level, account

    def _push(self, level: _Level[T], account: _Account[T]) -> None:
        if not account.waiting:
            return
        entry = (account.used_s, account.held, next(self._numbers), account)
        heapq.heappush(level.order, entry)
        if len(level.order) > 4 * len(level.accounts) + _SPARE_ACCOUNTS:
            level.order = [
                (a.used_s, a.held, next(self._numbers), a)
                for a in level.accounts.values()
                if a.waiting
            ]
            heapq.heapify(level.order)

    def _settle(self, claim: Claim, level: _Level[T], account: _Account[T]) -> None:
        """Forget what no longer says anything."""
        if not level.active and not level.waiting:
            # Nobody is there to whom anything could be owed.
            del self._levels[claim.priority]
            return
        if account.held or account.waiting:
            return
        if account.used_s <= level.clock_s:
            del level.accounts[claim.client]
        elif len(level.accounts) > 2 * (level.active + level.waiting) + _SPARE_ACCOUNTS:
            # Ids that come once: what is remembered of them is bounded.
            level.accounts = {c: a for c, a in level.accounts.items() if a.held or a.waiting}


def _first(level: _Level[T]) -> _Account[T]:
    """The account that is next; there is one that waits."""
    while True:
        used_s, held, _, account = level.order[0]
        if account.waiting and (used_s, held) == (account.used_s, account.held):
            return account
        heapq.heappop(level.order)
