"""What a batch of tensors says, as samples to score: the one place that knows verl's fields.

Which tokens are real is read from the attention mask token by token, so that padding may be on
either side: the valid length alone would decode padding of a left-padded response, and `ids[-0:]`
is the whole row of an all-padding prompt. Special tokens are left out of the text.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from verifier.errors import RequestError
from verifier.rewards.base import Batch, Tokenizer
from verifier.scoring.record import ScoreRecord, broken_data
from verifier.scoring.sample import Sample


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the real tokens of a batch are.

    Attributes:
        prompt_mask: bool (n, P), on the CPU.
        response_mask: bool (n, L), on the CPU.
        lengths: int64 (n,): real tokens of each response.
        last: int64 (n,): position of the last real response token, -1 for an empty response.
    """

    prompt_mask: torch.Tensor
    response_mask: torch.Tensor
    lengths: torch.Tensor
    last: torch.Tensor


def read_layout(data: Batch) -> Layout:
    """Read the masks.

    Raises:
        RequestError: A tensor is missing or has the wrong shape; names it.
    """
    prompts, responses, mask = (
        _tensor(data, k) for k in ("prompts", "responses", "attention_mask")
    )
    width = prompts.shape[1]
    turns = _turn_lengths(data, prompts, responses)
    if turns is not None:
        return turns
    expected = (responses.shape[0], width + responses.shape[1])
    if tuple(mask.shape) != expected:
        raise RequestError(
            "batch.attention_mask",
            f"shape {tuple(mask.shape)}, expected {expected}: prompt + response",
        )
    if prompts.shape[0] != responses.shape[0]:
        raise RequestError(
            "batch.prompts", f"{prompts.shape[0]} rows for {responses.shape[0]} responses"
        )
    real = mask.detach().cpu() != 0
    response_mask = real[:, width:]
    if response_mask.shape[1]:
        # In 32 bits: half the memory of a batch of a million tokens, and a third of the time.
        places = torch.arange(1, response_mask.shape[1] + 1, dtype=torch.int32)
        last = (response_mask * places).amax(dim=1).long() - 1
    else:
        last = torch.full((response_mask.shape[0],), -1, dtype=torch.long)
    lengths = response_mask.sum(dim=1, dtype=torch.int32).long()
    return Layout(real[:, :width], response_mask, lengths, last)


def _turn_lengths(data: Batch, prompts: torch.Tensor, responses: torch.Tensor) -> Layout | None:
    """The layout of an agent's turns, which verl pads differently while rollout goes on.

    There `attention_mask` is ones over prompt and response of each row, padded as a whole: it does
    not line up with prompts and responses that were padded by themselves as soon as rows differ.
    The columns `prompt_len` and `response_len` say what is real; padding is on the right.
    """
    columns = [data.non_tensor_batch.get(key) for key in ("prompt_len", "response_len")]
    if any(column is None or len(column) != len(prompts) for column in columns):
        return None
    lengths = [
        torch.as_tensor([int(n) for n in column]) for column in columns if column is not None
    ]
    masks = [
        torch.arange(ids.shape[1])[None, :] < length[:, None]
        for ids, length in zip((prompts, responses), lengths, strict=True)
    ]
    return Layout(masks[0], masks[1], lengths[1], lengths[1] - 1)


def decode(
    tokenizer: Tokenizer,
    ids: torch.Tensor,
    mask: torch.Tensor,
    *,
    skip_special_tokens: bool = True,
) -> list[str]:
    """Text of the real tokens of each row, without special tokens."""
    rows = torch.split(ids.detach().cpu()[mask], mask.sum(dim=1).tolist())
    return [
        str(tokenizer.decode(row.tolist(), skip_special_tokens=skip_special_tokens)) for row in rows
    ]


def read_samples(
    data: Batch, responses: Sequence[str], reward_fn_key: str
) -> list[Sample | ScoreRecord]:
    """The samples to score; where the ground truth is missing, the record that says so.

    Raises:
        RequestError: A column is missing altogether or has the wrong length; names it.
    """
    n = len(responses)
    sources = _column(data, reward_fn_key, n)
    models = _column(data, "reward_model", n)
    extras = _column(data, "extra_info", n, default=None)
    tools = _column(data, "tool_extra_fields", n, default=None)
    turns = _column(data, "__num_turns__", n, default=None)
    rollout_scores = _column(data, "reward_scores", n, default={})
    groups = _column(data, "uid", n, default=None)
    samples: list[Sample | ScoreRecord] = []
    for i, text in enumerate(responses):
        request_id = uuid.uuid4().hex
        model = models[i]
        if not isinstance(model, Mapping) or "ground_truth" not in model:
            has = sorted(map(str, model)) if isinstance(model, Mapping) else type(model).__name__
            samples.append(
                broken_data(
                    f"samples[{i}].reward_model.ground_truth: missing (there is: {has})",
                    request_id=request_id,
                )
            )
            continue
        # A copy: the caller's dict belongs to the caller (verl writes into it), and rows may share
        # one.
        extra: dict[str, Any] = dict(extras[i]) if isinstance(extras[i], Mapping) else {}
        if isinstance(tools[i], Mapping):
            extra.update(tools[i])
        extra["num_turns"] = turns[i]
        extra["rollout_reward_scores"] = rollout_scores[i]
        samples.append(
            Sample(
                data_source=sources[i],
                solution_str=text,
                ground_truth=model["ground_truth"],
                extra_info=extra,
                request_id=request_id,
                group=groups[i],
                index=i,
            )
        )
    return samples


def _tensor(data: Batch, key: str) -> torch.Tensor:
    if data.batch is None or key not in set(data.batch.keys()):
        raise RequestError(f"batch.{key}", "missing")
    tensor: torch.Tensor = data.batch[key]
    if tensor.ndim != 2:
        raise RequestError(f"batch.{key}", f"{tensor.ndim} dimensions, expected 2")
    return tensor


_REQUIRED = object()


def _column(data: Batch, key: str, n: int, *, default: object = _REQUIRED) -> Sequence[Any]:
    column = data.non_tensor_batch.get(key)
    if column is None:
        if default is _REQUIRED:
            raise RequestError(f"non_tensor_batch.{key}", "missing")
        return [default] * n
    if len(column) != n:
        raise RequestError(f"non_tensor_batch.{key}", f"{len(column)} values for {n} samples")
    values: Sequence[Any] = column
    return values
