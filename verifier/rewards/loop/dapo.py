"""DAPO's overlong penalty in the loop interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from verifier.rewards.dapo import overlong_columns, overlong_penalty, read_overlong
from verifier.rewards.loop.naive import NaiveRewardManager
from verifier.rewards.loop.registry import register
from verifier.rewards.reading import Layout
from verifier.scoring.record import ScoreRecord


@register("dapo")
class DAPORewardManager(NaiveRewardManager):
    """The naive manager with the penalty of `verifier.rewards.dapo`.

    `reward_kwargs` holds `max_resp_len` and `overlong_buffer_cfg` as well.

    Raises:
        ConfigError: The penalty is enabled, and a setting is wrong.
    """

    SETTINGS = (*NaiveRewardManager.SETTINGS, "max_resp_len", "overlong_buffer_cfg")

    def __init__(self, config: Any, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, tokenizer, *args, **kwargs)
        self.overlong = read_overlong(
            self._given.get("overlong_buffer_cfg"), self._given.get("max_resp_len")
        )

    def _adjust(
        self, layout: Layout, records: Sequence[ScoreRecord], scores: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, list[Any]]]:
        if self.overlong is None:
            return scores, {}
        penalty = overlong_penalty(self.overlong, layout.lengths, records)
        return scores + penalty, overlong_columns(self.overlong, penalty)
