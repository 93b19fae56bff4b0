"""DAPO's overlong penalty. Equality with verl's own manager is in tests/verl."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from reward_rollouts import CharTokenizer, Scripted, make_batch

from verifier.errors import ConfigError
from verifier.rewards import DAPORewardManager
from verifier.scoring import EXTRA_KEYS

BUFFER = {"enable": True, "len": 4, "penalty_factor": 0.5, "log": True}


def dapo(scorer, **settings):
    settings.setdefault("max_resp_len", 10)
    settings.setdefault("overlong_buffer_cfg", BUFFER)
    return DAPORewardManager(CharTokenizer(), 0, scorer, compute_score_timeout=None, **settings)


def test_penalty_grows_linearly_within_the_buffer():
    lengths = [1, 6, 7, 8, 10, 12]
    answer = dapo(Scripted(*[1.0] * 6))(make_batch(["x" * n for n in lengths]), return_dict=True)
    assert answer["reward_tensor"].sum(dim=1).tolist() == [1.0, 1.0, 0.875, 0.75, 0.5, 0.25]
    info = answer["reward_extra_info"]
    assert info["overlong_reward"] == [0, 0, -0.125, -0.25, -0.5, -0.75]
    assert info["overlong"] == [0, 0, 1, 1, 1, 1]
    assert info["score"] == [1.0] * 6
    assert tuple(info) == (*EXTRA_KEYS, "overlong_reward", "overlong")


def test_not_logged_unless_asked():
    quiet = {**BUFFER, "log": False}
    answer = dapo(Scripted(1.0), overlong_buffer_cfg=quiet)(make_batch(["x"]), return_dict=True)
    assert tuple(answer["reward_extra_info"]) == EXTRA_KEYS


def test_what_has_no_score_has_no_penalty():
    answer = dapo(Scripted(None, 0.0), on_unavailable="mask")(
        make_batch(["x" * 10] * 2), return_dict=True
    )
    assert answer["reward_tensor"].sum(dim=1).tolist() == [0.0, -0.5]
    assert answer["reward_extra_info"]["overlong"] == [0, 1]


def test_empty_response_gets_nothing():
    assert dapo(Scripted(1.0, 1.0))(make_batch(["", "x"])).tolist() == [[0.0], [1.0]]


def test_end_token_that_is_left_in_the_text_is_cut():
    scorer = Scripted(1.0)
    dapo(scorer)(make_batch(["ab<eos>"]))
    assert scorer.calls[0]["solution_str"] == "ab"


@pytest.mark.parametrize(
    ("changes", "max_resp_len", "message"),
    [
        ({}, None, "give max_resp_len"),
        ({}, 3, "less than"),
        ({"len": 0}, 10, "positive"),
        ({"len": None}, 10, "positive"),
        ({"len": True}, 10, "positive"),
        ({"penalty_factor": math.nan}, 10, "penalty_factor"),
        ({"penalty_factor": -1}, 10, "penalty_factor"),
        ({"penalty_factor": "1"}, 10, "penalty_factor"),
    ],
)
def test_bad_configuration_is_refused_at_construction(changes, max_resp_len, message):
    config = {**BUFFER, **changes}
    with pytest.raises(ConfigError, match=message):
        dapo(Scripted(), overlong_buffer_cfg=config, max_resp_len=max_resp_len)
    with pytest.raises(ConfigError, match=message):
        dapo(Scripted(), overlong_buffer_cfg=SimpleNamespace(**config), max_resp_len=max_resp_len)
