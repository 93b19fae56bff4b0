"""Batches and scorers for the tests of reward managers. A character is a token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from verifier.rewards import RewardBatch

PAD, EOS = 0, 1
SPECIAL = {PAD: "<pad>", EOS: "<eos>"}


class CharTokenizer:
    """Ids are code points + 2; the two special tokens are skipped on request."""

    eos_token = "<eos>"
    pad_token_id = PAD

    def __init__(self) -> None:
        self.decoded: list[list[int]] = []

    def encode(self, text: str) -> list[int]:
        return [ord(c) + 2 for c in text]

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        self.decoded.append(list(token_ids))
        keep = [t for t in token_ids if not (skip_special_tokens and t in SPECIAL)]
        return "".join(SPECIAL.get(t, chr(max(t - 2, 0))) for t in keep)


class Scripted:
    """A scorer that gives its answers in turn and records what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[dict[str, Any]] = []

    def __call__(self, **given: Any) -> Any:
        self.calls.append(given)
        answer = self.answers[len(self.calls) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def make_batch(
    responses: Sequence[str] = ("ab",),
    *,
    prompts: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
    truth: Any = "truth",
    **columns: Any,
) -> RewardBatch:
    tokenizer = CharTokenizer()
    n = len(responses)
    return RewardBatch.from_token_ids(
        [tokenizer.encode(p) for p in (prompts or ["p"] * n)],
        [tokenizer.encode(r) for r in responses],
        non_tensor_batch={
            "data_source": list(sources or ["toy"] * n),
            "reward_model": [{"ground_truth": truth} for _ in range(n)],
            **columns,
        },
    )


def masked_batch(
    mask: Sequence[Sequence[int]], prompt_len: int, *, n_sources: str = "toy"
) -> RewardBatch:
    """A batch of letters with a given attention mask."""
    attention = torch.tensor(mask)
    n, width = attention.shape
    ids = torch.arange(n * width).reshape(n, width) % 26 + ord("a") + 2
    return RewardBatch(
        {
            "prompts": ids[:, :prompt_len],
            "responses": ids[:, prompt_len:],
            "attention_mask": attention,
        },
        {
            "data_source": [n_sources] * n,
            "reward_model": [{"ground_truth": "truth"} for _ in range(n)],
        },
    )
