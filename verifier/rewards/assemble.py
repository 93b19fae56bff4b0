"""From one score per sample to a reward per token. Vectorized: no Python loop over tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from verifier.errors import RequestError
from verifier.rewards.answers import extra_of
from verifier.scoring.record import EXTRA_KEYS, ScoreRecord


def write_scores(
    responses: torch.Tensor, last: torch.Tensor, scores: torch.Tensor | Sequence[float]
) -> torch.Tensor:
    """A float32 tensor shaped like `responses`, each score on its response's last real token.

    Args:
        responses: (n, L), of any integer type, on any device; the result is on the same.
        last: (n,): position of the last real token; -1 for an empty response, on which nothing is
            written (indexing with -1 would reward the last padding token).
        scores: n numbers.

    Raises:
        RequestError: There are not n of them.
    """
    values = torch.as_tensor(scores, dtype=torch.float32).to(responses.device)
    if len(values) != len(responses):
        raise RequestError("scores", f"{len(values)} for {len(responses)} responses")
    rewards = torch.zeros_like(responses, dtype=torch.float32)
    rows = torch.nonzero(last >= 0).squeeze(1)
    on_device = rows.to(responses.device)
    rewards[on_device, last[rows].to(responses.device)] = values[on_device]
    return rewards


def columns(records: Sequence[ScoreRecord]) -> dict[str, list[Any]]:
    """`reward_extra_info`: exactly `EXTRA_KEYS`, one value per sample in each.

    Then the columns that the manager declared, which all records have.
    """
    named = {key: [getattr(record, key) for record in records] for key in EXTRA_KEYS}
    for key in extra_of(records[0]) if records else ():
        named[key] = [extra_of(record)[key] for record in records]
    return named
