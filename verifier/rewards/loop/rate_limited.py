"""For scorers that call an API with limits: concurrency, requests and tokens per minute.

The limits are the process's (see `verifier.rewards.limiter`). What timed out or failed is no score:
it goes by `on_unavailable` as everywhere, and two columns that every sample has say why, `timeout`
(1 or 0) and `error` (its kind, a short string).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from verifier.rewards.bounded import call_bounded
from verifier.rewards.limiter import Limiter, RateLimits, shared_limiter
from verifier.rewards.loop.naive import NaiveRewardManager
from verifier.rewards.loop.registry import register
from verifier.rewards.policy import check_timeout
from verifier.rewards.reading import Layout
from verifier.rewards.settings import RewardConfig
from verifier.scoring.record import ScoreRecord

RATE_TIMEOUT_S = 300.0
_LIMITS = ("max_concurrent", "max_rpm", "max_tpm", "estimated_tokens_per_request")
RATE_SETTINGS = (*_LIMITS, "timeout", "limiter")


def read_rate(config: RewardConfig, given: Mapping[str, Any]) -> tuple[Limiter, float | None]:
    """The limiter, and seconds for one call, of verl's `reward.*` keys or the manager's settings.

    Raises:
        ConfigError: A limit is not positive, or the process has other limits already.
    """
    merged = {**config.rate, **{key: given[key] for key in RATE_SETTINGS if key in given}}
    limits = RateLimits(**{key: merged[key] for key in _LIMITS if key in merged})
    limiter = shared_limiter(limits, str(merged.get("limiter") or ""))
    return limiter, check_timeout(merged.get("timeout", RATE_TIMEOUT_S))


def fault_columns(records: Sequence[ScoreRecord]) -> dict[str, list[Any]]:
    """`timeout` and `error` of every sample."""
    kinds = [r.error.partition(":")[0][:64] if r.infra_error else "" for r in records]
    return {"timeout": [int(kind == "TimeoutError") for kind in kinds], "error": kinds}


@register("rate_limited")
class RateLimitedRewardManager(NaiveRewardManager):
    """The naive manager within limits that all managers of this process share.

    verl's settings are read: `reward.max_concurrent` (1), `max_rpm`, `max_tpm`,
    `estimated_tokens_per_request` (2000) and `timeout` (300 s, counted from when a request's turn
    has come). `limiter` names another set of limits, for another API.

    Raises:
        ConfigError: A limit is not positive, or the process has other limits already.
    """

    SETTINGS = (*NaiveRewardManager.SETTINGS, *RATE_SETTINGS)

    def __init__(self, config: Any, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, tokenizer, *args, **kwargs)
        self.limiter, self._call_timeout_s = read_rate(self.reward_config, self._given)

    async def _call(self, arguments: Mapping[str, Any]) -> object:
        async with self.limiter:
            return await call_bounded(self.compute_score, self._call_timeout_s, **arguments)

    def _adjust(
        self, layout: Layout, records: Sequence[ScoreRecord], scores: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, list[Any]]]:
        scores, extra = super()._adjust(layout, records, scores)
        return scores, {**extra, **fault_columns(records)}
