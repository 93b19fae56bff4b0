"""From `rm_scores` to advantages; tests/verl/test_downstream.py holds them against verl's own."""

from __future__ import annotations

import pytest
import torch
from reward_rollouts import CharTokenizer, Scripted, make_batch

from verifier.errors import ConfigError, RequestError
from verifier.rewards import NaiveRewardManager
from verifier.rewards.assemble import write_scores
from verifier.rewards.downstream import (
    KL_PENALTIES,
    AdaptiveKLController,
    FixedKLController,
    add_rewards,
    apply_kl_penalty,
    compute_grpo_outcome_advantage,
    extract_reward,
    kl_penalty,
)


def rewarded(*scores, groups):
    """A batch of responses of different lengths with these scores, as a manager leaves it."""
    responses = ["abc"[: 1 + i % 3] for i in range(len(scores))]
    batch = make_batch(responses, uid=list(groups))
    manager = NaiveRewardManager(
        CharTokenizer(), 0, Scripted(*scores), on_unavailable="mask", compute_score_timeout=None
    )
    answer = manager(batch, return_dict=True)
    add_rewards(batch, answer["reward_tensor"], answer["reward_extra_info"])
    width = batch.batch["prompts"].shape[1]
    batch.batch["response_mask"] = batch.batch["attention_mask"][:, width:]
    return batch


def test_from_a_manager_to_advantages():
    batch = rewarded(1.0, 0.0, 0.5, 0.5, groups="aabb")
    scores, extra = extract_reward(batch)
    assert scores.sum(dim=-1).tolist() == [1.0, 0.0, 0.5, 0.5]
    assert extra["valid"] == [1, 1, 1, 1]
    mask = batch.batch["response_mask"]
    advantages, returns = compute_grpo_outcome_advantage(scores, mask, "aabb")
    assert torch.equal(advantages, returns)
    half = 0.5 / (0.5**0.5 + 1e-6)
    expected = torch.tensor([half, -half, 0.0, 0.0]).unsqueeze(-1) * mask
    assert torch.allclose(advantages, expected)


def test_what_could_not_be_scored_has_no_advantage_and_moves_no_baseline():
    batch = rewarded(1.0, None, 0.0, 1.0, groups="aaab")
    scores, extra = extract_reward(batch)
    assert extra["valid"] == [1, 0, 1, 1]
    mask = batch.batch["response_mask"]
    advantages, _ = compute_grpo_outcome_advantage(scores, mask, "aaab", valid=extra["valid"])
    half = 0.5 / (0.5**0.5 + 1e-6)
    assert torch.allclose(advantages[:, 0], torch.tensor([half, 0.0, -half, 0.0]))
    # Without the column the zero that stands for it is learned from, as in verl.
    as_verl, _ = compute_grpo_outcome_advantage(scores, mask, "aaab")
    assert as_verl[1, 0] < 0
    assert as_verl[3, 0] == pytest.approx(1.0)


def test_kl_is_taken_off_token_by_token():
    batch = rewarded(1.0, 0.0, groups="aa")
    batch.batch["token_level_scores"], _ = extract_reward(batch)
    mask = batch.batch["response_mask"]
    batch.batch["old_log_probs"] = torch.full(mask.shape, -1.0)
    batch.batch["ref_log_prob"] = torch.full(mask.shape, -3.0)
    data, metrics = apply_kl_penalty(batch, FixedKLController(0.1))
    assert data is batch
    assert torch.allclose(
        batch.batch["token_level_rewards"], torch.tensor([[0.8, 0.0], [-0.2, -0.2]])
    )
    assert metrics == {
        "actor/reward_kl_penalty": pytest.approx(2.0),
        "actor/reward_kl_penalty_coeff": 0.1,
    }


def test_an_adaptive_coefficient_follows_the_divergence():
    control = AdaptiveKLController(0.1, target=6.0, horizon=100)
    control.update(current_kl=100.0, n_steps=10)
    assert control.value == pytest.approx(0.1 * 1.02)
    control.update(current_kl=0.0, n_steps=10)
    assert control.value == pytest.approx(0.1 * 1.02 * 0.98)


@pytest.mark.parametrize("name", KL_PENALTIES)
def test_the_same_policy_has_no_divergence(name):
    log_probs = -torch.rand(3, 4)
    assert kl_penalty(log_probs, log_probs, name).abs().max() == 0


@pytest.mark.parametrize("normalize", [True, False])
def test_batches_of_one_and_of_none(normalize):
    for n in (0, 1):
        scores, mask = torch.ones(n, 3), torch.ones(n, 3)
        advantages, _ = compute_grpo_outcome_advantage(
            scores, mask, "a" * n, norm_adv_by_std_in_grpo=normalize, valid=[1] * n
        )
        assert advantages.shape == (n, 3)
        assert advantages.abs().sum() == 0
        as_verl, _ = compute_grpo_outcome_advantage(
            scores, mask, "a" * n, norm_adv_by_std_in_grpo=normalize
        )
        assert as_verl.tolist() == [[pytest.approx(3.0, abs=1e-4)] * 3] * n


def test_what_does_not_fit_is_named():
    scores = torch.zeros(2, 3)
    with pytest.raises(RequestError, match="index: 1 group ids for 2 responses"):
        compute_grpo_outcome_advantage(scores, scores, "a")
    with pytest.raises(RequestError, match="valid: 3 flags for 2 responses"):
        compute_grpo_outcome_advantage(scores, scores, "ab", valid=[1, 1, 0])
    for few in ([1.0], [1.0, 0.0, 1.0]):
        with pytest.raises(RequestError, match=f"scores: {len(few)} for 2 responses"):
            write_scores(torch.zeros(2, 3, dtype=torch.long), torch.tensor([0, 1]), few)


def test_what_is_missing_is_named():
    batch = make_batch()
    with pytest.raises(RequestError, match=r"batch\.rm_scores: missing"):
        extract_reward(batch)
    with pytest.raises(RequestError, match=r"batch\.response_mask: missing"):
        apply_kl_penalty(batch, FixedKLController(0.1))
    add_rewards(batch, torch.zeros(1, 2), {"acc": [1.0]})
    del batch.non_tensor_batch["acc"]
    with pytest.raises(RequestError, match=r"non_tensor_batch\.acc"):
        extract_reward(batch)
    with pytest.raises(ConfigError, match="kl_penalty='k9'"):
        kl_penalty(torch.zeros(1), torch.zeros(1), "k9")
