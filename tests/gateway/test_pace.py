"""Those refused together do not return together."""

from __future__ import annotations

import itertools

import pytest

from verifier.gateway.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_each_refusal_has_a_turn_of_its_own_at_the_pace_of_the_places():
    clock = Clock()
    pace = Pace(clock)
    for _ in range(10):  # 50 places a second
        for _ in range(50):
            pace.freed()
        clock.now += 1.0
    pace.freed()
    turns = [pace.retry_after_s() for _ in range(100)]
    assert turns[0] == pytest.approx(0.52, abs=0.005)
    gaps = {round(b - a, 3) for a, b in itertools.pairwise(turns)}
    assert gaps == {0.02}
    clock.now += 1.0
    assert pace.retry_after_s() == pytest.approx(turns[-1] - 1.0 + 0.02, abs=0.005)
    clock.now += 60.0
    assert pace.retry_after_s() == pytest.approx(0.52, abs=0.005)


def test_nobody_is_sent_away_for_long():
    pace = Pace(Clock())
    assert max(pace.retry_after_s() for _ in range(5000)) == pytest.approx(10.0)
