"""Field reports about reward managers, one test each, named by their ids."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from reward_rollouts import CharTokenizer, Scripted, make_batch, masked_batch

from verifier.rewards import (
    DAPORewardManager,
    NaiveRewardManager,
    group_advantages,
    group_statistics,
)
from verifier.scoring import EXTRA_KEYS


def naive(scorer, num_examine=0, **settings):
    return NaiveRewardManager(
        CharTokenizer(), num_examine, scorer, compute_score_timeout=None, **settings
    )


def dapo(scorer, **settings):
    return DAPORewardManager(CharTokenizer(), 0, scorer, compute_score_timeout=None, **settings)


def test_mgr_empty_prompt_slice(capsys):
    batch = masked_batch([[0, 0, 0, 0, 1, 1, 0, 0, 0, 0]], 4)
    assert naive(Scripted(1.0), num_examine=1)(batch).tolist() == [[0, 1.0, 0, 0, 0, 0]]
    assert "[prompt] \n" in capsys.readouterr().out


def test_mgr_rm_scores_present():
    batch = masked_batch([[1] * 10], 4)
    batch.batch["rm_scores"] = torch.tensor([[0, 0, 0.75, 0, 0, 0]])
    batch.non_tensor_batch["acc"] = [0.75]
    batch.meta_info["reward_extra_keys"] = ["acc"]
    scorer = Scripted()
    answer = naive(scorer)(batch, return_dict=True)
    assert answer["reward_tensor"].tolist() == [[0, 0, 0.75, 0, 0, 0]]
    assert answer["reward_extra_info"] == {"acc": [0.75]}
    assert len(scorer.calls) == 0


def test_mgr_mixed_dict_and_float():
    scorer = Scripted({"score": 1.0, "acc": 1, "status": "PASS"}, 0.0, {"score": 0.5, "acc": 0.5})
    answer = naive(scorer)(masked_batch([[1] * 10] * 3, 4), return_dict=True)
    assert answer["reward_tensor"][:, -1].tolist() == [1.0, 0.0, 0.5]
    assert tuple(answer["reward_extra_info"]) == EXTRA_KEYS
    assert {len(column) for column in answer["reward_extra_info"].values()} == {3}
    assert None not in answer["reward_extra_info"]["acc"]


def test_mgr_infra_error_one_sample():
    scorer = Scripted(1.0, ConnectionError("reset"), 0.5, 1.0)
    answer = naive(scorer, on_unavailable="mask")(masked_batch([[1] * 10] * 4, 4), return_dict=True)
    assert answer["reward_tensor"][:, -1].tolist() == [1.0, 0.0, 0.5, 1.0]
    assert answer["reward_extra_info"]["infra_error"] == [0, 1, 0, 0]


def test_mgr_unscorable_mask():
    answer = naive(Scripted(1.0, None, 0.0), on_unavailable="mask")(
        make_batch(["a"] * 3, uid=["g"] * 3), return_dict=True
    )
    scores = answer["reward_tensor"].sum(dim=1)
    valid = answer["reward_extra_info"]["valid"]
    assert group_statistics(scores, ["g"] * 3, valid).mean.tolist() == [0.5] * 3
    advantages = group_advantages(scores, ["g"] * 3, valid)
    assert advantages[1] == 0.0
    assert advantages[0] == -advantages[2] > 0


@pytest.mark.parametrize(
    "settings",
    [
        {"overlong_buffer_cfg": None},
        {
            "overlong_buffer_cfg": {"enable": False, "len": 4, "penalty_factor": 1.0},
            "max_resp_len": None,
        },
        {
            "overlong_buffer_cfg": SimpleNamespace(enable=False, len=4, penalty_factor=1.0),
            "max_resp_len": None,
        },
        {},
    ],
    ids=["none", "disabled", "disabled-object", "absent"],
)
def test_mgr_dapo_disabled_or_none(settings):
    batch = make_batch(["x" * 20])
    assert dapo(Scripted(1.0), **settings)(batch).sum(dim=1).tolist() == [1.0]


def test_mgr_overlong_with_rm_scores(caplog):
    batch = make_batch(["x" * 20])
    batch.batch["rm_scores"] = torch.ones(1, 20)
    manager = dapo(
        Scripted(),
        max_resp_len=20,
        overlong_buffer_cfg={"enable": True, "len": 4, "penalty_factor": 1.0},
    )
    assert torch.equal(manager(batch), torch.ones(1, 20))
    assert "penalty is not applied" in caplog.text


def test_mgr_num_examine(capsys):
    batch = make_batch(["x" * 200_000] * 3, sources=["taco", "taco", "apps"])
    naive(Scripted(1.0, 1.0, 1.0), num_examine=1)(batch)
    printed = capsys.readouterr().out
    assert printed.count("[response]") == 2
    assert len(printed) <= 20_000


@pytest.mark.parametrize("returned", [(0.5, [{"status": "PARTIAL"}]), [0.5, [{}]]])
def test_mgr_score_is_tuple(returned):
    assert naive(Scripted(returned))(make_batch(["a"])).tolist() == [[0.5]]
