"""Group statistics that leave out what could not be scored.

An unscorable sample that counts as 0.0 moves its group's baseline: of (1, none, 0) the mean is 1/2,
not 1/3. verl has no channel for such a sample; our own batch class and TRL do.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """Per sample, the statistics of its group's valid samples.

    Attributes:
        mean: float32 (n,); 0 where a group has no valid sample.
        std: float32 (n,): the unbiased estimate, as verl's GRPO has it; 0 below two valid samples.
        count: int64 (n,): valid samples.
    """

    mean: torch.Tensor
    std: torch.Tensor
    count: torch.Tensor


def group_statistics(
    scores: torch.Tensor, groups: Sequence[Hashable], valid: Sequence[int] | torch.Tensor
) -> GroupStatistics:
    """Statistics over the valid samples of each group.

    Args:
        scores: (n,); what is at an invalid sample is not read (it may be NaN).
        groups: n group ids.
        valid: n flags, the `valid` column of the extra info.
    """
    keep = torch.as_tensor(valid, dtype=torch.bool)
    ids: dict[Hashable, int] = {}
    index = torch.as_tensor([ids.setdefault(g, len(ids)) for g in groups], dtype=torch.long)
    # In double: a difference of sums in single precision would show in the std.
    values = torch.where(keep, scores.detach().cpu().double(), 0.0)
    zeros = torch.zeros(len(ids), dtype=torch.float64)
    count = zeros.index_add(0, index, keep.double())
    mean = zeros.index_add(0, index, values) / count.clamp(min=1)
    deviation = torch.where(keep, values - mean[index], 0.0)
    variance = zeros.index_add(0, index, deviation**2) / (count - 1).clamp(min=1)
    return GroupStatistics(mean[index].float(), variance.sqrt()[index].float(), count[index].long())


def group_advantages(
    scores: torch.Tensor,
    groups: Sequence[Hashable],
    valid: Sequence[int] | torch.Tensor,
    *,
    normalize: bool = True,
    epsilon: float = 1e-6,
) -> torch.Tensor:
    """GRPO's outcome advantages, float32 (n,); 0 where there is no score or no baseline.

    Args:
        scores: (n,).
        groups: n group ids.
        valid: n flags.
        normalize: Divide by the group's standard deviation (GRPO); False is Dr. GRPO
            (arXiv:2503.20783).
        epsilon: Added to the standard deviation.
    """
    stats = group_statistics(scores, groups, valid)
    advantages = scores.detach().cpu().float() - stats.mean
    if normalize:
        advantages = advantages / (stats.std + epsilon)
    usable = torch.as_tensor(valid, dtype=torch.bool) & (stats.count > 1)
    return torch.where(usable, advantages, torch.zeros_like(advantages))
