"""What a reward manager is: a batch of rollouts in, a reward per token out.

The interface is verl's legacy one, so that a manager of ours can stand where one of verl's does.
Batches are duck-typed: verl's DataProto and our `RewardBatch` both have `.batch`,
`.non_tensor_batch`, `.meta_info` and a length, and verl is never imported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import torch

from verifier.errors import RequestError

RawRewardFn = Callable[..., Any]


class Tensors(Protocol):
    """A dict of tensors, or a TensorDict (which is no Mapping)."""

    def __getitem__(self, key: str, /) -> Any: ...

    def keys(self) -> Iterable[Any]:
        """The names."""
        ...


class Batch(Protocol):
    """What managers read of a batch."""

    @property
    def batch(self) -> Any:
        """`Tensors`: prompts (n, P), responses (n, L), attention_mask (n, P + L), ..."""
        ...

    @property
    def non_tensor_batch(self) -> Mapping[str, Any]:
        """Columns of n values: data_source, reward_model, extra_info, ..."""
        ...

    @property
    def meta_info(self) -> Mapping[str, Any]:
        """Facts of the whole batch."""
        ...

    def __len__(self) -> int: ...


class Tokenizer(Protocol):
    """What managers need of a tokenizer; any of transformers' will do."""

    def decode(self, token_ids: Any, skip_special_tokens: bool = ...) -> Any:
        """Text of a list of token ids."""
        ...


class AbstractRewardManager(ABC):
    """The contract.

    Args:
        tokenizer: Decodes prompts and responses.
        num_examine: Samples per data source that are printed at each call.
        compute_score: The scorer, with verl's signature; None for `default_compute_score`.
        reward_fn_key: Column that names a sample's data source.
        **kwargs: Of the particular manager.
    """

    @abstractmethod
    def __init__(
        self,
        tokenizer: Tokenizer,
        num_examine: int,
        compute_score: RawRewardFn | None = None,
        reward_fn_key: str = "data_source",
        **kwargs: Any,
    ) -> None: ...

    @abstractmethod
    def __call__(self, data: Batch, return_dict: bool = False) -> torch.Tensor | dict[str, Any]:
        """Reward a batch.

        Args:
            data: The batch.
            return_dict: Give the extra info too.

        Returns:
            A float32 tensor shaped like `responses`, or `{"reward_tensor": ...,
            "reward_extra_info": ...}`.
        """

    def _from_rm_scores(
        self, data: Batch, return_dict: bool
    ) -> torch.Tensor | dict[str, Any] | None:
        """Rewards that were computed upstream, untouched; None when there are none.

        Raises:
            RequestError: An extra key that the batch announces is not there.
        """
        if data.batch is None or "rm_scores" not in set(data.batch.keys()):
            return None
        scores: torch.Tensor = data.batch["rm_scores"]
        if not return_dict:
            return scores
        extra = {}
        for key in data.meta_info.get("reward_extra_keys", []):
            if key not in data.non_tensor_batch:
                raise RequestError(
                    f"non_tensor_batch.{key}",
                    "announced in meta_info['reward_extra_keys'], but absent",
                )
            extra[key] = data.non_tensor_batch[key]
        return {"reward_tensor": scores, "reward_extra_info": extra}
