from __future__ import annotations

import pytest

from verifier.errors import ConfigError
from verifier.rewards import (
    DAPORewardManager,
    NaiveRewardManager,
    get_reward_manager_cls,
    register,
)


def test_names_of_verl():
    assert get_reward_manager_cls("naive") is NaiveRewardManager
    assert get_reward_manager_cls("dapo") is DAPORewardManager


def test_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'naive'"):
        get_reward_manager_cls("naiv")


def test_same_class_twice_is_harmless_and_another_is_refused():
    assert register("naive")(NaiveRewardManager) is NaiveRewardManager
    with pytest.raises(ConfigError, match="already registered"):
        register("naive")(DAPORewardManager)
    assert get_reward_manager_cls("naive") is NaiveRewardManager
