"""Runs under the python of the verl environment: prints one JSON line per check. See
test_downstream.py.

Our steps from `rm_scores` to advantages against verl 0.9.1's own: equal to the last bit.
"""

from __future__ import annotations

import json
import sys
import traceback

import numpy as np
import torch
from verl import DataProto
from verl.trainer.ppo import core_algos as theirs
from verl.trainer.ppo.ray_trainer import apply_kl_penalty
from verl.trainer.ppo.reward import extract_reward

from verifier.rewards import downstream as ours
from verifier.rewards.batch import RewardBatch

N, L = 24, 17


def make(seed: int) -> tuple[DataProto, RewardBatch]:
    """The same batch twice: with empty responses, groups of one, and groups that all agree."""
    torch.manual_seed(seed)
    lengths = torch.randint(0, L + 1, (N,))
    lengths[0], lengths[1] = 0, L
    mask = (torch.arange(L)[None, :] < lengths[:, None]).long()
    scores = torch.zeros(N, L)
    rows = torch.nonzero(lengths).squeeze(1)
    scores[rows, lengths[rows] - 1] = torch.rand(len(rows)).round(decimals=1)
    scores[8:12] = scores[8:9]
    tensors = {
        "rm_scores": scores,
        "token_level_scores": scores.clone(),
        "response_mask": mask,
        "old_log_probs": -torch.rand(N, L) * 30,
        "ref_log_prob": -torch.rand(N, L) * 30,
    }
    uid = np.array([f"g{i // 4}" for i in range(N - 4)] + list("wxyz"), dtype=object)
    columns = {"uid": uid, "acc": np.arange(N) / N, "status": np.array(["ACCEPTED"] * N)}
    meta = {"reward_extra_keys": ["acc", "status"]}
    copied = {key: tensor.clone() for key, tensor in tensors.items()}
    batch = DataProto.from_dict(tensors=tensors, non_tensors=columns, meta_info=dict(meta))
    return batch, RewardBatch(copied, dict(columns), dict(meta))


def check_extract_reward() -> None:
    batch, own = make(0)
    tensor, extra = extract_reward(batch)
    got, got_extra = ours.extract_reward(own)
    assert torch.equal(tensor, got)
    assert list(extra) == list(got_extra)
    assert all((extra[key] == got_extra[key]).all() for key in extra)
    # Ours reads verl's batch too.
    assert torch.equal(ours.extract_reward(batch)[0], tensor)


def check_kl_penalty() -> None:
    for name in [kind + plus for kind in ours.KL_PENALTIES for plus in ("", "+")]:
        grads = []
        for function in (theirs.kl_penalty, ours.kl_penalty):
            torch.manual_seed(1)
            policy = (-torch.rand(N, L) * 30).requires_grad_()
            value = function(policy, -torch.rand(N, L) * 30, name)
            value.sum().backward()
            grads.append((value.detach(), policy.grad))
        assert torch.equal(grads[0][0], grads[1][0]), name
        assert torch.equal(grads[0][1], grads[1][1]), name


def check_apply_kl_penalty() -> None:
    for seed in range(5):
        for name in ours.KL_PENALTIES:
            batch, own = make(seed)
            pair = [
                (theirs.AdaptiveKLController(0.1, 6.0, 100), batch, apply_kl_penalty),
                (ours.AdaptiveKLController(0.1, 6.0, 100), own, ours.apply_kl_penalty),
            ]
            answers = [(function(data, ctrl, name), ctrl.value) for ctrl, data, function in pair]
            (left, metrics), value = answers[0]
            (right, own_metrics), own_value = answers[1]
            assert torch.equal(
                left.batch["token_level_rewards"], right.batch["token_level_rewards"]
            ), name
            assert metrics == own_metrics, (metrics, own_metrics)
            assert value == own_value != 0.1


def check_compute_grpo_outcome_advantage() -> None:
    for seed in range(5):
        for normalize in (True, False):
            batch, own = make(seed)
            rewards = batch.batch["rm_scores"] - 0.01 * batch.batch["old_log_probs"]
            arguments = (rewards, batch.batch["response_mask"], batch.non_tensor_batch["uid"])
            left = theirs.compute_grpo_outcome_advantage(
                *arguments, norm_adv_by_std_in_grpo=normalize
            )
            right = ours.compute_grpo_outcome_advantage(
                *arguments, norm_adv_by_std_in_grpo=normalize
            )
            assert torch.equal(left[0], right[0])
            assert torch.equal(left[1], right[1])
            assert left[0].abs().sum() > 0
            assert len(own) == N


def main() -> None:
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            problem = ""
            try:
                check()
            except Exception:  # noqa: BLE001 - each check is a test of its own
                problem = traceback.format_exc()
            sys.stdout.write("CHECK " + json.dumps({"name": name, "problem": problem}) + "\n")


if __name__ == "__main__":
    main()
