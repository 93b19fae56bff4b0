"""The managers that score a batch in one call, in parallel, or within limits: legacy interface."""

from __future__ import annotations

import asyncio

import loop_scorers
import pytest
import torch
from reward_rollouts import CharTokenizer, Scripted, make_batch, masked_batch

from verifier.errors import ConfigError, InfraError, RequestError
from verifier.rewards import (
    BatchRewardManager,
    PrimeRewardManager,
    RateLimitedRewardManager,
    get_reward_manager_cls,
)
from verifier.scoring import EXTRA_KEYS
from verifier.types import Outcome, Result, Status


@pytest.fixture
def prime():
    made = []

    def make(scorer=loop_scorers.whatever, **settings):
        settings.setdefault("num_processes", 2)
        made.append(PrimeRewardManager(CharTokenizer(), 0, scorer, **settings))
        return made[-1]

    yield make
    for manager in made:
        manager.close()


class Plural:
    """A scorer with the signature of verl's batch manager."""

    def __init__(self, *answers):
        self.answers = answers
        self.calls = []

    def __call__(self, data_sources, solution_strs, ground_truths, extra_infos, **more):
        self.calls.append((data_sources, solution_strs, ground_truths, extra_infos, more))
        if isinstance(self.answers[0], BaseException):
            raise self.answers[0]
        return list(self.answers)


def batch_manager(scorer, **settings):
    return BatchRewardManager(CharTokenizer(), 0, scorer, **settings)


def test_names():
    for name, cls in [
        ("batch", BatchRewardManager),
        ("prime", PrimeRewardManager),
        ("rate_limited", RateLimitedRewardManager),
    ]:
        assert get_reward_manager_cls(name) is cls


# ---------------------------------------------------------------- batch


def test_batch_makes_one_call_with_verls_plural_names():
    scorer = Plural(0.25, {"score": 0.5, "acc": 1})
    batch = make_batch(["abc", "a"], extra_info=[{"i": 0}, {"i": 1}])
    answer = batch_manager(scorer, bonus=3)(batch, return_dict=True)
    ((sources, texts, truths, extras, more),) = scorer.calls
    assert (sources, texts, truths) == (["toy"] * 2, ["abc", "a"], ["truth"] * 2)
    assert [extra["i"] for extra in extras] == [0, 1]
    assert more == {"bonus": 3}
    assert answer["reward_tensor"].tolist() == [[0, 0, 0.25], [0.5, 0, 0]]
    assert tuple(answer["reward_extra_info"]) == EXTRA_KEYS
    assert batch.batch["acc"].tolist() == [0.25, 0.5]


def test_batch_writes_nothing_for_an_empty_or_left_padded_end():
    assert batch_manager(Plural(1.0, 1.0))(make_batch(["ab", ""])).tolist() == [[0, 1], [0, 0]]
    assert batch_manager(Plural(1.0))(masked_batch([[1, 1, 0, 0, 1, 1]], 2)).tolist() == [
        [0, 0, 0, 1]
    ]


def test_batch_scorer_that_answers_too_few_or_without_score_is_named():
    with pytest.raises(RequestError, match="1 answers for 2 samples"):
        batch_manager(Plural(1.0))(make_batch(["a", "b"]))
    with pytest.raises(RequestError, match=r"samples\[1\].*'score'.*points"):
        batch_manager(Plural(1.0, {"points": 1}))(make_batch(["a", "b"]))


def test_batch_nonsense_costs_its_own_sample():
    scorer = Plural(1.0, None, float("nan"), {"score": True})
    answer = batch_manager(scorer, on_unavailable="mask")(make_batch(["a"] * 4), return_dict=True)
    assert answer["reward_extra_info"]["valid"] == [1, 0, 0, 1]


def test_batch_scorer_that_raises_is_a_fault_of_all_by_policy():
    with pytest.raises(InfraError, match="2 of 2 samples"):
        batch_manager(Plural(OSError("gone")), on_unavailable="raise")(make_batch(["a", "b"]))


def test_batch_mask_is_refused_inside_verl():
    with pytest.raises(ConfigError, match="inside verl"):
        batch_manager(Plural(), on_unavailable="mask", inside_verl=True)


def test_batch_of_none():
    assert tuple(batch_manager(Plural())(make_batch([])).shape) == (0, 0)


class OneStream:
    def __init__(self):
        self.calls = 0

    def score_batch(self, samples):
        self.calls += 1
        return [Result(Outcome.SCORED, score=1.0, status=Status.ACCEPTED) for _ in samples]


def test_batch_takes_a_scorer_with_score_batch():
    scorer = OneStream()
    batch_manager(scorer)(make_batch(["a", "b", "c"]))
    assert scorer.calls == 1


# ---------------------------------------------------------------- prime


def test_prime_scores_in_processes_and_writes_acc(prime):
    batch = make_batch(["a", "dict", ""])
    answer = prime()(batch, return_dict=True)
    assert answer["reward_tensor"].sum(dim=1).tolist() == [0.25, 0.5, 0]
    assert answer["reward_extra_info"]["acc"] == [0.25, 1.0, 0.25]
    assert torch.equal(batch.batch["acc"], torch.tensor([0.25, 0.5, 0.25]))


@pytest.mark.timeout(60)
def test_prime_samples_that_raise_die_hang_or_fork_cost_themselves_alone(prime):
    texts = ["ok", "raise", "die", "exit", "hang", "lock", "fork", "ok"]
    answer = prime(on_unavailable="mask", compute_score_timeout=4.0)(
        make_batch(texts), return_dict=True
    )
    assert answer["reward_extra_info"]["valid"] == [1, 0, 0, 0, 0, 0, 1, 1]
    assert answer["reward_tensor"].sum(dim=1).tolist() == [0.25, 0, 0, 0, 0, 0, 0.25, 0.25]


def test_prime_says_why(prime):
    with pytest.raises(InfraError, match=r"1 of 2 .*sample 1: InfraError: .*process died"):
        prime(on_unavailable="raise")(make_batch(["ok", "die"]))


def test_prime_refuses_what_cannot_travel(prime):
    with pytest.raises(ConfigError, match=r"another process.*'remote' or 'naive'"):
        prime(lambda **_: 1.0)
    with pytest.raises(ConfigError, match="num_processes"):
        prime(num_processes=0)


def test_prime_awaits_what_a_scorer_returns(prime):
    assert prime(loop_scorers.length_later)(make_batch(["ab"])).sum() == 0.5


# ---------------------------------------------------------------- rate_limited


def limited(scorer, **settings):
    settings.setdefault("limiter", object.__repr__(scorer))
    return RateLimitedRewardManager(CharTokenizer(), 0, scorer, **settings)


def test_rate_limited_batch_with_columns_of_every_sample():
    async def scorer(data_source, solution_str, ground_truth, extra_info):
        if solution_str == "bad":
            raise ConnectionError("reset")
        if solution_str == "slow":
            await asyncio.Event().wait()
        return 0.5

    answer = limited(scorer, timeout=0.2, max_concurrent=4, on_unavailable="mask")(
        make_batch(["ok", "bad", "slow"]), return_dict=True
    )
    info = answer["reward_extra_info"]
    assert tuple(info) == (*EXTRA_KEYS, "timeout", "error")
    assert info["timeout"] == [0, 0, 1]
    assert info["error"] == ["", "ConnectionError", "TimeoutError"]
    assert answer["reward_tensor"].sum(dim=1).tolist() == [0.5, 0, 0]


async def test_rate_limited_may_be_called_where_a_loop_runs():
    assert limited(Scripted(1.0))(make_batch(["a"])).tolist() == [[1.0]]


def test_rate_limited_reads_verls_keys():
    made = limited(Scripted(), config={"reward": {"max_rpm": 30, "max_concurrent": 3}})
    assert (made.limiter.limits.max_rpm, made.limiter.limits.max_concurrent) == (30, 3)
