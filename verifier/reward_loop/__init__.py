"""Rewards while a trainer runs: Ray workers around the managers, reward models and their router.

    loop = RewardLoopManager(config, tokenizer)         # ray.init() before
    rewards = loop.compute_rm_score(batch)              # rm_scores and the extra columns

Names are loaded when they are first used: the router's process has no need of torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verifier.reward_loop.disrm import DisrmClient
    from verifier.reward_loop.manager import RewardLoopManager
    from verifier.reward_loop.reward_model import RewardModelManager
    from verifier.reward_loop.worker import RewardLoopWorker

__all__ = ["DisrmClient", "RewardLoopManager", "RewardLoopWorker", "RewardModelManager"]

_WHERE = {
    "DisrmClient": "disrm",
    "RewardLoopManager": "manager",
    "RewardLoopWorker": "worker",
    "RewardModelManager": "reward_model",
}


def __getattr__(name: str) -> object:
    """A public name, on first use."""
    if name in _WHERE:
        import importlib

        return getattr(importlib.import_module(f"verifier.reward_loop.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
