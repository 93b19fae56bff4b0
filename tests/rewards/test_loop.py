"""Managers of the loop interface on our own batch class: one sample at a time, then assembled."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest
import torch
from reward_rollouts import CharTokenizer, Scripted, make_batch, masked_batch

from verifier.errors import ConfigError, InfraError, RequestError, SuiteError
from verifier.rewards import RewardBatch
from verifier.rewards.limiter import AsyncTokenBucket, Gate, RateLimits, shared_limiter
from verifier.rewards.loop import (
    DAPORewardManager,
    GDPORewardManager,
    NaiveRewardManager,
    RateLimitedRewardManager,
    get_reward_manager_cls,
    names,
    register,
)
from verifier.scoring import EXTRA_KEYS
from verifier.types import Outcome, Result, Status

CLASSES = [NaiveRewardManager, DAPORewardManager, GDPORewardManager, RateLimitedRewardManager]
EXTRA_OF = {RateLimitedRewardManager: ("timeout", "error")}


def manager(scorer, cls=NaiveRewardManager, config=None, **settings):
    if cls is RateLimitedRewardManager:
        settings.setdefault("limiter", object.__repr__(scorer))  # not shared between tests
        settings.setdefault("max_concurrent", 8)
    return cls(config, CharTokenizer(), scorer, **settings)


async def score(scorer, batch, **settings):
    made = manager(scorer, **settings)
    answers = [await made.run_single(batch[i : i + 1]) for i in range(len(batch))]
    tensor = made.assemble_rm_scores(batch, [a["reward_score"] for a in answers])
    return tensor, [a["reward_extra_info"] for a in answers]


def by_text(**answers):
    def scorer(data_source, solution_str, ground_truth, extra_info):
        answer = answers[solution_str]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return scorer


def test_registered_names_are_verls():
    assert names() == ("dapo", "gdpo", "naive", "rate_limited", "remote")
    assert get_reward_manager_cls("dapo") is DAPORewardManager


def test_a_name_with_another_class_is_refused():
    with pytest.raises(ConfigError, match="already registered"):
        register("naive")(DAPORewardManager)
    with pytest.raises(ConfigError, match="did you mean 'rate_limited'"):
        get_reward_manager_cls("rate_limit")


@pytest.mark.parametrize("cls", CLASSES)
async def test_scores_land_on_the_last_token_and_an_empty_response_gets_nothing(cls):
    batch = make_batch(["abc", "a", ""])
    tensor, _ = await score(by_text(abc=0.25, a=0.5, **{"": 1.0}), batch, cls=cls)
    assert tensor.tolist() == [[0, 0, 0.25], [0.5, 0, 0], [0, 0, 0]]
    assert tensor.dtype == torch.float32


@pytest.mark.parametrize("cls", CLASSES)
async def test_every_sample_has_the_same_keys_whatever_the_scorer_returned(cls):
    answers = {
        "a": 1.0,
        "b": True,
        "c": (0.5, [{"x": 1}]),
        "d": {"score": 0.5, "acc": 0.25, "reward": 9.0, "mine": "x"},
        "e": np.float32(0.5),
        "f": None,
        "g": float("nan"),
        "h": float("inf"),
        "i": ValueError("no"),
        "j": SuiteError("outputs", "no cases"),
    }
    batch = make_batch(list(answers))
    tensor, infos = await score(by_text(**answers), batch, cls=cls, on_unavailable="mask")
    wanted = EXTRA_KEYS + EXTRA_OF.get(cls, ())
    assert {tuple(info) for info in infos} == {wanted}
    assert [info["valid"] for info in infos] == [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    assert [info["infra_error"] for info in infos] == [0, 0, 0, 0, 0, 1, 1, 1, 1, 0]
    assert tensor.sum(dim=1).tolist() == [1, 1, 0.5, 0.5, 0.5, 0, 0, 0, 0, 0]
    for key in wanted:  # as verl stacks them
        assert np.array([info[key] for info in infos]).dtype != object, key


@pytest.mark.parametrize("cls", CLASSES)
async def test_dict_without_score_raises_with_its_keys(cls):
    with pytest.raises(RequestError, match=r"'score'.*acc, points"):
        await score(by_text(a={"points": 1, "acc": 0}), make_batch(["a"]), cls=cls)


@pytest.mark.parametrize("cls", CLASSES)
async def test_a_fault_raises_by_policy(cls):
    with pytest.raises(InfraError, match=r"on_unavailable=raise.*ValueError: no"):
        await score(by_text(a=ValueError("no")), make_batch(["a"]), cls=cls, on_unavailable="raise")


@pytest.mark.parametrize("cls", CLASSES)
def test_mask_is_refused_inside_verl_at_construction(cls):
    with pytest.raises(ConfigError, match="inside verl"):
        manager(Scripted(), cls, on_unavailable="mask", inside_verl=True)


@pytest.mark.parametrize("cls", CLASSES)
async def test_left_padded_responses_are_read_and_rewarded_at_their_end(cls):
    seen = []

    def scorer(data_source, solution_str, ground_truth, extra_info):
        seen.append(solution_str)
        return 1.0

    tensor, _ = await score(scorer, masked_batch([[1, 1, 0, 0, 1, 1]], 2), cls=cls)
    assert seen == ["ef"]
    assert tensor.tolist() == [[0, 0, 0, 1.0]]


@pytest.mark.parametrize("cls", CLASSES)
async def test_a_stuck_scorer_is_bounded(cls):
    release = threading.Event()

    def stuck(**_):
        release.wait()

    bound = "timeout" if cls is RateLimitedRewardManager else "compute_score_timeout"
    try:
        _, infos = await score(
            stuck, make_batch(["a"]), cls=cls, on_unavailable="mask", **{bound: 0.2}
        )
    finally:
        release.set()
    assert infos[0]["infra_error"] == 1
    if cls is RateLimitedRewardManager:
        assert (infos[0]["timeout"], infos[0]["error"]) == (1, "TimeoutError")


@pytest.mark.parametrize("cls", CLASSES)
async def test_an_async_scorer_is_awaited_and_calls_overlap(cls):
    both = asyncio.Barrier(2) if hasattr(asyncio, "Barrier") else None

    async def scorer(data_source, solution_str, ground_truth, extra_info):
        if both is not None:
            await both.wait()  # neither returns before the other was called
        return len(solution_str)

    answers = await manager(scorer, cls).run_batch(make_batch(["ab", "a"]))
    assert [a["reward_score"] for a in answers] == [2.0, 1.0]


async def test_only_the_last_row_of_a_trajectory_is_scored():
    scorer = Scripted(0.5)
    answer = await manager(scorer).run_single(make_batch(["first", "last"]))
    assert [call["solution_str"] for call in scorer.calls] == ["last"]
    assert answer["reward_score"] == 0.5


async def test_turns_of_an_agent_are_read_by_their_lengths():
    """As verl pads them while rollout goes on: prompts, responses and masks by themselves."""
    tokenizer = CharTokenizer()
    rows = [("p", "first one"), ("p first one q", "end")]
    ids = [[torch.tensor(tokenizer.encode(text)) for text in row] for row in rows]

    def pad(tensors):
        return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True)

    batch = RewardBatch(
        {
            "prompts": pad([row[0] for row in ids]),
            "responses": pad([row[1] for row in ids]),
            "attention_mask": pad([torch.ones(len(torch.cat(row)), dtype=int) for row in ids]),
        },
        {
            "data_source": ["toy"] * 2,
            "reward_model": [{"ground_truth": "x"}] * 2,
            "prompt_len": np.array([len(row[0]) for row in ids]),
            "response_len": np.array([len(row[1]) for row in ids]),
        },
    )
    scorer = Scripted(1.0)
    await manager(scorer).run_single(batch)
    assert scorer.calls[0]["solution_str"] == "end"


async def test_router_arguments_reach_the_scorer_only_where_there_is_a_router():
    scorer = Scripted(1.0, 1.0)
    made = NaiveRewardManager(None, CharTokenizer(), scorer, "host:1", "its tokenizer")
    await made.run_single(make_batch(["a"]))
    await manager(scorer).run_single(make_batch(["a"]))
    assert scorer.calls[0]["reward_router_address"] == "host:1"
    assert scorer.calls[0]["reward_model_tokenizer"] == "its tokenizer"
    assert "reward_router_address" not in scorer.calls[1]


class Batches:
    def __init__(self):
        self.seen = []

    async def ascore_batch(self, samples):
        self.seen.append([s.solution_str for s in samples])
        return [Result(Outcome.SCORED, score=0.5, status=Status.WRONG_ANSWER)] * len(samples)


async def test_a_batch_goes_out_in_one_call():
    scorer = Batches()
    answers = await manager(scorer).run_batch(make_batch(["a", "b", "c"]))
    assert scorer.seen == [["a", "b", "c"]]
    assert [a["reward_score"] for a in answers] == [0.5] * 3


async def test_code_that_a_function_failed_on_is_scored_by_the_fallback():
    batch = make_batch(["a"], sources=["taco"])
    backup = Batches()
    _, infos = await score(by_text(a=ConnectionError("reset")), batch, fallback=backup)
    assert backup.seen == [["a"]]
    assert (infos[0]["fallback"], infos[0]["infra_error"]) == (1, 0)


async def test_missing_ground_truth_is_broken_data():
    batch = make_batch(["a"])
    batch.non_tensor_batch["reward_model"][0] = {"style": "rule"}
    tensor, infos = await score(Scripted(), batch)
    assert infos[0]["outcome"] == "INVALID_SUITE"
    assert not tensor.any()


async def test_no_rows():
    with pytest.raises(RequestError, match="no rows"):
        await manager(Scripted()).run_single(make_batch([]))
    assert await manager(Scripted()).run_batch(make_batch([])) == []


async def test_num_examine_is_capped_over_all_calls(capsys):
    made = manager(lambda **_: 1.0, config={"reward_kwargs": {"num_examine": 1}})
    for _ in range(3):
        await made.run_single(make_batch(["a"]))
    assert capsys.readouterr().out.count("[response]") == 1


def test_unknown_settings_are_refused_with_a_hint():
    with pytest.raises(ConfigError, match="did you mean 'on_unavailable'"):
        manager(Scripted(), config={"reward_kwargs": {"on_unavailble": "raise"}})


# ---------------------------------------------------------------- dapo, gdpo


def overlong(**changes):
    buffer = {"enable": True, "len": 2, "penalty_factor": 1.0, "log": True}
    return {"reward_kwargs": {"max_resp_len": 4, "overlong_buffer_cfg": {**buffer, **changes}}}


async def test_dapo_penalty_and_its_columns():
    tensor, infos = await score(
        lambda **_: 1.0, make_batch(["ab", "abc", "abcd"]), cls=DAPORewardManager, config=overlong()
    )
    assert tensor.sum(dim=1).tolist() == [1.0, 0.5, 0.0]
    assert [info["overlong_reward"] for info in infos] == [0.0, -0.5, -1.0]
    assert [info["overlong"] for info in infos] == [0, 1, 1]


async def test_dapo_does_not_punish_what_has_no_score():
    tensor, _ = await score(
        by_text(abcd=None),
        make_batch(["abcd"]),
        cls=DAPORewardManager,
        config=overlong(),
        on_unavailable="mask",
    )
    assert not tensor.any()


@pytest.mark.parametrize("changes", [{"len": 0}, {"len": 9}, {"penalty_factor": -1}])
def test_dapo_refuses_a_bad_buffer_at_construction(changes):
    with pytest.raises(ConfigError):
        manager(Scripted(), DAPORewardManager, overlong(**changes))


def test_dapo_takes_a_disabled_or_absent_buffer():
    assert manager(Scripted(), DAPORewardManager, overlong(enable=False, len=0)).overlong is None
    assert manager(Scripted(), DAPORewardManager).overlong is None


GDPO = {
    "algorithm": {"gdpo_reward_keys": ["format", "score"]},
    "trainer": {"experiment_name": "run-7"},
    "reward": {},
}


async def test_gdpo_components_are_columns_of_every_sample():
    seen = []

    def scorer(data_source, solution_str, ground_truth, extra_info):
        seen.append(extra_info["experiment_name"])
        return {"score": 0.5, "format": 1} if solution_str == "a" else None

    batch = make_batch(["a", "b"])
    _, infos = await score(scorer, batch, cls=GDPORewardManager, config=GDPO, on_unavailable="mask")
    assert [tuple(info) for info in infos] == [(*EXTRA_KEYS, "format")] * 2
    assert [info["format"] for info in infos] == [1.0, 0.0]
    assert seen == ["run-7"] * 2


async def test_gdpo_names_the_component_that_a_dict_misses():
    with pytest.raises(RequestError, match=r"no 'format'.*its keys: other, score"):
        await score(
            by_text(a={"score": 1, "other": 2}),
            make_batch(["a"]),
            cls=GDPORewardManager,
            config=GDPO,
        )


def test_a_component_named_reward_is_refused():
    with pytest.raises(ConfigError, match="corrupts"):
        manager(Scripted(), GDPORewardManager, {"algorithm": {"gdpo_reward_keys": ["reward"]}})


# ---------------------------------------------------------------- limits


class Clock:
    def __init__(self):
        self.now = 0.0
        self.slept = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


async def test_token_bucket_spends_one_seconds_worth_then_waits():
    clock = Clock()
    bucket = AsyncTokenBucket(120, clock=clock, sleep=clock.sleep)  # two a second
    for _ in range(4):
        await bucket.acquire()
    assert clock.slept == [0.5, 0.5]


async def test_token_bucket_lets_a_large_request_through_with_its_debt():
    clock = Clock()
    bucket = AsyncTokenBucket(60, clock=clock, sleep=clock.sleep)
    await bucket.acquire(11)
    assert clock.slept == [10.0]
    clock.now += 100  # refills no further than its capacity
    assert bucket.reserve(3) == 2.0


async def test_gate_lets_in_in_order_and_a_cancelled_waiter_gives_its_place_back():
    gate, order = Gate(1), []

    async def enter(name):
        async with gate:
            order.append(name)

    async with gate:
        first, second = (asyncio.ensure_future(enter(n)) for n in "ab")
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
    await second
    assert order == ["b"]
    async with gate:  # the place is free again
        pass


async def test_gate_is_shared_between_event_loops():
    gate, inside = Gate(1), threading.Event()
    entered = []

    def other():
        async def enter():
            inside.set()
            async with gate:
                entered.append("other")

        asyncio.run(enter())

    async with gate:
        thread = threading.Thread(target=other)
        thread.start()
        await asyncio.to_thread(inside.wait)
        assert entered == []
    await asyncio.to_thread(thread.join)
    assert entered == ["other"]


def test_limits_are_the_processs_and_another_set_needs_a_name():
    limits = RateLimits(max_concurrent=2, max_rpm=60)
    assert shared_limiter(limits, "api") is shared_limiter(limits, "api")
    with pytest.raises(ConfigError, match="already has a rate limiter 'api'"):
        shared_limiter(RateLimits(max_concurrent=3), "api")


@pytest.mark.parametrize(
    "wrong", [{"max_rpm": 0}, {"max_concurrent": -1}, {"max_tpm": "many"}, {"max_rpm": True}]
)
def test_wrong_limits_are_refused(wrong):
    with pytest.raises(ConfigError, match="positive"):
        manager(Scripted(), RateLimitedRewardManager, **wrong)


async def test_rate_limited_reads_verls_keys_and_bounds_concurrency():
    config = {"reward": {"max_concurrent": 2, "max_rpm": 6e6, "timeout": 5.0}}
    running, most = 0, 0

    async def scorer(**_):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return 1.0

    made = RateLimitedRewardManager(config, CharTokenizer(), scorer, limiter="keys")
    await made.run_batch(make_batch(["a"] * 6))
    assert most == 2
    assert made.limiter.limits == RateLimits(max_concurrent=2, max_rpm=6e6)
