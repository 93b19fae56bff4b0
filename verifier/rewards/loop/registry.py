"""Managers of the loop interface by name."""

from __future__ import annotations

from verifier.rewards.loop.base import RewardManagerBase
from verifier.rewards.registry import Registry

_loop: Registry[RewardManagerBase] = Registry("reward loop manager")
register = _loop.register
get_reward_manager_cls = _loop.get
names = _loop.names
