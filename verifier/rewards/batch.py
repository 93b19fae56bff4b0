"""A small batch of rollouts, with the attributes of verl's DataProto, for where verl is absent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import torch

from verifier.errors import RequestError


@dataclass(frozen=True, slots=True)
class RewardItem:
    """One sample of a batch: rows of its tensors, values of its columns."""

    batch: dict[str, torch.Tensor]
    non_tensor_batch: dict[str, Any]
    meta_info: Mapping[str, Any]


@dataclass(slots=True)
class RewardBatch:
    """n samples.

    Attributes:
        batch: Tensors whose first dimension is n: prompts, responses, attention_mask, ...
        non_tensor_batch: Columns of n values: NumPy object arrays, or lists.
        meta_info: Facts of the whole batch.
    """

    batch: dict[str, torch.Tensor]
    non_tensor_batch: dict[str, Any] = field(default_factory=dict)
    meta_info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that all columns have the same length.

        Raises:
            RequestError: One does not; names it.
        """
        n = len(self)
        for key, tensor in self.batch.items():
            if tensor.ndim == 0 or tensor.shape[0] != n:
                raise RequestError(
                    f"batch.{key}", f"shape {tuple(tensor.shape)}, expected {n} rows"
                )
        for key, column in self.non_tensor_batch.items():
            if len(column) != n:
                raise RequestError(f"non_tensor_batch.{key}", f"{len(column)} values for {n} rows")

    def __len__(self) -> int:
        for tensor in self.batch.values():
            return int(tensor.shape[0]) if tensor.ndim else 0
        for column in self.non_tensor_batch.values():
            return len(column)
        return 0

    @overload
    def __getitem__(self, index: int) -> RewardItem: ...

    @overload
    def __getitem__(self, index: slice) -> RewardBatch: ...

    def __getitem__(self, index: int | slice) -> RewardItem | RewardBatch:
        if isinstance(index, slice):
            return RewardBatch(
                {k: v[index] for k, v in self.batch.items()},
                {k: v[index] for k, v in self.non_tensor_batch.items()},
                self.meta_info,
            )
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return RewardItem(
            {k: v[index] for k, v in self.batch.items()},
            {k: v[index] for k, v in self.non_tensor_batch.items()},
            self.meta_info,
        )

    def __iter__(self) -> Iterator[RewardItem]:
        return (self[i] for i in range(len(self)))

    @classmethod
    def from_token_ids(
        cls,
        prompts: Sequence[Sequence[int]],
        responses: Sequence[Sequence[int]],
        *,
        pad_token_id: int = 0,
        non_tensor_batch: Mapping[str, Sequence[Any]] | None = None,
    ) -> RewardBatch:
        """Pad as rollout engines do: prompts on the left, responses on the right.

        Raises:
            RequestError: There are not as many prompts as responses.
        """
        if len(prompts) != len(responses):
            raise RequestError("prompts", f"{len(prompts)} for {len(responses)} responses")
        width_p = max(map(len, prompts), default=0)
        width_r = max(map(len, responses), default=0)
        n = len(prompts)
        prompt_ids = torch.full((n, width_p), pad_token_id, dtype=torch.long)
        response_ids = torch.full((n, width_r), pad_token_id, dtype=torch.long)
        mask = torch.zeros((n, width_p + width_r), dtype=torch.long)
        for i, (prompt, response) in enumerate(zip(prompts, responses, strict=True)):
            start = width_p - len(prompt)
            prompt_ids[i, start:] = torch.as_tensor(list(prompt), dtype=torch.long)
            response_ids[i, : len(response)] = torch.as_tensor(list(response), dtype=torch.long)
            mask[i, start : width_p + len(response)] = 1
        return cls(
            {"prompts": prompt_ids, "responses": response_ids, "attention_mask": mask},
            {key: list(column) for key, column in (non_tensor_batch or {}).items()},
        )
