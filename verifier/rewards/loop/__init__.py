"""Managers of the loop interface, which verl's trainers call: samples are scored one by one.

from verifier.rewards.loop import get_reward_manager_cls

manager = get_reward_manager_cls("naive")(config, tokenizer, compute_score)
answer = await manager.run_single(data)     # {"reward_score": ..., "reward_extra_info": {...}}
"""

from __future__ import annotations

from verifier.rewards.loop.base import RewardManagerBase
from verifier.rewards.loop.dapo import DAPORewardManager
from verifier.rewards.loop.gdpo import GDPORewardManager
from verifier.rewards.loop.naive import NaiveRewardManager
from verifier.rewards.loop.rate_limited import RateLimitedRewardManager
from verifier.rewards.loop.registry import get_reward_manager_cls, names, register
from verifier.rewards.loop.remote import RemoteRewardManager

__all__ = [
    "DAPORewardManager",
    "GDPORewardManager",
    "NaiveRewardManager",
    "RateLimitedRewardManager",
    "RemoteRewardManager",
    "RewardManagerBase",
    "get_reward_manager_cls",
    "names",
    "register",
]
