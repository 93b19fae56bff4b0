"""The loop interface: one sample at a time while rollout goes on, assembled afterwards.

This is what verl's trainers call (`verl.experimental.reward_loop`). Scores travel as plain numbers
from worker processes; the controller makes the tensor of them with `assemble_rm_scores`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from verifier.rewards.assemble import write_scores
from verifier.rewards.base import Batch, Tokenizer
from verifier.rewards.reading import read_layout


class RewardManagerBase(ABC):
    """The contract, with verl's arguments.

    Args:
        config: verl's configuration, or a mapping with its keys; see `verifier.rewards.loading`.
        tokenizer: Decodes prompts and responses.
        compute_score: The scorer, sync or async, with verl's signature; None for the default.
        reward_router_address: "HOST:PORT" of a reward model's router, handed to the scorer.
        reward_model_tokenizer: The reward model's tokenizer, handed to the scorer with it.
    """

    def __init__(
        self,
        config: Any,
        tokenizer: Tokenizer,
        compute_score: Any = None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
    ) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.compute_score: Any = compute_score
        self.reward_router_address = reward_router_address
        self.reward_model_tokenizer = reward_model_tokenizer

    @abstractmethod
    async def run_single(self, data: Batch) -> dict[str, Any]:
        """Score the last row of a batch (an agent's trajectory has a row for each of its turns).

        Returns:
            `{"reward_score": float, "reward_extra_info": {...}}`, the latter with the same keys for
            every sample.

        Raises:
            InfraError: It could not be scored, and the policy is not "mask".
            RequestError: A field is missing; names it.
        """

    async def run_batch(self, data: Batch) -> list[dict[str, Any]]:
        """Score all rows of a batch; one answer of `run_single` for each, in order."""
        rows: Any = data
        return [await self.run_single(rows[i : i + 1]) for i in range(len(data))]

    @classmethod
    def assemble_rm_scores(cls, data: Batch, scores: Sequence[float]) -> torch.Tensor:
        """float32 (n, L) shaped like `responses`, each score on its response's last real token.

        An empty response gets nothing: at index -1 it would be the last padding token.
        """
        layout = read_layout(data)
        return write_scores(data.batch["responses"], layout.last, scores)
