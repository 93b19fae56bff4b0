"""Group statistics over valid samples."""

from __future__ import annotations

import math

import pytest
import torch

from verifier.rewards import group_advantages, group_statistics


def test_groups_are_told_apart_in_any_order():
    stats = group_statistics(
        torch.tensor([1.0, 10.0, 3.0, 20.0]), ["a", "b", "a", "b"], [1, 1, 1, 1]
    )
    assert stats.mean.tolist() == [2.0, 15.0, 2.0, 15.0]
    assert stats.std.tolist() == pytest.approx([2**0.5, 50**0.5] * 2)
    assert stats.count.tolist() == [2, 2, 2, 2]


def test_agrees_with_torch_where_all_is_valid():
    scores = torch.tensor([0.1, 0.7, 0.7, 0.2])
    advantages = group_advantages(scores, ["g"] * 4, [1] * 4)
    wanted = (scores - scores.mean()) / (scores.std() + 1e-6)
    assert torch.allclose(advantages, wanted, atol=1e-6)


def test_invalid_samples_are_not_read():
    scores = torch.tensor([1.0, math.nan, 0.0])
    advantages = group_advantages(scores, ["g"] * 3, torch.tensor([1, 0, 1]), normalize=False)
    assert advantages.tolist() == [0.5, 0.0, -0.5]


def test_one_valid_sample_has_no_baseline():
    assert group_advantages(torch.tensor([1.0, 0.0]), ["g", "g"], [1, 0]).tolist() == [0.0, 0.0]


def test_group_without_valid_samples_and_no_samples_at_all():
    assert group_advantages(torch.tensor([1.0]), ["g"], [0]).tolist() == [0.0]
    assert group_advantages(torch.zeros(0), [], []).tolist() == []
