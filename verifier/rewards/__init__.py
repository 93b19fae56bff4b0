"""From scores to rewards per token. Importing this loads torch; nothing below it does."""

from __future__ import annotations

from verifier.rewards.base import AbstractRewardManager, RawRewardFn
from verifier.rewards.batch import RewardBatch, RewardItem
from verifier.rewards.dapo import DAPORewardManager
from verifier.rewards.groups import GroupStatistics, group_advantages, group_statistics
from verifier.rewards.loading import load_reward_manager
from verifier.rewards.naive import NaiveRewardManager
from verifier.rewards.registry import get_reward_manager_cls, register

__all__ = [
    "AbstractRewardManager",
    "DAPORewardManager",
    "GroupStatistics",
    "NaiveRewardManager",
    "RawRewardFn",
    "RewardBatch",
    "RewardItem",
    "get_reward_manager_cls",
    "group_advantages",
    "group_statistics",
    "load_reward_manager",
    "register",
]
