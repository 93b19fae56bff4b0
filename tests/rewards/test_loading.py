"""Managers from a configuration with verl's keys."""

from __future__ import annotations

import pytest
from reward_rollouts import CharTokenizer, make_batch

from verifier.errors import ConfigError
from verifier.rewards import (
    DAPORewardManager,
    NaiveRewardManager,
    RateLimitedRewardManager,
    load_loop_manager,
    load_reward_manager,
    loop,
)
from verifier.rewards.settings import RewardConfig, read_reward_config
from verifier.scoring import DefaultScorer

SCORER = """
def compute_score(data_source, solution_str, ground_truth, extra_info, bonus=0.0):
    return len(solution_str) + bonus

async def compute_later(data_source, solution_str, ground_truth, extra_info, bonus=0.0):
    return len(solution_str) + bonus
"""

MANAGER = """
from verifier.rewards import NaiveRewardManager

class Mine(NaiveRewardManager):
    pass
"""


def load(config, **settings):
    return load_reward_manager(config, CharTokenizer(), **settings)


def test_defaults():
    manager = load({})
    assert type(manager) is NaiveRewardManager
    assert isinstance(manager.compute_score, DefaultScorer)


def test_registered_name_with_its_arguments():
    config = {
        "reward": {
            "reward_manager": {"source": "register", "name": "dapo"},
            "reward_kwargs": {
                "max_resp_len": 8,
                "overlong_buffer_cfg": {"enable": True, "len": 2, "penalty_factor": 1.0},
            },
        }
    }
    manager = load(config)
    assert isinstance(manager, DAPORewardManager)
    assert manager.overlong.buffer_len == 2


@pytest.mark.parametrize("name", ["compute_score", "compute_later"])
def test_custom_function_from_a_file_with_its_arguments(tmp_path, name):
    file = tmp_path / "mine.py"
    file.write_text(SCORER)
    config = {
        "custom_reward_function": {
            "path": str(file),
            "name": name,
            "reward_kwargs": {"bonus": 0.5},
        }
    }
    tensor = load(config)(make_batch(["ab"]))
    assert tensor.tolist() == [[0, 2.5]]


def test_manager_by_importlib(tmp_path):
    file = tmp_path / "managers.py"
    file.write_text(MANAGER)
    for path in (str(file), f"file://{file}"):
        config = {
            "reward_manager": {"source": "importlib", "name": "Mine", "module": {"path": path}}
        }
        assert type(load(config)).__name__ == "Mine"
    module = {"path": "pkg://verifier.rewards.dapo"}
    config = {"reward_manager": {"source": "importlib", "name": "DAPORewardManager"}}
    config["reward_manager"]["module"] = module
    assert type(load(config)) is DAPORewardManager


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"reward_manager": {"name": "nave"}}, "did you mean 'naive'"),
        ({"reward_manager": {"source": "magic"}}, "magic"),
        ({"reward_manager": {"source": "importlib", "name": "X"}}, "module.path"),
        ({"custom_reward_function": {"path": "/no/such.py"}}, "no file"),
        ({"custom_reward_function": {"path": "pkg://no_such_package"}}, "cannot import"),
        (
            {"custom_reward_function": {"path": "pkg://verifier.rewards", "name": "nothing"}},
            "has no 'nothing'",
        ),
        ({"sandbox_fusion": {"url": "http://host:1/run_code"}}, "verifier://"),
        ({"reward_kwargs": {"overlong": 1}}, "no setting 'overlong'"),
        ({"reward_kwargs": {"on_unavailable": "mask", "inside_verl": True}}, "inside verl"),
    ],
)
def test_what_is_wrong_is_said(config, message):
    with pytest.raises(ConfigError, match=message):
        load(config)


def test_address_limits_and_policy_reach_the_default_scorer():
    manager = load(
        {
            "sandbox_fusion": {"url": "verifier://127.0.0.1:9", "memory_limit_mb": 256},
            "reward_kwargs": {"on_unavailable": "raise"},
        }
    )
    code = manager.compute_score._code
    assert code.server == "127.0.0.1:9"
    assert code.on_unavailable.value == "raise"
    assert code._limits.memory_bytes == 256 * 1024 * 1024


def test_two_files_of_one_name_are_two_modules(tmp_path):
    tensors = []
    for folder, value in (("a", 1.0), ("b", 2.0)):
        file = tmp_path / folder / "mine.py"
        file.parent.mkdir()
        file.write_text(f"def compute_score(**_):\n    return {value}\n")
        config = {"custom_reward_function": {"path": str(file)}}
        tensors.append(load(config)(make_batch(["a"])).item())
    assert tensors == [1.0, 2.0]


def test_rate_limits_reach_the_legacy_manager():
    config = {"reward": {"reward_manager": {"name": "rate_limited"}, "max_rpm": 7}}
    manager = load(config, compute_score=lambda **_: 1.0, limiter="loading")
    assert isinstance(manager, RateLimitedRewardManager)
    assert manager.limiter.limits.max_rpm == 7


@pytest.mark.parametrize("name", ["compute_score", "compute_later"])
async def test_loop_manager_with_a_custom_function(tmp_path, name):
    file = tmp_path / "mine.py"
    file.write_text(SCORER)
    config = {
        "reward": {
            "reward_manager": {"name": "dapo"},
            "custom_reward_function": {
                "path": str(file),
                "name": name,
                "reward_kwargs": {"bonus": 0.5},
            },
        }
    }
    manager = load_loop_manager(config, CharTokenizer())
    assert type(manager) is loop.DAPORewardManager
    answer = await manager.run_single(make_batch(["ab"]))
    assert answer["reward_score"] == 2.5
    assert answer["reward_extra_info"]["scorer"] == name


def test_loop_manager_by_importlib_with_the_default_scorer():
    manager = load_loop_manager(
        {
            "reward": {
                "reward_manager": {
                    "source": "importlib",
                    "name": "NaiveRewardManager",
                    "module": {"path": "pkg://verifier/rewards/loop"},
                },
                "sandbox_fusion": {"url": "verifier://127.0.0.1:9", "max_concurrent": 3},
                "reward_kwargs": {"on_unavailable": "raise"},
            }
        },
        CharTokenizer(),
    )
    assert type(manager) is loop.NaiveRewardManager
    assert manager.compute_score._code.server == "127.0.0.1:9"
    assert manager._gate.places == 3
    assert manager.on_unavailable.value == "raise"


def test_a_custom_object_that_takes_batches_is_handed_on_as_it_is(tmp_path):
    file = tmp_path / "batches.py"
    file.write_text(
        "class Mine:\n    def score_batch(self, samples):\n        return [0.5] * len(samples)\n"
        "scorer = Mine()\n"
    )
    custom = {"path": str(file), "name": "scorer"}
    assert load({"custom_reward_function": custom})(make_batch(["a"])).item() == 0.5
    with pytest.raises(ConfigError, match="takes batches"):
        load({"custom_reward_function": {**custom, "reward_kwargs": {"x": 1}}})


LEGACY = {
    "reward_model": {
        "num_workers": 3,
        "reward_manager": "dapo",
        "reward_kwargs": {"max_resp_len": 8},
        "enable": True,
        "model": {"path": "some/model"},
        "rollout": {"name": "sglang"},
    },
    "custom_reward_function": {"path": "mine.py", "name": "score"},
    "sandbox_fusion": {"url": "verifier://h:1", "max_concurrent": 4, "memory_limit_mb": 64},
}


def test_verls_legacy_names_are_read_and_go_first():
    now = {
        "reward": {
            "num_workers": 5,
            "reward_manager": {"source": "register", "name": "naive"},
            "sandbox_fusion": {"url": None, "max_concurrent": None},
            "reward_model": {"enable": False, "enable_resource_pool": True},
        }
    }
    read = read_reward_config({**now, **LEGACY})
    assert (read.manager_name, read.num_workers) == ("dapo", 3)
    assert (read.custom_path, read.custom_name) == ("mine.py", "score")
    assert (read.sandbox_url, read.max_concurrent, read.memory_limit_mb) == (
        "verifier://h:1",
        4,
        64,
    )
    assert read.reward_kwargs == {"max_resp_len": 8}
    model = read.reward_model
    assert (model.enable, model.model_path, model.engine) == (True, "some/model", "sglang")
    assert model.enable_resource_pool


def test_legacy_names_that_are_not_set_change_nothing():
    nothing = {
        "reward_model": {"num_workers": None, "reward_manager": None, "rollout": {"name": None}},
        "custom_reward_function": {"path": None, "name": None},
        "sandbox_fusion": {"url": None},
    }
    assert read_reward_config({"reward": {}, **nothing}) == read_reward_config({"reward": {}})
    assert read_reward_config(None) == RewardConfig()


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        ({"num_workers": 0}, "reward.num_workers=0"),
        ({"sandbox_fusion": {"url": "verifier://h:1", "max_concurrent": "x"}}, "max_concurrent"),
        ({"reward_kwargs": [1]}, "expected a mapping"),
        ({"reward_model": {"command": "serve it"}}, "list of arguments"),
    ],
)
def test_values_of_the_wrong_type_are_named(reward, message):
    with pytest.raises(ConfigError, match=message):
        read_reward_config({"reward": reward})
