"""Whose turn it is: priorities, fair shares of clients, turns of long tasks."""

from __future__ import annotations

import random

import pytest

from verifier.engine.shares import GRAIN_S, TURN_S, Claim, Line


def serve(line, seconds):
    """Grant the next one, let it use so much, and end it; its name."""
    place = line.first()
    line.grant(place.claim)
    line.leave(place)
    line.charge(place.claim, seconds)
    line.end(place.claim)
    return place.item


def test_priority_is_strict_and_one_client_is_served_in_order():
    line = Line()
    for name, priority in (("a", 0), ("b", 0), ("train", 10), ("c", -3), ("train2", 10)):
        line.enter(Claim(priority=priority), name)
    assert line.waiting == 5
    assert [serve(line, 1.0) for _ in range(5)] == ["train", "train2", "a", "b", "c"]
    assert line.first() is None


def test_a_client_with_thousands_queued_does_not_hold_up_another():
    line = Line()
    for number in range(10_000):
        line.enter(Claim("many"), f"many-{number}")
    for _ in range(100):
        serve(line, 0.5)
    line.enter(Claim("one"), "one")
    assert serve(line, 0.5) == "one"
    # It has had as much as the other since it came, and may not go first for ever.
    line.enter(Claim("one"), "one again")
    assert [serve(line, 0.5) for _ in range(2)] == ["many-100", "one again"]


def test_shares_go_by_time_not_by_count():
    line = Line()
    for number in range(100):
        line.enter(Claim("slow"), ("slow", number))
        line.enter(Claim("quick"), ("quick", number))
    used = {"slow": 0.0, "quick": 0.0}
    for _ in range(40):
        name = line.first().item[0]
        took = 1.0 if name == "slow" else 0.125
        used[name] += took
        serve(line, took)
    assert abs(used["slow"] - used["quick"]) <= 1.0


def test_who_comes_back_is_owed_nothing_and_has_not_paid_for_what_is_forgotten():
    line = Line()
    line.enter(Claim("a"), "a")
    serve(line, 100.0)
    # Nobody else was there: it owes nothing.
    line.enter(Claim("a"), "a2")
    line.enter(Claim("b"), "b")
    assert [serve(line, 1.0), serve(line, 1.0)] == ["a2", "b"]


def test_leaving_the_line_takes_nothing_with_it():
    line = Line()
    places = [line.enter(Claim(client), client) for client in "aabb"]
    line.leave(places[0])
    line.leave(places[0])
    line.leave(places[2])
    assert line.waiting == 2
    assert [serve(line, 1.0) for _ in range(2)] == ["a", "b"]


def test_who_is_outranked():
    line = Line()
    mine = Claim("me")
    line.grant(mine)
    assert not line.outranked(mine)
    line.enter(Claim("me"), "sibling")
    assert not line.outranked(mine)  # it waits for its turn
    line.charge(mine, TURN_S)
    assert line.outranked(mine)
    other = Line()
    other.grant(mine := Claim("me"))
    other.enter(Claim("you"), "you")
    assert not other.outranked(mine)
    other.charge(mine, 2 * GRAIN_S)
    assert other.outranked(mine)
    low = Line()
    low.grant(mine := Claim("me", 5))
    low.enter(Claim("me", 4), "lower")
    low.charge(mine, 100.0)
    assert not low.outranked(mine)
    low.enter(Claim("me", 6), "higher")
    assert low.outranked(mine)


def test_a_long_task_goes_to_the_end_after_its_turn_and_keeps_its_place_before():
    line = Line()
    long = Claim("c")
    line.enter(long, "long")
    line.enter(Claim("c"), "second")
    assert serve(line, TURN_S / 2) == "long"
    line.enter(long, "long")
    assert serve(line, TURN_S) == "long"
    line.enter(long, "long")
    line.enter(Claim("c"), "third")
    assert [serve(line, 0.1) for _ in range(3)] == ["second", "long", "third"]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_remembered_is_bounded(seed):
    chance = random.Random(seed)
    line, held = Line(), []
    for number in range(5000):
        claim = Claim(f"once-{number}", chance.choice((0, 0, 0, 7)))
        place = line.enter(claim, number)
        if chance.random() < 0.3:
            line.leave(place)
        while line.waiting > 20:
            place = line.first()
            line.grant(place.claim)
            line.leave(place)
            held.append(place.claim)
        while len(held) > 4:
            line.charge(held[0], chance.random())
            line.end(held.pop(0))
    levels = line._levels.values()
    assert sum(len(level.accounts) for level in levels) < 300
    assert sum(len(level.order) for level in levels) < 1500
    while line.waiting:
        serve(line, 0.1)
    for claim in held:
        line.end(claim)
    assert not line._levels
