"""The PRIME manager: scorers in parallel, in processes; code samples over one stream all the same.

A sample that fails costs itself alone, whatever it does to its process. Scores are left in the
batch as the tensor `acc`, which PRIME's trainer reads.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from verifier._processes import ProcessPool, check_travels
from verifier.errors import ConfigError
from verifier.rewards.answers import record_of_answer, record_of_error, scorer_name
from verifier.rewards.base import Batch, RawRewardFn, Tokenizer
from verifier.rewards.naive import BatchScorer, NaiveRewardManager, arguments_of
from verifier.rewards.registry import register
from verifier.scoring.record import ScoreRecord
from verifier.scoring.routing import DefaultScorer, find_scorer
from verifier.scoring.sample import Sample


def write_acc(data: Batch, scores: torch.Tensor) -> None:
    """Leave the scores, float32 (n,), in the batch as `acc`."""
    data.batch["acc"] = scores.to(data.batch["prompts"].device)


@register("prime")
class PrimeRewardManager(NaiveRewardManager):
    """The naive manager with its scorer in processes.

    Args:
        tokenizer: As of the naive manager, and all that is not named here.
        num_examine: Samples per data source that are printed.
        compute_score: The scorer. A function has to be importable by name.
        reward_fn_key: Column that names a sample's data source.
        num_processes: How many; None for one for each core.
        **kwargs: Of the naive manager.

    Raises:
        ConfigError: A setting is wrong, or the scorer cannot be sent to another process.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        num_examine: int,
        compute_score: RawRewardFn | BatchScorer | None = None,
        reward_fn_key: str = "data_source",
        *,
        num_processes: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tokenizer, num_examine, compute_score, reward_fn_key, **kwargs)
        size = num_processes if num_processes is not None else len(os.sched_getaffinity(0))
        if size < 1:
            raise ConfigError(f"num_processes={num_processes} must be positive, or None")
        if not isinstance(self.compute_score, DefaultScorer):
            check_travels(self.compute_score)
        self._pool = ProcessPool(size)

    def close(self) -> None:
        """End the processes; they are started again when needed."""
        self._pool.close()

    def _function_for(self, sample: Sample) -> Any:
        # The default scorer itself stays here with its channel: its code samples go over one
        # stream, and what is left are functions of its table.
        scorer = self.compute_score
        return find_scorer(sample.data_source) if isinstance(scorer, DefaultScorer) else scorer

    def _score_single(self, samples: Sequence[Sample]) -> list[ScoreRecord]:
        name = scorer_name(self.compute_score)
        calls = [(self._function_for(s), arguments_of(s)) for s in samples]
        return [
            record_of_error(sample, error, name)
            if error is not None
            else record_of_answer(sample, value, name, self._extra_keys)
            for sample, (value, error) in zip(
                samples, self._pool.map(calls, self._timeout_s), strict=True
            )
        ]

    def _write_back(self, data: Batch, scores: torch.Tensor) -> None:
        write_acc(data, scores)
