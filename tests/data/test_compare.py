"""Two results files side by side."""

from __future__ import annotations

import math

import pytest

from verifier.data.compare import chance_of, compare


def row(name, score, status="WRONG_ANSWER", outcome="SCORED"):
    if score == 1.0:
        status = "ACCEPTED"
    return {"id": name, "score": score, "status": status, "outcome": outcome}


def test_flips_in_both_directions():
    before = [row("a", 1.0), row("b", 0.5), row("c", 0.0), row("d", 1.0)]
    after = [row("d", 1.0), row("a", 0.5), row("b", 0.75), row("c", 1.0)]
    found = compare(before, after)
    assert (found.pairs, found.better, found.worse) == (4, 2, 1)
    assert (found.gained, found.lost) == (1, 1)
    assert found.changed == {("ACCEPTED", "WRONG_ANSWER"): 1, ("WRONG_ANSWER", "ACCEPTED"): 1}
    assert [flip.id for flip in found.flips] == ["a", "b", "c"]
    assert found.difference == pytest.approx(0.75 / 4)
    assert found.low < found.difference < found.high
    assert found.chance == 1.0


def test_what_is_not_compared_is_counted():
    fault = row("x", None, None, "INFRA_ERROR")
    found = compare([row("a", 1.0), fault, row("b", 1.0), row("b", 0.0)], [row("c", 1.0), fault])
    assert (found.pairs, found.only_first, found.only_second) == (0, 2, 1)
    assert (found.unscored, found.repeated) == (1, 1)
    assert (found.difference, found.low, found.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 1), (8, 2), (0, 10), (3, 12), (400, 500)])
def test_the_chance_is_that_of_the_binomial_test(gained, lost):
    n = gained + lost
    tail = sum(math.comb(n, k) for k in range(max(gained, lost), n + 1)) / 2**n
    assert chance_of(gained, lost) == pytest.approx(min(1.0, 2 * tail))
