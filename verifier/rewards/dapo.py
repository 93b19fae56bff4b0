"""The DAPO manager: the naive one, with a soft penalty for overlong responses (arXiv:2503.14476).

The last `len` tokens before `max_resp_len` are the buffer. A response that ends within it loses a
share of `penalty_factor` that grows linearly, `min(-(length - (max_resp_len - len)) / len *
penalty_factor, 0)`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from verifier.errors import ConfigError
from verifier.rewards.base import Batch, RawRewardFn, Tokenizer
from verifier.rewards.naive import BatchScorer, NaiveRewardManager
from verifier.rewards.reading import Layout
from verifier.rewards.registry import register
from verifier.scoring.record import ScoreRecord

_log = logging.getLogger("verifier.rewards")


@dataclass(frozen=True, slots=True)
class Overlong:
    """An enabled penalty.

    Attributes:
        max_resp_len: Tokens.
        buffer_len: Tokens before `max_resp_len` in which the penalty grows.
        penalty_factor: The penalty at `max_resp_len`.
        log: Add the columns `overlong_reward` and `overlong`.
    """

    max_resp_len: int
    buffer_len: int
    penalty_factor: float
    log: bool


def read_overlong(config: object, max_resp_len: int | None) -> Overlong | None:
    """Read verl's `overlong_buffer_cfg` (mapping or attributes: enable, len, penalty_factor, log).

    Absent or disabled, it needs nothing else and gives None.

    Raises:
        ConfigError: It is enabled and a value is missing or senseless.
    """
    if config is None or not _get(config, "enable", default=False):
        return None
    length = _get(config, "len")
    factor = _get(config, "penalty_factor", default=1.0)
    if not isinstance(length, int) or isinstance(length, bool) or length <= 0:
        raise ConfigError(
            f"overlong_buffer_cfg.len={length!r} must be a positive number of tokens; "
            "set overlong_buffer_cfg.enable=False to disable the penalty"
        )
    if max_resp_len is None:
        raise ConfigError("overlong_buffer_cfg is enabled: give max_resp_len, in tokens")
    if max_resp_len < length:
        raise ConfigError(
            f"max_resp_len={max_resp_len} is less than overlong_buffer_cfg.len={length}"
        )
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 <= factor < 1e9:
        raise ConfigError(
            f"overlong_buffer_cfg.penalty_factor={factor!r} must be a number, 0 or more"
        )
    return Overlong(max_resp_len, length, float(factor), bool(_get(config, "log", default=False)))


@register("dapo")
class DAPORewardManager(NaiveRewardManager):
    """The naive manager with DAPO's overlong penalty.

    Args:
        tokenizer: As of the naive manager, and all that is not named here.
        num_examine: Samples per data source that are printed.
        compute_score: The scorer.
        reward_fn_key: Column that names a sample's data source.
        max_resp_len: Tokens of the longest response.
        overlong_buffer_cfg: verl's configuration of the penalty; see `read_overlong`.
        **kwargs: Of the naive manager.

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
        max_resp_len: int | None = None,
        overlong_buffer_cfg: object = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(tokenizer, num_examine, compute_score, reward_fn_key, **kwargs)
        self.overlong = read_overlong(overlong_buffer_cfg, max_resp_len)

    def __call__(self, data: Batch, return_dict: bool = False) -> torch.Tensor | dict[str, Any]:
        """Reward a batch; `rm_scores` that are there are handed on as they are, with a warning."""
        ready = data.batch is not None and "rm_scores" in set(data.batch.keys())
        if ready and self.overlong is not None:
            _log.warning(
                "the batch has rm_scores: the overlong penalty is not applied to them here, "
                "whoever computed them has to"
            )
        return super().__call__(data, return_dict)

    def _text(self, response: str) -> str:
        eos = getattr(self.tokenizer, "eos_token", None)
        return response.removesuffix(eos) if isinstance(eos, str) and eos else response

    def _adjust(
        self, layout: Layout, records: Sequence[ScoreRecord], scores: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, list[Any]]]:
        overlong = self.overlong
        if overlong is None:
            return scores, {}
        penalty = overlong_penalty(overlong, layout.lengths, records)
        return scores + penalty, overlong_columns(overlong, penalty)


def overlong_penalty(
    overlong: Overlong, lengths: torch.Tensor, records: Sequence[ScoreRecord]
) -> torch.Tensor:
    """What each response loses, float32 (n,), 0 or less; 0 for what has no score.

    Args:
        overlong: The penalty.
        lengths: int64 (n,): tokens of each response.
        records: n records.
    """
    exceed = lengths - (overlong.max_resp_len - overlong.buffer_len)
    # In single precision and in this order: bit-identical to verl's 0-d tensors.
    penalty = torch.clamp(-exceed / overlong.buffer_len * overlong.penalty_factor, max=0)
    # What has no score has no penalty either: it must stay neutral.
    valid = torch.tensor([bool(record.valid) for record in records], dtype=torch.bool)
    return torch.where(valid, penalty, torch.zeros_like(penalty))


def overlong_columns(overlong: Overlong, penalty: torch.Tensor) -> dict[str, list[Any]]:
    """The columns `overlong_reward` and `overlong`, where they are asked for."""
    if not overlong.log:
        return {}
    lost = [float(p) for p in penalty.tolist()]
    return {"overlong_reward": lost, "overlong": [int(p < 0) for p in lost]}


def _get(config: object, key: str, *, default: object = None) -> object:
    if isinstance(config, Mapping):
        return config.get(key, default)
    return getattr(config, key, default)
