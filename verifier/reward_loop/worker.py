"""One worker of the loop: an actor that holds a manager, or a reward model's client."""

from __future__ import annotations

from typing import Any

from verifier.errors import ConfigError
from verifier.reward_loop.disrm import DisrmClient
from verifier.rewards.base import Batch
from verifier.rewards.loading import load_loop_manager
from verifier.rewards.settings import get, read_reward_config


class RewardLoopWorker:
    """Scores rows with what a configuration says.

    A custom reward function goes first (it may ask a reward model through the router); without
    one, an enabled reward model is a discriminative one and scores by itself; else the rules do.

    Args:
        config: See `verifier.rewards.settings`.
        reward_router_address: "HOST:PORT" of the reward model's router.
        tokenizer: Of the policy; None loads it from `actor_rollout_ref.model`.
        reward_model_tokenizer: Of the reward model; None loads it from its path.
        **settings: For the manager.

    Raises:
        ConfigError: A setting is wrong.
    """

    def __init__(
        self,
        config: Any,
        reward_router_address: str | None = None,
        tokenizer: Any = None,
        reward_model_tokenizer: Any = None,
        **settings: Any,
    ) -> None:
        read = read_reward_config(config)
        model = read.reward_model
        if tokenizer is None:
            where = get(get(config, "actor_rollout_ref"), "model")
            tokenizer = load_tokenizer(get(where, "tokenizer_path") or get(where, "path"))
        if model.enable and reward_model_tokenizer is None:
            reward_model_tokenizer = load_tokenizer(model.model_path)
        self.manager = load_loop_manager(
            config,
            tokenizer,
            reward_router_address=reward_router_address,
            reward_model_tokenizer=reward_model_tokenizer,
            **settings,
        )
        self._disrm: DisrmClient | None = None
        if model.enable and read.custom_path is None:
            if not reward_router_address:
                raise ConfigError("a reward model is enabled, but there is no router's address")
            self._disrm = DisrmClient(
                reward_router_address,
                model.model_path,
                model.engine,
                tokenizer,
                reward_model_tokenizer,
            )

    async def compute_score(self, data: Batch) -> dict[str, Any]:
        """Score the last row; see `RewardManagerBase.run_single`."""
        if self._disrm is not None:
            return await self._disrm.compute_score_disrm(data)
        return await self.manager.run_single(data)

    async def compute_score_batch(self, data: Batch) -> list[dict[str, Any]]:
        """Score all rows; those that a scorer takes in batches go out in one call."""
        if self._disrm is None:
            return await self.manager.run_batch(data)
        import asyncio

        rows: Any = data
        return list(
            await asyncio.gather(
                *(self._disrm.compute_score_disrm(rows[i : i + 1]) for i in range(len(data)))
            )
        )


def load_tokenizer(path: Any) -> Any:
    """A tokenizer of transformers.

    Raises:
        ConfigError: There is no path, or transformers is not installed.
    """
    if not path:
        raise ConfigError("there is no tokenizer: pass one, or set actor_rollout_ref.model.path")
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise ConfigError("to load a tokenizer: pip install transformers") from error
    return AutoTokenizer.from_pretrained(str(path))
