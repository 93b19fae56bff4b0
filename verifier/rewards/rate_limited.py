"""The rate-limited manager in the legacy interface: a whole batch, within the process's limits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from verifier._apart import run_apart
from verifier.rewards.answers import record_of_answer, record_of_error, scorer_name
from verifier.rewards.base import RawRewardFn, Tokenizer
from verifier.rewards.bounded import call_bounded
from verifier.rewards.loop.rate_limited import RATE_SETTINGS, fault_columns, read_rate
from verifier.rewards.naive import BatchScorer, NaiveRewardManager, arguments_of
from verifier.rewards.reading import Layout
from verifier.rewards.registry import register
from verifier.rewards.settings import read_reward_config
from verifier.scoring.record import ScoreRecord
from verifier.scoring.sample import Sample


@register("rate_limited")
class RateLimitedRewardManager(NaiveRewardManager):
    """The naive manager within limits that all managers of this process share.

    Args:
        tokenizer: As of the naive manager, and all that is not named here.
        num_examine: Samples per data source that are printed.
        compute_score: The scorer, sync or async.
        reward_fn_key: Column that names a sample's data source.
        config: verl's configuration, whose `reward.max_rpm` and the like are read.
        **kwargs: The limits (see `verifier.rewards.loop.RateLimitedRewardManager`), and settings of
            the naive manager.

    Raises:
        ConfigError: A setting is wrong, or the process has other limits already.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        num_examine: int,
        compute_score: RawRewardFn | BatchScorer | None = None,
        reward_fn_key: str = "data_source",
        *,
        config: Any = None,
        **kwargs: Any,
    ) -> None:
        limits: Mapping[str, Any] = {k: kwargs.pop(k) for k in RATE_SETTINGS if k in kwargs}
        super().__init__(tokenizer, num_examine, compute_score, reward_fn_key, **kwargs)
        self.limiter, self._call_timeout_s = read_rate(read_reward_config(config), limits)

    def _score_single(self, samples: Sequence[Sample]) -> list[ScoreRecord]:
        return run_apart(self._score_all(samples))

    async def _score_all(self, samples: Sequence[Sample]) -> list[ScoreRecord]:
        return list(await asyncio.gather(*(self._score_within(s) for s in samples)))

    async def _score_within(self, sample: Sample) -> ScoreRecord:
        name = scorer_name(self.compute_score)
        try:
            async with self.limiter:
                answer = await call_bounded(
                    self.compute_score, self._call_timeout_s, **arguments_of(sample)
                )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a fault, by policy
            return record_of_error(sample, error, name)
        return record_of_answer(sample, answer, name, self._extra_keys)

    def _adjust(
        self, layout: Layout, records: Sequence[ScoreRecord], scores: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, list[Any]]]:
        scores, extra = super()._adjust(layout, records, scores)
        return scores, {**extra, **fault_columns(records)}
