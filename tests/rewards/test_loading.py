"""Managers from a configuration with verl's keys."""

from __future__ import annotations

import pytest
from reward_rollouts import CharTokenizer, make_batch

from verifier.errors import ConfigError
from verifier.rewards import DAPORewardManager, NaiveRewardManager, load_reward_manager
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
