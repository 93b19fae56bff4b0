"""What a trainer does with the rewards: verl's steps from `rm_scores` to advantages, without verl.

    rm_scores --extract_reward--> token_level_scores --apply_kl_penalty--> token_level_rewards
      --compute_grpo_outcome_advantage--> advantages

Names, fields, defaults and results are verl 0.9.1's, bit for bit (`tests/verl/downstream.py` holds
the two against each other), so that a loop written on these moves to verl unchanged. One thing is
ours: `compute_grpo_outcome_advantage` takes `valid`, and then a sample without a score gets no
advantage and moves nobody's baseline.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from verifier.errors import ConfigError, RequestError
from verifier.rewards.base import Batch
from verifier.rewards.batch import RewardBatch
from verifier.rewards.groups import group_advantages

KL_PENALTIES = ("kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3")


class KLController(Protocol):
    """What `apply_kl_penalty` needs of verl's controllers."""

    value: float

    def update(self, current_kl: float, n_steps: int) -> None:
        """Take in the KL divergence of a batch of `n_steps` samples."""
        ...


class FixedKLController:
    """A constant coefficient."""

    def __init__(self, kl_coef: float) -> None:
        self.value = kl_coef

    def update(self, current_kl: float, n_steps: int) -> None:
        """Nothing changes."""


@dataclass(slots=True)
class AdaptiveKLController:
    """A coefficient that follows the KL divergence to a target (arXiv:1909.08593, 2.2).

    Attributes:
        value: The coefficient.
        target: The KL divergence per token that is aimed at.
        horizon: Samples over which it adapts.
    """

    value: float
    target: float
    horizon: int

    def update(self, current_kl: float, n_steps: int) -> None:
        """Move the coefficient by at most a fifth for `horizon` samples."""
        error = min(max(current_kl / self.target - 1, -0.2), 0.2)
        self.value *= 1 + error * n_steps / self.horizon


def add_rewards(
    batch: RewardBatch, rewards: torch.Tensor, extra_info: Mapping[str, Sequence[Any]]
) -> None:
    """Leave what a manager returned in the batch, where `extract_reward` finds it.

    Args:
        batch: The batch that was rewarded.
        rewards: `reward_tensor`, float32 (n, L).
        extra_info: `reward_extra_info`, columns of n values.
    """
    batch.batch["rm_scores"] = rewards
    batch.non_tensor_batch.update(extra_info)
    batch.meta_info["reward_extra_keys"] = list(extra_info)


def extract_reward(batch: Batch) -> tuple[torch.Tensor, dict[str, Any]]:
    """The rewards per token, float32 (n, L), and the extra info, columns of n values.

    Raises:
        RequestError: The batch was not rewarded, or misses a column that it announces.
    """
    if batch.batch is None or "rm_scores" not in set(batch.batch.keys()):
        raise RequestError("batch.rm_scores", "missing: the batch was not rewarded")
    extra = {}
    for key in batch.meta_info.get("reward_extra_keys", []):
        if key not in batch.non_tensor_batch:
            raise RequestError(
                f"non_tensor_batch.{key}", "announced in meta_info['reward_extra_keys'], but absent"
            )
        extra[key] = batch.non_tensor_batch[key]
    return batch.batch["rm_scores"], extra


def kl_penalty(logprob: torch.Tensor, ref_logprob: torch.Tensor, kl_penalty: str) -> torch.Tensor:
    """An estimate of the KL divergence at each token (http://joschu.net/blog/kl-approx.html).

    Args:
        logprob: Log-probability of each token under the policy, any shape.
        ref_logprob: The same under the reference.
        kl_penalty: One of `KL_PENALTIES`; a "+" after it takes the gradient of "k2", whose
            expectation is the gradient of the divergence.

    Raises:
        ConfigError: There is no such estimator.
    """
    estimate = _kl_estimate(logprob, ref_logprob, kl_penalty.removesuffix("+"))
    if not kl_penalty.endswith("+"):
        return estimate
    slope = 0.5 * (logprob - ref_logprob).square()
    return slope - slope.detach() + estimate.detach()


def _kl_estimate(logprob: torch.Tensor, ref_logprob: torch.Tensor, name: str) -> torch.Tensor:
    difference = logprob - ref_logprob
    if name in {"kl", "k1"}:
        return difference
    if name == "abs":
        return difference.abs()
    if name in {"mse", "k2"}:
        return 0.5 * difference.square()
    if name in {"low_var_kl", "k3"}:
        kl = torch.clamp(ref_logprob - logprob, min=-20, max=20)  # exp of more is no number
        return torch.clamp(torch.exp(kl) - kl - 1, min=-10, max=10)
    raise ConfigError(f"kl_penalty={name!r}; one of {', '.join(KL_PENALTIES)}, or with a '+'")


_penalty = kl_penalty  # verl names the argument below as the function


def apply_kl_penalty(
    data: Batch, kl_ctrl: KLController, kl_penalty: str = "kl"
) -> tuple[Batch, dict[str, float]]:
    """Take the penalty off the scores: writes `token_level_rewards`, float32 (n, L).

    Args:
        data: With response_mask, token_level_scores, old_log_probs and ref_log_prob, each (n, L).
        kl_ctrl: Gives the coefficient, and learns the batch's divergence.
        kl_penalty: The estimator, see the function of that name.

    Returns:
        The batch, and verl's two metrics.

    Raises:
        RequestError: A tensor is missing; names it.
        ConfigError: There is no such estimator.
    """
    mask, scores, old, reference = (
        _tensor(data, key)
        for key in ("response_mask", "token_level_scores", "old_log_probs", "ref_log_prob")
    )
    divergence = _penalty(old, reference, kl_penalty) * mask
    beta = kl_ctrl.value
    data.batch["token_level_rewards"] = scores - beta * divergence
    per_sample = (torch.where(mask.bool(), divergence, 0.0) * mask).sum(-1) / (mask.sum(-1) + 1e-8)
    current = float(per_sample.mean(dim=0).item())
    kl_ctrl.update(current_kl=current, n_steps=len(data))
    return data, {"actor/reward_kl_penalty": current, "actor/reward_kl_penalty_coeff": beta}


def compute_grpo_outcome_advantage(
    token_level_rewards: torch.Tensor,
    response_mask: torch.Tensor,
    index: Sequence[Hashable],
    epsilon: float = 1e-6,
    norm_adv_by_std_in_grpo: bool = True,
    *,
    valid: Sequence[int] | torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """GRPO's advantages: each response against the others of its prompt.

    Args:
        token_level_rewards: float32 (n, L).
        response_mask: (n, L), 1 where a token is the response's.
        index: n group ids (`uid`).
        epsilon: Added to the standard deviation.
        norm_adv_by_std_in_grpo: Divide by the standard deviation; False is Dr. GRPO.
        valid: n flags, the `valid` column; samples at 0 are left out. None takes all, as verl does:
            there the only sample of a group keeps its reward as its advantage, here one with no
            valid sample beside it gets 0.

    Returns:
        Advantages and returns, the same float32 (n, L): on each real token its response's.

    Raises:
        RequestError: There are not n group ids, or not n flags.
    """
    n = len(token_level_rewards)
    if len(index) != n:
        raise RequestError("index", f"{len(index)} group ids for {n} responses")
    if valid is not None and len(valid) != n:
        raise RequestError("valid", f"{len(valid)} flags for {n} responses")
    with torch.no_grad():
        scores = token_level_rewards.sum(dim=-1)
        if valid is not None:
            advantages = group_advantages(
                scores, index, valid, normalize=norm_adv_by_std_in_grpo, epsilon=epsilon
            ).to(scores.device)
        else:
            advantages = _grpo(scores, index, epsilon if norm_adv_by_std_in_grpo else None)
        spread = advantages.unsqueeze(-1) * response_mask
    return spread, spread


def _grpo(scores: torch.Tensor, index: Sequence[Hashable], epsilon: float | None) -> torch.Tensor:
    groups: dict[Hashable, list[int]] = {}
    for row, group in enumerate(index):
        groups.setdefault(group, []).append(row)
    advantages = scores.clone()
    for rows in groups.values():
        # Group by group: sums in another order would not be verl's to the last bit.
        own = scores[rows]
        several = len(rows) > 1
        centered = own - own.mean() if several else own
        if epsilon is not None:
            centered = centered / ((own.std() if several else torch.ones_like(own)) + epsilon)
        advantages[rows] = centered
    return advantages


def _tensor(data: Batch, key: str) -> torch.Tensor:
    if key not in set(data.batch.keys()):
        raise RequestError(f"batch.{key}", "missing")
    tensor: torch.Tensor = data.batch[key]
    return tensor
