"""The batch manager: one call of the scorer for the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from verifier.errors import ConfigError, RequestError, UnimplementedError
from verifier.rewards.answers import scorer_name
from verifier.rewards.base import Batch, RawRewardFn, Tokenizer
from verifier.rewards.bounded import BoundedCaller
from verifier.rewards.naive import BatchScorer, NaiveRewardManager
from verifier.rewards.prime import write_acc
from verifier.rewards.registry import register
from verifier.scoring.record import ScoreRecord
from verifier.scoring.sample import Sample


@register("batch")
class BatchRewardManager(NaiveRewardManager):
    """Scores a batch in one call, and leaves the scores in the batch as `acc`, as verl's does.

    The scorer is a function with verl's plural signature, `compute_score(data_sources=,
    solution_strs=, ground_truths=, extra_infos=, **reward_kwargs)`, which returns an answer for
    each; or an object with `score_batch`: the default scorer sends the code samples over one
    stream.

    Args:
        tokenizer: As of the naive manager, and all that is not named here.
        num_examine: Samples per data source that are printed.
        compute_score: The scorer.
        reward_fn_key: Column that names a sample's data source.
        reward_kwargs: Keyword arguments for each call of the function.
        **kwargs: Of the naive manager; others are the function's, as in verl.

    Raises:
        ConfigError: A setting is wrong.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        num_examine: int,
        compute_score: RawRewardFn | BatchScorer | None = None,
        reward_fn_key: str = "data_source",
        *,
        reward_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        function = compute_score is not None and not isinstance(compute_score, BatchScorer)
        own = {k: v for k, v in kwargs.items() if not function or k in self._BASE_SETTINGS}
        super().__init__(tokenizer, num_examine, compute_score, reward_fn_key, **own)
        rest = {key: value for key, value in kwargs.items() if key not in own}
        self._reward_kwargs = {**(reward_kwargs or {}), **rest}
        self._plural = function

    def _in_batch(self, sample: Sample) -> bool:
        return self._plural or super()._in_batch(sample)

    def _score_batch(self, scorer: BatchScorer, samples: Sequence[Sample]) -> list[ScoreRecord]:
        if not self._plural or scorer is not self.compute_score:
            return super()._score_batch(scorer, samples)
        name = scorer_name(scorer)
        function: Any = self.compute_score
        try:
            with BoundedCaller(self._timeout_s) as call:
                answers = call(
                    function,
                    data_sources=[s.data_source for s in samples],
                    solution_strs=[s.solution_str for s in samples],
                    ground_truths=[s.ground_truth for s in samples],
                    extra_infos=[s.extra_info for s in samples],
                    **self._reward_kwargs,
                )
            listed = list(answers)
        except (ConfigError, RequestError, UnimplementedError):
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a fault of all, by policy
            return self._rescore(samples, self._all_failed(samples, error, name))
        return self._rescore(samples, self._records(samples, listed, name, name))

    def _write_back(self, data: Batch, scores: torch.Tensor) -> None:
        write_acc(data, scores)
