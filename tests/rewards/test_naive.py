"""The naive manager on our own batch class."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from reward_rollouts import CharTokenizer, Scripted, make_batch, masked_batch

from verifier.errors import ConfigError, InfraError, RequestError, SuiteError
from verifier.rewards import NaiveRewardManager, RewardBatch
from verifier.scoring import EXTRA_KEYS
from verifier.types import Outcome, Result, Status, Timing


def manager(scorer=None, **settings):
    settings.setdefault("compute_score_timeout", None)
    return NaiveRewardManager(CharTokenizer(), 0, scorer, **settings)


def reward(scorer, batch, **settings):
    answer = manager(scorer, **settings)(batch, return_dict=True)
    return answer["reward_tensor"], answer["reward_extra_info"]


def row_rewards(tensor):
    return tensor.sum(dim=1).tolist()


def test_score_is_on_the_last_valid_token_of_each_response():
    tensor, _ = reward(Scripted(0.25, 0.5, 1.0), make_batch(["abc", "a", "ab"]))
    assert tensor.tolist() == [[0, 0, 0.25], [0.5, 0, 0], [0, 1.0, 0]]
    assert tensor.dtype == torch.float32


def test_without_return_dict_only_the_tensor_comes_back():
    answer = manager(Scripted(1.0))(make_batch(["ab"]))
    assert torch.equal(answer, torch.tensor([[0.0, 1.0]]))


def test_empty_response_gets_nothing_at_index_minus_one():
    tensor, info = reward(Scripted(1.0, 1.0), make_batch(["ab", ""]))
    assert tensor.tolist() == [[0, 1.0], [0, 0]]
    assert info["score"] == [1.0, 1.0]


def test_batch_of_only_empty_responses_has_a_tensor_without_columns():
    tensor, info = reward(Scripted(0.0), make_batch([""]))
    assert tuple(tensor.shape) == (1, 0)
    assert info["valid"] == [1]


def test_batch_of_none():
    tensor, info = reward(Scripted(), make_batch([]))
    assert tuple(tensor.shape) == (0, 0)
    assert set(info) == set(EXTRA_KEYS)
    assert all(column == [] for column in info.values())


def test_all_padding_prompt_decodes_no_token():
    tokenizer = CharTokenizer()
    batch = masked_batch([[0, 0, 0, 0, 1, 1, 0, 0, 0, 0]], 4)
    answer = NaiveRewardManager(tokenizer, 1, Scripted(1.0), compute_score_timeout=None)(batch)
    assert answer.tolist() == [[0, 1.0, 0, 0, 0, 0]]
    assert tokenizer.decoded[-1] == []  # the prompt, for num_examine


@pytest.mark.parametrize("dtype", [torch.bool, torch.int32, torch.int64, torch.float32])
def test_left_padded_response_is_read_and_rewarded_at_its_end(dtype):
    batch = masked_batch([[1, 1, 0, 0, 1, 1]], 2)
    batch.batch["attention_mask"] = batch.batch["attention_mask"].to(dtype)
    scorer = Scripted(1.0)
    tensor, _ = reward(scorer, batch)
    assert tensor.tolist() == [[0, 0, 0, 1.0]]
    assert scorer.calls[0]["solution_str"] == "ef"


def test_special_tokens_do_not_glue_to_a_fence():
    tokenizer = CharTokenizer()
    text = [*tokenizer.encode("```py\nx\n```"), 1]
    batch = RewardBatch.from_token_ids(
        [[5]],
        [text],
        non_tensor_batch={"data_source": ["toy"], "reward_model": [{"ground_truth": 1}]},
    )
    scorer = Scripted(1.0)
    tensor, _ = reward(scorer, batch)
    assert scorer.calls[0]["solution_str"] == "```py\nx\n```"
    assert tensor[0, -1] == 1.0  # the end token is a valid token


def test_extra_info_has_exactly_the_keys_whatever_the_scorer_returns():
    answers = [
        1.0,
        True,
        (0.5, [{"status": "PARTIAL"}]),
        {"score": 0.5, "acc": 0.25, "status": "PASS", "reward": 9.0, "mine": "x"},
        {"score": 1},
        np.float32(0.5),
        torch.tensor(0.5),
        np.bool_(True),  # noqa: FBT003
    ]
    tensor, info = reward(Scripted(*answers), make_batch(["a"] * len(answers)))
    assert tuple(info) == EXTRA_KEYS
    assert "reward" not in info
    assert all(len(column) == len(answers) for column in info.values())
    assert row_rewards(tensor) == [1.0, 1.0, 0.5, 0.5, 1.0, 0.5, 0.5, 1.0]
    assert info["acc"][:4] == [1.0, 1.0, 0.5, 0.25]
    assert info["status"][3] == "PASS"
    assert info["valid"] == [1] * len(answers)
    for key, column in info.items():
        wanted = str if key in ("status", "outcome", "scorer", "request_id") else (int, float)
        assert all(isinstance(value, wanted) for value in column), key
        assert np.array(column).dtype != object, key


NONSENSE = [
    None,
    float("nan"),
    float("inf"),
    "1.0",
    (),
    object(),
    [[1.0]],
    {"score": None},
    10**400,
]


@pytest.mark.parametrize("nonsense", NONSENSE, ids=lambda v: type(v).__name__)
def test_what_is_not_a_number_is_flagged_and_the_rest_is_scored(nonsense):
    scorer = Scripted(1.0, nonsense, 0.5)
    tensor, info = reward(scorer, make_batch(["a"] * 3), on_unavailable="mask")
    assert row_rewards(tensor) == [1.0, 0.0, 0.5]
    assert info["valid"] == [1, 0, 1]
    assert info["infra_error"] == [0, 1, 0]
    assert info["outcome"] == ["SCORED", "INFRA_ERROR", "SCORED"]


def test_what_is_not_a_number_raises_by_policy_after_the_rest_was_scored():
    scorer = Scripted(1.0, None, 0.5)
    with pytest.raises(InfraError, match=r"1 of 3 .*sample 1.*None"):
        reward(scorer, make_batch(["a"] * 3), on_unavailable="raise")
    assert len(scorer.calls) == 3


def test_dict_without_score_raises_with_the_keys_it_had():
    with pytest.raises(RequestError, match=r"samples\[1\].*'score'.*acc, points"):
        reward(Scripted(1.0, {"points": 1, "acc": 0}), make_batch(["a", "b"]))


@pytest.mark.parametrize(
    "error", [ConnectionError("reset"), OSError("no"), ValueError("bug"), SystemExit(3)], ids=repr
)
def test_scorer_that_raises_costs_its_own_sample_only(error):
    tensor, info = reward(Scripted(1.0, error, 0.5), make_batch(["a"] * 3), on_unavailable="mask")
    assert row_rewards(tensor) == [1.0, 0.0, 0.5]
    assert info["infra_error"] == [0, 1, 0]


def test_broken_suite_is_neither_a_score_nor_a_fault_of_the_machinery():
    scorer = Scripted(1.0, SuiteError("outputs", "no cases"))
    tensor, info = reward(scorer, make_batch(["a", "b"]), on_unavailable="raise")
    assert row_rewards(tensor) == [1.0, 0.0]
    assert info["valid"] == [1, 0]
    assert info["infra_error"] == [0, 0]
    assert info["outcome"] == ["SCORED", "INVALID_SUITE"]


def test_configuration_errors_of_a_scorer_are_not_swallowed():
    with pytest.raises(ConfigError, match="no such thing"):
        reward(Scripted(ConfigError("no such thing")), make_batch(["a"]), on_unavailable="mask")


def test_stuck_scorer_is_bounded_and_flagged():
    release = threading.Event()

    def scorer(*, solution_str, **_):
        if solution_str == "f":
            release.wait()
        return 1.0

    try:
        tensor, info = reward(
            scorer, make_batch(list("abcdefgh")), on_unavailable="mask", compute_score_timeout=1.0
        )
    finally:
        release.set()
    assert row_rewards(tensor) == [1, 1, 1, 1, 1, 0, 1, 1]
    assert info["infra_error"] == [0, 0, 0, 0, 0, 1, 0, 0]


def test_async_scorer():
    async def scorer(*, solution_str, **_):
        return {"score": float(len(solution_str)), "acc": 1}

    tensor, _ = reward(scorer, make_batch(["ab", "a"]))
    assert tensor.tolist() == [[0, 2.0], [1.0, 0]]


def test_scorer_gets_verls_fields_and_the_callers_dicts_stay_as_they_were():
    extra = {"index": 7}
    batch = make_batch(
        ["a"],
        truth="gt",
        extra_info=[extra],
        reward_scores=[{"step": 1.0}],
        __num_turns__=[3],
        tool_extra_fields=[{"tool": "calc"}],
    )
    scorer = Scripted(1.0)
    reward(scorer, batch)
    assert scorer.calls == [
        {
            "data_source": "toy",
            "solution_str": "a",
            "ground_truth": "gt",
            "extra_info": {
                "index": 7,
                "tool": "calc",
                "num_turns": 3,
                "rollout_reward_scores": {"step": 1.0},
            },
        }
    ]
    assert extra == {"index": 7}


def test_numpy_object_columns_and_another_key_for_the_source():
    batch = make_batch(["a"])
    columns = {"reward_model": np.empty(1, dtype=object), "kind": np.array(["math"], dtype=object)}
    columns["reward_model"][0] = {"ground_truth": "x"}
    scorer = Scripted(0.5)
    reward(scorer, RewardBatch(batch.batch, columns), reward_fn_key="kind")
    assert scorer.calls[0]["data_source"] == "math"


@pytest.mark.parametrize("column", ["data_source", "reward_model"])
def test_missing_column_is_named(column):
    batch = make_batch(["a"])
    del batch.non_tensor_batch[column]
    with pytest.raises(RequestError, match=column):
        reward(Scripted(1.0), batch)


@pytest.mark.parametrize("tensor", ["prompts", "responses", "attention_mask"])
def test_missing_tensor_is_named(tensor):
    batch = make_batch(["a"])
    del batch.batch[tensor]
    with pytest.raises(RequestError, match=tensor):
        reward(Scripted(1.0), batch)


def test_mask_of_the_wrong_width_is_named():
    batch = make_batch(["ab"])
    batch.batch["attention_mask"] = batch.batch["attention_mask"][:, :-1]
    with pytest.raises(RequestError, match="attention_mask"):
        reward(Scripted(1.0), batch)


def test_sample_without_ground_truth_is_broken_data_and_the_rest_is_scored(caplog):
    batch = make_batch(["a", "b"])
    batch.non_tensor_batch["reward_model"][0] = {"style": "rule"}
    tensor, info = reward(Scripted(1.0), batch)
    assert row_rewards(tensor) == [0.0, 1.0]
    assert info["outcome"] == ["INVALID_SUITE", "SCORED"]
    assert "samples[0].reward_model.ground_truth" in caplog.text


def test_rm_scores_are_handed_on_untouched():
    batch = make_batch(["abc"], acc=[0.75])
    scores = torch.tensor([[0.0, 0.75, 0.0]])
    batch.batch["rm_scores"] = scores
    batch.meta_info["reward_extra_keys"] = ["acc"]
    scorer = Scripted()
    tensor, info = reward(scorer, batch)
    assert tensor is scores
    assert info == {"acc": [0.75]}
    assert scorer.calls == []


def test_rm_scores_with_an_announced_key_that_is_absent():
    batch = make_batch(["abc"])
    batch.batch["rm_scores"] = torch.zeros(1, 3)
    batch.meta_info["reward_extra_keys"] = ["acc"]
    with pytest.raises(RequestError, match="acc"):
        reward(Scripted(), batch)


class BatchScripted:
    """A scorer that takes batches, as SandboxScorer does."""

    def __init__(self, answers, *, only=None):
        self.answers = answers
        self.only = only
        self.batches_seen = []

    def score_batch(self, samples):
        self.batches_seen.append([s.solution_str for s in samples])
        if isinstance(self.answers, BaseException):
            raise self.answers
        return [self.answers[s.solution_str] for s in samples]


RESULT = Result(
    outcome=Outcome.SCORED,
    score=0.5,
    status=Status.WRONG_ANSWER,
    passed=1,
    total=2,
    timing=Timing(cpu_time_s=0.25, wall_time_s=0.5, queue_s=0.125, total_s=1.0),
    request_id="r-1",
    fallback="gateway unreachable",
    scorer="prime_code",
)


def test_batch_scorer_is_called_once_for_the_whole_batch():
    scorer = BatchScripted({"a": RESULT, "b": 1.0})
    tensor, info = reward(scorer, make_batch(["a", "b"]))
    assert scorer.batches_seen == [["a", "b"]]
    assert row_rewards(tensor) == [0.5, 1.0]
    first = {key: column[0] for key, column in info.items()}
    assert first == {
        "score": 0.5,
        "acc": 0.0,
        "passed": 1,
        "total": 2,
        "valid": 1,
        "infra_error": 0,
        "fallback": 1,
        "cpu_time_ms": 250.0,
        "wall_time_ms": 500.0,
        "queue_ms": 125.0,
        "latency_ms": 1000.0,
        "status": "WRONG_ANSWER",
        "outcome": "SCORED",
        "scorer": "prime_code",
        "request_id": "r-1",
    }
    assert len(info["request_id"][1]) == 32


def test_batch_scorer_that_answers_too_few():
    scorer = BatchScripted({"a": 1.0})
    scorer.score_batch = lambda samples: []
    with pytest.raises(RequestError, match="0 answers for 1 samples"):
        reward(scorer, make_batch(["a"]))


def test_batch_scorer_may_leave_samples_to_be_called_one_by_one():
    class Mixed(BatchScripted):
        def batches(self, sample):
            return sample.data_source == "code"

        def __call__(self, **given):
            return 0.25

    scorer = Mixed({"a": 1.0, "c": 0.5})
    tensor, _ = reward(scorer, make_batch(["a", "b", "c"], sources=["code", "qa", "code"]))
    assert scorer.batches_seen == [["a", "c"]]
    assert row_rewards(tensor) == [1.0, 0.25, 0.5]


def test_batch_scorer_that_raises_flags_its_samples():
    scorer = BatchScripted(ConnectionError("gone"))
    tensor, info = reward(scorer, make_batch(["a", "b"]), on_unavailable="mask")
    assert row_rewards(tensor) == [0.0, 0.0]
    assert info["infra_error"] == [1, 1]


def test_error_of_a_batch_scorer_that_raises_by_policy_is_handed_on():
    error = InfraError("1 of 2 samples could not be scored; the first is sample 1: x")
    with pytest.raises(InfraError) as caught:
        reward(BatchScripted(error), make_batch(["a", "b"]), on_unavailable="raise")
    assert caught.value is error


def test_fallback_scores_the_code_samples_a_function_failed_on(caplog):
    backup = BatchScripted({"b": RESULT.replace(fallback="", score=0.75)})
    scorer = Scripted(1.0, ConnectionError("reset"), 0.5)
    batch = make_batch(["a", "b", "c"], sources=["taco"] * 3, uid=["g", "g", "h"])
    its_manager = manager(scorer, fallback=backup)
    answer = its_manager(batch, return_dict=True)
    info = answer["reward_extra_info"]
    assert row_rewards(answer["reward_tensor"]) == [1.0, 0.75, 0.5]
    assert info["fallback"] == [0, 1, 0]
    assert info["infra_error"] == [0, 0, 0]
    counts = its_manager.stats.snapshot()
    assert counts.fallback == 1
    assert counts.reasons == {"ConnectionError": 1}
    assert counts.mixed_groups == 1
    assert "more than one scorer" in caplog.text


def test_fallback_that_fails_too_raises_with_both_reasons():
    backup = BatchScripted(ConnectionError("also gone"))
    with pytest.raises(InfraError, match=r"reset.*then the fallback.*also gone"):
        reward(
            Scripted(ConnectionError("reset")),
            make_batch(["a"], sources=["apps"]),
            fallback=backup,
        )


def test_fallback_cannot_score_what_is_not_code():
    with pytest.raises(InfraError, match="sample 0"):
        reward(Scripted(ConnectionError("reset")), make_batch(["a"], sources=["openai/gsm8k"]))


def test_mask_is_refused_inside_verl_at_construction():
    with pytest.raises(ConfigError, match="inside verl"):
        manager(Scripted(), on_unavailable="mask", inside_verl=True)


def test_mask_is_refused_for_a_batch_of_verls():
    # A class that claims verl's module: tests/verl has the real one.
    foreign = type("DataProto", (RewardBatch,), {"__module__": "verl.protocol"})
    batch = make_batch(["a"])
    with pytest.raises(ConfigError, match="inside verl"):
        reward(Scripted(1.0), foreign(batch.batch, batch.non_tensor_batch), on_unavailable="mask")


def test_policy_is_the_scorers_own_and_a_different_one_is_refused():
    scorer = Scripted(None)
    scorer.on_unavailable = "mask"
    assert reward(scorer, make_batch(["a"]))[1]["valid"] == [0]
    with pytest.raises(ConfigError, match="set it in one place"):
        manager(scorer, on_unavailable="raise")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"on_unavailable": "fallbak"}, "did you mean 'fallback'"),
        ({"compute_score_timeout": 0}, "must be positive"),
        ({"compute_score_timeot": 3}, "did you mean 'compute_score_timeout'"),
    ],
)
def test_wrong_settings_are_refused_with_a_hint(settings, message):
    with pytest.raises(ConfigError, match=message):
        manager(Scripted(), **settings)


def test_num_examine_is_capped_per_source_and_in_length(capsys):
    long = "x" * 200_000
    batch = make_batch([long, long, long], sources=["taco", "taco", "apps"])
    scorer = Scripted(1.0, 1.0, 1.0)
    NaiveRewardManager(CharTokenizer(), 1, scorer, compute_score_timeout=None)(batch)
    printed = capsys.readouterr().out
    assert printed.count("[response]") == 2
    assert len(printed) <= 20_000


def test_num_examine_zero_prints_nothing(capsys):
    reward(Scripted(1.0), make_batch(["a"]))
    assert capsys.readouterr().out == ""


def test_rewards_stay_on_the_device_and_shape_of_the_responses():
    batch = make_batch(["abc", "a"])
    batch.batch["responses"] = batch.batch["responses"].to(torch.int32)
    tensor, _ = reward(Scripted(1.0, 1.0), batch)
    assert tensor.device == batch.batch["responses"].device
    assert tensor.shape == batch.batch["responses"].shape
