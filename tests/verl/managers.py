"""Runs under the python of the verl environment: our managers against verl 0.9.1's. See
test_managers.py.

Where nothing below says otherwise, tensors are bit-identical and the columns that verl has are
equal. A `difference_*` is an item of docs/differences.md: it holds that verl still does the one
thing and we the other, and fails once either changes.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import ray
import torch
from inside import TOKENIZER, assert_same_bits, run_checks
from manager_scorers import (
    async_scorer,
    bool_scorer,
    dict_scorer,
    fails_for_no,
    float_scorer,
    int_scorer,
    plural_dicts,
    plural_scorer,
)
from omegaconf import OmegaConf
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput
from verl.experimental.reward_loop import reward_manager as verl_loop
from verl.trainer.ppo.reward import extract_reward
from verl.workers import reward_manager as verl_legacy
from verl.workers.reward_manager import prime as verl_prime

from verifier import rewards
from verifier.errors import InfraError, RequestError
from verifier.reward_loop.manager import _batch_like
from verifier.rewards import RewardBatch, loop
from verifier.scoring import EXTRA_KEYS

TEXTS = [
    "Sure:\n```python\nprint(1)\n```",
    "no",
    "Δx ≈ 3 — naïve 漢字 🎉",
    "    indented\n\n\ttabs and spaces   ",
    "x" * 300,
    "#### 72",
]
SOURCES = ["taco", "openai/gsm8k", "aime2024", "toy", "apps", "toy"]


SCORERS = [float_scorer, dict_scorer, int_scorer, bool_scorer]


# ---------------------------------------------------------------- batches


def make_batch(texts=TEXTS, sources=None, **columns) -> DataProto:
    n = len(texts)
    own = RewardBatch.from_token_ids(
        [TOKENIZER.encode("Say it." * (i + 1)) for i in range(n)],
        [[*TOKENIZER.encode(t), TOKENIZER.eos_token_id] if t else [] for t in texts],
        pad_token_id=TOKENIZER.pad_token_id,
    )
    given = {
        "data_source": list(sources or itertools.islice(itertools.cycle(SOURCES), n)),
        "reward_model": [{"ground_truth": "t" * i, "style": "rule"} for i in range(n)],
        "extra_info": [{"index": i} for i in range(n)],
        "uid": ["g"] * n,
        **columns,
    }
    stacked = {key: np.empty(n, dtype=object) for key in given}
    for key, values in given.items():
        stacked[key][:] = values
    return DataProto.from_dict(tensors=own.batch, non_tensors=stacked)


def random_texts(seed: int, n: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(map(chr, rng.integers(32, 0x2FF, rng.integers(1, 80)))) for _ in range(n)]


BATCHES = {
    "mixed sources": make_batch,
    "one sample": lambda: make_batch(TEXTS[:1]),
    "random texts": lambda: make_batch(random_texts(1, 24)),
    "more random texts": lambda: make_batch(random_texts(2, 24)),
}


def numbers(column: Any) -> list[float]:
    return [float(value) for value in column]


def two_processes(*args: Any, num_processes: int, **kwargs: Any) -> Any:
    """verl's prime forks 64, of a process with all of torch in it."""
    del num_processes
    return ALL_OF_THEM(*args, num_processes=2, **kwargs)


ALL_OF_THEM = verl_prime.run_reward_scoring
verl_prime.run_reward_scoring = two_processes


# ---------------------------------------------------------------- legacy interface


def overlong(length: int, factor: float) -> dict[str, Any]:
    buffer = OmegaConf.create(
        {"enable": True, "len": length, "penalty_factor": factor, "log": True}
    )
    return {"max_resp_len": 320, "overlong_buffer_cfg": buffer}


def assert_legacy_alike(ours, verls, *, acc: bool = False) -> None:
    for name, make in BATCHES.items():
        mine, theirs = make(), make()
        answer, expected = ours(mine, return_dict=True), verls(theirs, return_dict=True)
        assert_same_bits(answer["reward_tensor"], expected["reward_tensor"])
        for key, column in expected.get("reward_extra_info", {}).items():
            assert numbers(answer["reward_extra_info"][key]) == numbers(column), (name, key)
        if acc:
            assert_same_bits(mine.batch["acc"], theirs.batch["acc"])
        assert_same_bits(ours(make()), verls(make()))


def check_legacy_naive():
    for scorer in SCORERS:
        assert_legacy_alike(
            rewards.NaiveRewardManager(TOKENIZER, 0, scorer),
            verl_legacy.NaiveRewardManager(TOKENIZER, 0, scorer),
        )


def check_legacy_dapo():
    for scorer, (length, factor) in itertools.product(
        SCORERS, [(319, 1.0), (300, 0.3), (7, 0.1), (320, 3.7)]
    ):
        settings = overlong(length, factor)
        assert_legacy_alike(
            rewards.DAPORewardManager(TOKENIZER, 0, scorer, **settings),
            verl_legacy.DAPORewardManager(TOKENIZER, 0, scorer, **settings),
        )


def check_legacy_batch():
    for scorer in (plural_scorer, plural_dicts):
        assert_legacy_alike(
            rewards.BatchRewardManager(TOKENIZER, 0, scorer, bonus=1),
            verl_legacy.BatchRewardManager(TOKENIZER, 0, scorer, bonus=1),
            acc=True,
        )


def check_legacy_prime():
    ours = rewards.PrimeRewardManager(TOKENIZER, 0, float_scorer, num_processes=2)
    verls = verl_legacy.PrimeRewardManager(TOKENIZER, 0, float_scorer)
    try:
        for make in (BATCHES["mixed sources"], BATCHES["one sample"]):
            mine, theirs = make(), make()
            assert_same_bits(ours(mine), verls(theirs))
            assert_same_bits(mine.batch["acc"], theirs.batch["acc"])
    finally:
        ours.close()


def check_legacy_rate_limited():
    asyncio.set_event_loop(EVENTS)  # see loop_pair
    config = OmegaConf.create({"reward": {"max_concurrent": 4, "max_rpm": 600000}})
    for scorer in (float_scorer, dict_scorer, async_scorer):
        ours = rewards.RateLimitedRewardManager(TOKENIZER, 0, scorer, config=config)
        verls = verl_loop.RateLimitedRewardManager(config, TOKENIZER, scorer)
        for name, make in BATCHES.items():
            answer, expected = ours(make(), return_dict=True), verls(make(), return_dict=True)
            assert_same_bits(answer["reward_tensor"], expected["reward_tensor"])
            for key, column in expected["reward_extra_info"].items():
                assert numbers(answer["reward_extra_info"][key]) == numbers(column), (name, key)


# ---------------------------------------------------------------- loop interface

EVENTS = asyncio.new_event_loop()
asyncio.set_event_loop(EVENTS)


def run(manager, batch: DataProto) -> list[dict]:
    async def rows():
        return [await manager.run_single(batch[i : i + 1]) for i in range(len(batch))]

    return EVENTS.run_until_complete(rows())


def verl_config(**reward: Any):
    return OmegaConf.create(
        {
            "reward": {"num_workers": 1, **reward},
            "trainer": {"experiment_name": "x"},
            "algorithm": {},
        }
    )


def loop_pair(ours, verls, scorer, **reward: Any):
    asyncio.set_event_loop(EVENTS)  # verl's keep the current one, and its prime leaves a closed one
    return (
        ours(verl_config(**reward), TOKENIZER, scorer),
        verls(verl_config(**reward), TOKENIZER, scorer),
    )


def assert_loop_alike(ours, verls, batches=tuple(BATCHES)) -> None:
    for name in batches:
        mine, theirs = BATCHES[name](), BATCHES[name]()
        answers, expected = run(ours, mine), run(verls, theirs)
        tensors = [
            manager.assemble_rm_scores(batch, [row["reward_score"] for row in rows])
            for manager, batch, rows in ((ours, mine, answers), (verls, theirs, expected))
        ]
        assert_same_bits(*tensors)
        for row, theirs_row in zip(answers, expected, strict=True):
            for key, value in theirs_row["reward_extra_info"].items():
                assert float(row["reward_extra_info"][key]) == float(value), (name, key)


def check_loop_naive():
    for scorer in (*SCORERS, async_scorer):
        assert_loop_alike(*loop_pair(loop.NaiveRewardManager, verl_loop.NaiveRewardManager, scorer))


def check_loop_dapo():
    for scorer, (length, factor) in itertools.product(
        (*SCORERS, async_scorer), [(319, 1.0), (300, 0.3), (7, 0.1)]
    ):
        settings = overlong(length, factor)
        assert_loop_alike(
            *loop_pair(
                loop.DAPORewardManager,
                verl_loop.DAPORewardManager,
                scorer,
                reward_kwargs=settings,
            )
        )


def check_loop_gdpo():
    for scorer in (*SCORERS, async_scorer):
        assert_loop_alike(*loop_pair(loop.GDPORewardManager, verl_loop.GDPORewardManager, scorer))


def check_loop_rate_limited():
    limits = {"max_concurrent": 4, "max_rpm": 600000}
    for scorer in (*SCORERS, async_scorer):
        assert_loop_alike(
            *loop_pair(
                loop.RateLimitedRewardManager,
                verl_loop.RateLimitedRewardManager,
                scorer,
                **limits,
            )
        )


def check_loop_remote():
    if not ray.is_initialized():
        ray.init(num_cpus=3, num_gpus=0, include_dashboard=False, log_to_driver=False)
    ours, verls = loop_pair(loop.RemoteRewardManager, verl_loop.RemoteRewardManager, dict_scorer)
    assert_loop_alike(ours, verls, ("mixed sources",))
    ours.pool.close()


def check_extra_info_of_a_whole_batch_stacks():
    """Whatever scorers return: what verl's loop does with the columns works."""
    answers = iter([1.0, {"score": 0.5, "mine": "x"}, (0.25, {"y": 1}), True, np.float32(1), 3])
    manager = loop.NaiveRewardManager(None, TOKENIZER, lambda **_: next(answers))
    infos = [answer["reward_extra_info"] for answer in run(manager, make_batch())]
    stacked = {key: np.array([info[key] for info in infos]) for key in infos[0]}
    assert tuple(stacked) == EXTRA_KEYS
    assert all(column.dtype != object for column in stacked.values())


def check_our_loops_answer_is_a_dataproto_that_the_trainer_takes():
    batch = make_batch()
    manager = loop.NaiveRewardManager(None, TOKENIZER, float_scorer)
    rows = run(manager, batch)
    keys = list(rows[0]["reward_extra_info"])
    answer = _batch_like(
        batch,
        {"rm_scores": manager.assemble_rm_scores(batch, [row["reward_score"] for row in rows])},
        {key: np.array([row["reward_extra_info"][key] for row in rows]) for key in keys},
        {"reward_extra_keys": keys},
    )
    assert isinstance(answer, DataProto)
    tensor, extra = extract_reward(batch.union(answer))
    expected = verl_legacy.NaiveRewardManager(TOKENIZER, 0, float_scorer)(make_batch())
    assert_same_bits(tensor, expected)
    assert tuple(extra) == EXTRA_KEYS


# ---------------------------------------------------------------- the list


def toys(*texts: str) -> DataProto:
    """A batch of a source that no fallback scores."""
    return make_batch(list(texts), ["toy"] * len(texts))


def raised(work, kind=Exception) -> str:
    try:
        work()
    except kind as error:
        return f"{type(error).__name__}: {error}"
    return ""


LEGACY_PAIRS = [
    (rewards.NaiveRewardManager, verl_legacy.NaiveRewardManager, float_scorer),
    (rewards.DAPORewardManager, verl_legacy.DAPORewardManager, float_scorer),
    (rewards.BatchRewardManager, verl_legacy.BatchRewardManager, plural_scorer),
]
LOOP_PAIRS = [
    (loop.NaiveRewardManager, verl_loop.NaiveRewardManager),
    (loop.DAPORewardManager, verl_loop.DAPORewardManager),
    (loop.GDPORewardManager, verl_loop.GDPORewardManager),
]


def difference_empty_responses_get_no_reward():
    texts = ["abc", "", "ab"]
    for ours, verls, scorer in LEGACY_PAIRS:
        mine = ours(TOKENIZER, 0, scorer)(make_batch(texts))
        theirs = verls(TOKENIZER, 0, scorer)(make_batch(texts))
        assert not mine[1].any()
        assert theirs[1, -1] != 0
        assert_same_bits(mine[[0, 2]], theirs[[0, 2]])
    for ours, verls in LOOP_PAIRS:
        mine, theirs = loop_pair(ours, verls, float_scorer)
        batch = make_batch(texts)
        assert not mine.assemble_rm_scores(batch, [1.0] * 3)[1].any()
        assert theirs.assemble_rm_scores(batch, [1.0] * 3)[1, -1] == 1.0


def difference_left_padding_is_read_by_the_mask():
    batch = make_batch(["abc"])
    prompts, responses = batch.batch["prompts"], batch.batch["responses"]
    pad = torch.full((1, 3), TOKENIZER.pad_token_id)
    ones, zeros = torch.ones_like(prompts), torch.zeros_like(pad)
    batch.batch["responses"] = torch.cat([pad, responses], dim=1)
    batch.batch["attention_mask"] = torch.cat([ones, zeros, torch.ones_like(responses)], dim=1)
    seen = []

    def scorer(solution_str, **_):
        seen.append(solution_str)
        return 1.0

    mine = rewards.NaiveRewardManager(TOKENIZER, 0, scorer)(batch)
    theirs = verl_legacy.NaiveRewardManager(TOKENIZER, 0, scorer)(batch)
    assert seen[0] == "abc"
    assert seen[1] != "abc"
    assert mine[0, -1] == 1.0
    assert theirs[0, -1] == 0.0


def difference_columns_are_always_the_same():
    answers = [{"score": 1.0, "mine": 2.0, "reward": 9.0}, 0.5]

    def scorer(extra_info, **_):
        return answers[extra_info["index"]]

    for ours, verls in LOOP_PAIRS:
        mine, theirs = loop_pair(ours, verls, scorer)
        columns = [list(row["reward_extra_info"]) for row in run(mine, toys("a", "b"))]
        assert columns == [list(EXTRA_KEYS)] * 2
        columns = [list(row["reward_extra_info"]) for row in run(theirs, toys("a", "b"))]
        assert columns == [["score", "mine", "reward"], ["acc"]]
    declared = loop.NaiveRewardManager(None, TOKENIZER, lambda **_: answers[0], extra_keys=["mine"])
    (row,) = run(declared, toys("a"))
    assert row["reward_extra_info"]["mine"] == 2.0


def difference_pairs_are_scores():
    def scorer(**_):
        return (0.5, [{"passed": True}])

    for ours, verls in LOOP_PAIRS:
        mine, theirs = loop_pair(ours, verls, scorer)
        assert run(mine, toys("a"))[0]["reward_score"] == 0.5
        (row,) = run(theirs, toys("a"))
        assert isinstance(row["reward_score"], tuple)


def difference_what_is_no_number_is_never_written():
    for nothing in (math.nan, math.inf, None):

        def scorer(answer=nothing, **_):
            return answer

        for ours, verls in LOOP_PAIRS:
            mine, theirs = loop_pair(ours, verls, scorer)
            assert "sample 0" in raised(partial(run, mine, toys("a")), InfraError)
            (row,) = run(theirs, toys("a"))
            assert row["reward_score"] is nothing


def difference_a_failed_sample_costs_itself():
    batch = toys("abc", "no", "ab")
    ours = rewards.NaiveRewardManager(TOKENIZER, 0, fails_for_no)
    masked = rewards.NaiveRewardManager(TOKENIZER, 0, fails_for_no, on_unavailable="mask")
    verls = verl_legacy.NaiveRewardManager(TOKENIZER, 0, fails_for_no)
    assert "1 of 3 samples" in raised(lambda: ours(batch), InfraError)
    own = RewardBatch(dict(batch.batch.items()), dict(batch.non_tensor_batch))
    assert masked(own).sum(dim=1).tolist() == [1.0, 0.0, 1.0]
    assert raised(lambda: verls(batch)) == "ConnectionError: reset"


def difference_prime_reads_dicts_and_zeroes_nothing():
    ours = rewards.PrimeRewardManager(TOKENIZER, 0, dict_scorer, num_processes=2)
    failing = rewards.PrimeRewardManager(TOKENIZER, 0, fails_for_no, num_processes=1)
    try:
        assert (ours(toys("abc", "ab")).sum(dim=1) > 0).all()
        verls = verl_legacy.PrimeRewardManager(TOKENIZER, 0, dict_scorer)
        assert not verls(toys("abc", "ab")).any()  # the whole batch
        assert "1 of 2" in raised(lambda: failing(toys("abc", "no")), InfraError)
        verls = verl_legacy.PrimeRewardManager(TOKENIZER, 0, fails_for_no)
        assert verls(toys("abc", "no")).sum(dim=1).tolist() == [1.0, 0.0]
    finally:
        ours.close()
        failing.close()


def difference_rate_limited_faults_are_not_zero():
    ours, verls = loop_pair(
        loop.RateLimitedRewardManager,
        verl_loop.RateLimitedRewardManager,
        fails_for_no,
        max_concurrent=4,
        max_rpm=600000,
    )
    assert "ConnectionError: reset" in raised(partial(run, ours, toys("no")), InfraError)
    (row,) = run(verls, toys("no"))
    assert row["reward_score"] == 0.0
    good, bad = run(verls, toys("a", "no"))
    assert set(good["reward_extra_info"]) != set(bad["reward_extra_info"])


def difference_limits_belong_to_the_process():
    """verl ignores the limits of a second manager, with a warning; here they are refused."""
    other = {"max_concurrent": 9, "max_rpm": 600000}
    make = loop.RateLimitedRewardManager
    assert "already has a rate limiter" in raised(
        lambda: make(verl_config(**other), TOKENIZER, float_scorer)
    )
    theirs = verl_loop.RateLimitedRewardManager(verl_config(max_rpm=7), TOKENIZER, float_scorer)
    assert theirs._max_rpm != 7


def difference_callers_dicts_stay_as_they_were():
    for ours, verls in LOOP_PAIRS[:1]:
        mine, theirs = loop_pair(ours, verls, float_scorer)
        for manager, kept in ((mine, True), (theirs, False)):
            extra = {"index": 0}
            run(manager, make_batch(["a"], ["toy"], extra_info=[extra]))
            assert (extra == {"index": 0}) is kept


def turns() -> DataProto:
    """Two turns of an agent as verl pads them while rollout goes on (`_compute_score`)."""
    rows = [("a first prompt that is rather long", "turn"), ("q", "end")]
    ids = [[torch.tensor(TOKENIZER.encode(text)) for text in row] for row in rows]

    def pad(tensors):
        return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True)

    infos = np.empty(2, dtype=object)
    infos[:] = [{"index": 0}, {"index": 0}]
    return DataProto.from_dict(
        tensors={
            "prompts": pad([row[0] for row in ids]),
            "responses": pad([row[1] for row in ids]),
            "attention_mask": pad([torch.ones(len(torch.cat(r)), dtype=torch.int64) for r in ids]),
        },
        non_tensors={
            "data_source": np.array(["toy"] * 2, dtype=object),
            "reward_model": np.array([{"ground_truth": "x"}] * 2, dtype=object),
            "extra_info": infos,
            "prompt_len": np.array([len(row[0]) for row in ids]),
            "response_len": np.array([len(row[1]) for row in ids]),
        },
    )


def difference_turns_are_read_by_their_lengths():
    seen = []

    def scorer(solution_str, **_):
        seen.append(solution_str)
        return 1.0

    for manager in loop_pair(loop.NaiveRewardManager, verl_loop.NaiveRewardManager, scorer):
        EVENTS.run_until_complete(manager.run_single(turns()))
    assert seen[0] == "end"
    assert seen[1] != "end"


def difference_a_dict_without_score_names_its_keys():
    def scorer(**_):
        return {"points": 1.0, "acc": 1.0}

    for ours, verls in LOOP_PAIRS:
        mine, theirs = loop_pair(ours, verls, scorer)
        said = raised(partial(run, mine, toys("a")), RequestError)
        assert "its keys: acc, points" in said
        assert raised(partial(run, theirs, toys("a"))) == "KeyError: 'score'"


def difference_nothing_is_taken_off_what_has_no_score():
    settings = overlong(319, 1.0)
    answers = [{"score": 0.5}, {"score": 0.0, "valid": 0, "outcome": "INVALID_SUITE"}]

    def scorer(extra_info, **_):
        return answers[extra_info["index"]]

    texts = ["a" * 200, "a" * 200]
    mine, theirs = (
        cls(TOKENIZER, 0, scorer, **settings)(make_batch(texts)).sum(dim=1)
        for cls in (rewards.DAPORewardManager, verl_legacy.DAPORewardManager)
    )
    assert mine[0] == theirs[0] < 0.5
    assert mine[1] == 0.0
    assert theirs[1] < 0.0


# ---------------------------------------------------------------- what a manager cannot mend


def agent_output(response_ids: list[int]) -> AgentLoopOutput:
    return AgentLoopOutput(
        prompt_ids=[5, 6],
        response_ids=response_ids,
        response_mask=[1] * len(response_ids),
        reward_score=1.0,
        metrics=AgentLoopMetrics(),
    )


def limit_empty_response_while_streaming_raises_in_as_dict():
    """verl's streaming path writes the score itself: at -1 of a response without tokens."""
    assert agent_output([7, 8]).as_dict()["rm_scores"].tolist() == [0.0, 1.0]
    said = raised(lambda: agent_output([]).as_dict())
    assert said.startswith("IndexError"), said


def limit_empty_response_while_streaming_is_written_at_the_end_by_postprocess():
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker

    class Row(SimpleNamespace):
        pass

    row = Row(
        prompt_ids=torch.ones(1, 2, dtype=torch.long),
        response_ids=torch.zeros(1, 3, dtype=torch.long),
        response_mask=torch.zeros(1, 3, dtype=torch.long),
        attention_mask=torch.tensor([[1, 1, 0, 0, 0]]),
        input_ids=torch.ones(1, 5, dtype=torch.long),
        position_ids=torch.ones(1, 5, dtype=torch.long),
        response_logprobs=None,
        routed_experts=None,
        teacher_logprobs=None,
        teacher_ids=None,
        multi_modal_inputs=None,
        reward_score=1.0,
        num_turns=1,
        metrics=AgentLoopMetrics(),
        extra_fields={},
    )
    worker = SimpleNamespace(reward_loop_worker_handles=["a handle"], distillation_enabled=False)
    plain = getattr(AgentLoopWorker, "_postprocess", None)
    done = plain(worker, [row])
    assert done.batch["rm_scores"].tolist() == [[0.0, 0.0, 1.0]]  # the last padding token


if __name__ == "__main__":
    run_checks(globals(), ("check_", "difference_", "limit_"))
