"""The loop's manager and workers on a real Ray."""

from __future__ import annotations

import asyncio

import loop_scorers
import numpy as np
import pytest
from reward_rollouts import CharTokenizer, make_batch

from verifier.errors import ConfigError, InfraError, RequestError
from verifier.reward_loop import RewardLoopManager
from verifier.reward_loop.manager import split
from verifier.scoring import EXTRA_KEYS

SCORERS = loop_scorers.__file__


def config(name, workers=2, **reward):
    custom = {"path": SCORERS, "name": name}
    return {"reward": {"num_workers": workers, "custom_reward_function": custom, **reward}}


@pytest.fixture
def loop_of(ray_here):
    made = []

    def make(conf, **settings):
        made.append(RewardLoopManager(conf, CharTokenizer(), num_cpus=0.5, **settings))
        return made[-1]

    yield make
    for manager in made:
        manager.close()


@pytest.mark.parametrize(
    ("rows", "parts", "ranges"),
    [
        (0, 2, []),
        (1, 2, [(0, 1)]),
        (5, 2, [(0, 3), (3, 5)]),
        (4, 4, [(0, 1), (1, 2), (2, 3), (3, 4)]),
    ],
)
def test_parts_are_contiguous_and_nearly_equal(rows, parts, ranges):
    assert split(rows, parts) == ranges


async def test_batch_in_parts_and_single_samples_meanwhile(loop_of):
    loop = loop_of(config("length"))
    batch = make_batch(["abcd", "", "ab", "abc", "a"])
    single = asyncio.ensure_future(loop.compute_score(batch[3:4]))
    rewards = await asyncio.to_thread(loop.compute_rm_score, batch)
    tensor = rewards.batch["rm_scores"]
    assert tensor.sum(dim=1).tolist() == [1.0, 0, 0.5, 0.75, 0.25]
    assert tensor[2].tolist() == [0, 0.5, 0, 0]
    assert rewards.meta_info["reward_extra_keys"] == list(EXTRA_KEYS)
    assert rewards.non_tensor_batch["score"].tolist() == [1.0, 0, 0.5, 0.75, 0.25]
    assert all(isinstance(column, np.ndarray) for column in rewards.non_tensor_batch.values())
    assert (await single)["reward_score"] == 0.75
    assert len(loop.reward_loop_worker_handles) == 2
    assert len(loop.compute_rm_score(make_batch([]))) == 0
    # More workers than rows.
    assert loop.compute_rm_score(make_batch(["ab"])).batch["rm_scores"].tolist() == [[0, 0.5]]


def test_a_worker_that_dies_is_replaced_and_its_samples_scored_once_more(loop_of, tmp_path):
    marker = tmp_path / "died"
    conf = config("dies_once", workers=2)
    conf["reward"]["custom_reward_function"]["reward_kwargs"] = {"marker": str(marker)}
    loop = loop_of(conf)
    batch = make_batch(["ok", "ok", "dies", "ok"])
    rewards = loop.compute_rm_score(batch)
    assert rewards.batch["rm_scores"].sum(dim=1).tolist() == [0.75] * 4
    assert marker.exists()


def test_a_sample_that_always_kills_its_worker_is_an_error_after_two(loop_of):
    loop = loop_of(config("whatever", workers=1))
    with pytest.raises(InfraError, match="died twice"):
        loop.compute_rm_score(make_batch(["die"]))
    assert loop.compute_rm_score(make_batch(["ok"])).batch["rm_scores"].sum() == 0.25


async def test_errors_of_a_worker_are_the_errors_themselves(loop_of):
    loop = loop_of(config("whatever", workers=1, reward_kwargs={"on_unavailable": "raise"}))
    with pytest.raises(InfraError, match="ValueError: no"):
        loop.compute_rm_score(make_batch(["ok", "raise"]))
    batch = make_batch(["ok"])
    del batch.non_tensor_batch["data_source"]
    with pytest.raises(RequestError, match="data_source"):
        await loop.compute_score(batch)


def test_handles_are_kept_back_where_a_reward_model_shares_the_machines(loop_of):
    reward_model = {"enable": True, "addresses": ["127.0.0.1:1"], "model_path": "m"}

    class Running:
        """A reward model that is there already."""

        def get_router_address(self):
            return "127.0.0.1:1"

    for pool, there in ((False, False), (True, True)):
        conf = config(
            "length", workers=1, reward_model={**reward_model, "enable_resource_pool": pool}
        )
        loop = loop_of(conf, reward_model=Running(), reward_model_tokenizer="its tokenizer")
        assert (loop.reward_loop_worker_handles is not None) is there


def test_without_ray_started_it_says_so(monkeypatch, ray_here):
    monkeypatch.setattr(ray_here, "is_initialized", lambda: False)
    with pytest.raises(ConfigError, match=r"ray\.init"):
        RewardLoopManager(config("length"), CharTokenizer())
