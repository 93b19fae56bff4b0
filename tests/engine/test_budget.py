"""Early stop: the rule, and that what is found on the way never contradicts it."""

from __future__ import annotations

import math
import random

import pytest

from verifier.engine.budget import Stop, apply, check_policy, run_limits
from verifier.errors import RequestError
from verifier.types import CaseResult, Limits, ScorePolicy, Status

A, W, T, S = Status.ACCEPTED, Status.WRONG_ANSWER, Status.TIME_LIMIT, Status.SKIPPED


def cases(*statuses, cpu_s=0.0):
    return [CaseResult(i, status, cpu_time_s=cpu_s) for i, status in enumerate(statuses)]


@pytest.mark.parametrize(
    ("policy", "given", "counts", "why"),
    [
        (ScorePolicy(), (A, T, T, T), (A, T, T, T), ""),
        (ScorePolicy(max_time_limit_hits=2), (A, T, W, T, A, T), (A, T, W, T, S, S), "case 3: 2"),
        (ScorePolicy(max_time_limit_hits=1), (T, A), (T, S), "case 0: 1"),
        (ScorePolicy(max_time_limit_hits=2), (A, T, A), (A, T, A), ""),
        (ScorePolicy(max_time_limit_hits=2), (A, T, T), (A, T, T), ""),
        (ScorePolicy("all_or_nothing"), (A, W, A), (A, W, S), "case 1: a case was not"),
        (ScorePolicy("all_or_nothing", max_time_limit_hits=2), (T, T, A), (T, S, S), "case 0"),
    ],
)
def test_the_cut_goes_by_index(policy, given, counts, why):
    found, stopped = apply(cases(*given), policy)
    assert tuple(c.status for c in found) == counts
    assert bool(stopped) == bool(why)
    assert why in stopped


def test_the_budget_goes_by_index_too():
    policy = ScorePolicy(total_cpu_time_s=2.5)
    found, stopped = apply(cases(A, W, A, A, A, cpu_s=1.0), policy)
    assert [c.status for c in found] == [A, W, T, S, S]
    assert "2.5 s of CPU" in found[2].message
    assert stopped.startswith("stopped after case 2: ")
    assert "total_cpu_time_s" in stopped
    assert [c.status for c in apply(cases(A, A, cpu_s=1.0), policy)[0]] == [A, A]
    # The last case may use up what is left: it counts as late, and nothing was skipped.
    found, stopped = apply(cases(A, A, A, cpu_s=1.0), policy)
    assert [c.status for c in found] == [A, A, T]
    assert stopped == ""


def test_no_run_may_use_more_than_the_budget():
    limits = Limits(cpu_time_s=10.0)
    assert run_limits(limits, ScorePolicy()) is limits
    assert run_limits(limits, ScorePolicy(total_cpu_time_s=30.0)) is limits
    assert run_limits(limits, ScorePolicy(total_cpu_time_s=3.0)).cpu_time_s == 3.0


@pytest.mark.parametrize("seed", range(200))
def test_in_any_order_what_is_found_on_the_way_is_no_stricter_than_the_rule(seed):
    chance = random.Random(seed)
    policy = ScorePolicy(
        chance.choice(("pass_rate", "all_or_nothing")),
        max_time_limit_hits=chance.choice((0, 1, 2, 3)),
        total_cpu_time_s=chance.choice((0.0, 3.0, 8.0)),
    )
    every = [
        CaseResult(i, chance.choice((A, A, A, W, T)), cpu_time_s=chance.random() * 2)
        for i in range(20)
    ]
    whole = apply(every, policy)
    stop = Stop(policy, 20)
    known: list[CaseResult | None] = [None] * 20
    order = list(range(20))
    chance.shuffle(order)
    for index in order:
        if not stop.beyond(index):  # else nobody would run it
            known[index] = every[index]
            stop.note(every[index])
    assert apply(known, policy) == whole


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"max_time_limit_hits": -1}, "score_policy.max_time_limit_hits"),
        ({"total_cpu_time_s": -1.0}, "score_policy.total_cpu_time_s"),
        ({"total_cpu_time_s": math.nan}, "score_policy.total_cpu_time_s"),
        ({"total_cpu_time_s": math.inf}, "score_policy.total_cpu_time_s"),
    ],
)
def test_wrong_bounds_are_named(change, field):
    with pytest.raises(RequestError) as caught:
        check_policy(ScorePolicy(**change))
    assert caught.value.field == field
