"""GDPO (arXiv:2601.05242): a scorer's reward components, each as a column of its own.

verl's estimator normalizes every component within its group before it adds them up. It finds them
as columns under the names of `algorithm.gdpo_reward_keys`, so every sample has to have all of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from verifier.rewards.loop.naive import NaiveRewardManager
from verifier.rewards.loop.registry import register
from verifier.rewards.settings import get
from verifier.scoring.record import EXTRA_KEYS, ScoreRecord
from verifier.scoring.sample import Sample


@register("gdpo")
class GDPORewardManager(NaiveRewardManager):
    """The naive manager, with a column for each of `algorithm.gdpo_reward_keys`.

    The scorer's `extra_info` has `experiment_name` of `trainer.experiment_name` too.

    Raises:
        ConfigError: A key is `reward`.
    """

    def __init__(self, config: Any, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        keys = get(get(config, "algorithm"), "gdpo_reward_keys") or ()
        declared = kwargs.pop("extra_keys", None) or ()
        wanted = tuple(dict.fromkeys((*keys, *declared)))
        kwargs["extra_keys"] = tuple(key for key in wanted if key not in EXTRA_KEYS)
        super().__init__(config, tokenizer, *args, **kwargs)
        self._experiment = get(get(config, "trainer"), "experiment_name")

    def _prepare(self, samples: list[Sample | ScoreRecord]) -> list[Sample | ScoreRecord]:
        return [
            replace(s, extra_info={**s.extra_info, "experiment_name": self._experiment})
            if isinstance(s, Sample)
            else s
            for s in samples
        ]
