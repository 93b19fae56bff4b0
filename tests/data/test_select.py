"""Selections, and pass@k."""

from __future__ import annotations

import itertools
import math

import pytest

from verifier.data import Selection, parse_shard, pass_at_k, pass_chance
from verifier.errors import ConfigError


def chosen(total=20, **options):
    return list(Selection(**options).of(lambda: range(total)))


def test_all_by_default():
    assert chosen() == list(range(20))


def test_the_first_ones():
    assert chosen(limit=3) == [0, 1, 2]
    assert chosen(limit=100) == list(range(20))


def test_shards_are_all_rows_each_once():
    parts = [chosen(shard=(i, 3)) for i in (1, 2, 3)]
    assert sorted(itertools.chain(*parts)) == list(range(20))
    assert parts[0][:3] == [0, 3, 6]


def test_a_sample_is_in_order_and_the_same_each_time():
    drawn = chosen(sample=5, seed=3)
    assert drawn == chosen(sample=5, seed=3)
    assert drawn == sorted(set(drawn))
    assert len(drawn) == 5
    assert drawn != chosen(sample=5, seed=4)
    assert chosen(sample=99) == list(range(20))


@pytest.mark.parametrize("total", [0, 1, 7, 20])
@pytest.mark.parametrize("options", [{}, {"shard": (2, 3)}, {"limit": 4, "sample": 6}])
def test_the_count_is_what_comes(total, options):
    assert Selection(**options).count(total) == len(chosen(total, **options))


@pytest.mark.parametrize("given", ["", "1", "0/3", "4/3", "1/0", "a/b", "-1/3", "1/3/5"])
def test_a_shard_that_is_none(given):
    with pytest.raises(ConfigError, match="I/N"):
        parse_shard(given)


@pytest.mark.parametrize(
    ("n", "c", "k"), [(5, 2, 1), (5, 2, 3), (10, 0, 3), (10, 10, 3), (4, 3, 2)]
)
def test_the_chance_is_that_of_all_ways_to_draw(n, c, k):
    draws = list(itertools.combinations(range(n), k))
    passing = sum(any(sample < c for sample in draw) for draw in draws)
    assert pass_chance(n, c, k) == pytest.approx(passing / len(draws))


def test_many_samples_do_not_overflow():
    assert pass_chance(100_000, 1, 1) == pytest.approx(1e-5)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)])
def test_what_is_no_chance(n, c, k):
    with pytest.raises(ValueError, match="pass@"):
        pass_chance(n, c, k)


def test_over_problems_with_an_interval():
    found = pass_at_k([(2, 2), (2, 0), (2, 1), (1, 1)], 2)
    assert (found.problems, found.left_out) == (3, 1)
    assert found.value == pytest.approx(2 / 3)
    spread = 1.959964 * math.sqrt((1 / 3) / 3)
    assert found.low == pytest.approx(max(0, 2 / 3 - spread))
    assert found.high == 1.0
    assert pass_at_k([(1, 1)], 2) is None
