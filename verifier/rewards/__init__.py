"""From scores to rewards per token. Importing this loads torch; nothing below it does.

Managers here have verl's legacy interface, a batch in and a tensor out; `verifier.rewards.loop` has
the interface that verl's trainers call now.
"""

from __future__ import annotations

import importlib.util

if importlib.util.find_spec("torch") is None:
    raise ModuleNotFoundError(
        "verifier.rewards needs torch: pip install 'sandbox-verifier[rl]'", name="torch"
    )

from verifier.rewards.base import AbstractRewardManager, RawRewardFn
from verifier.rewards.batch import RewardBatch, RewardItem
from verifier.rewards.batched import BatchRewardManager
from verifier.rewards.dapo import DAPORewardManager
from verifier.rewards.groups import GroupStatistics, group_advantages, group_statistics
from verifier.rewards.loading import FunctionFrom, load_loop_manager, load_reward_manager
from verifier.rewards.loop.base import RewardManagerBase
from verifier.rewards.naive import NaiveRewardManager
from verifier.rewards.prime import PrimeRewardManager
from verifier.rewards.rate_limited import RateLimitedRewardManager
from verifier.rewards.registry import get_reward_manager_cls, register

__all__ = [
    "AbstractRewardManager",
    "BatchRewardManager",
    "DAPORewardManager",
    "FunctionFrom",
    "GroupStatistics",
    "NaiveRewardManager",
    "PrimeRewardManager",
    "RateLimitedRewardManager",
    "RawRewardFn",
    "RewardBatch",
    "RewardItem",
    "RewardManagerBase",
    "get_reward_manager_cls",
    "group_advantages",
    "group_statistics",
    "load_loop_manager",
    "load_reward_manager",
    "register",
]
