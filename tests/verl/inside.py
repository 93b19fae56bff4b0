"""Runs under the python of the verl environment: prints one JSON line per check. See test_verl.py.

Each `check_*` holds our managers against verl 0.9.1's own, on verl's DataProto and a real
tokenizer.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import traceback
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from verl import DataProto
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage
from verl.trainer.ppo.reward import extract_reward
from verl.utils.reward_score import prime_code as verl_prime_code
from verl.workers.reward_manager import DAPORewardManager as VerlDapo
from verl.workers.reward_manager import NaiveRewardManager as VerlNaive

from verifier.engine import make_sandbox
from verifier.errors import ConfigError, VerifierError
from verifier.rewards import DAPORewardManager, NaiveRewardManager, RewardBatch, group_advantages
from verifier.scoring import EXTRA_KEYS, local_engine, prime_code

PROMPTS = ["Add two numbers.", "Sort.", "Reverse a string, please.", "Say nothing."]
RESPONSES = [
    "Sure:\n```python\na, b = map(int, input().split())\nprint(a + b)\n```",
    "no",
    "```python\nprint(input()[::-1])\n```\nThat is all.",
    "I will not.",
]
SOURCES = ["taco", "apps", "taco", "toy"]


def make_tokenizer() -> PreTrainedTokenizerFast:
    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<pad>", "<eos>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bare.train_from_iterator(PROMPTS + RESPONSES, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bare, pad_token="<pad>", eos_token="<eos>")


TOKENIZER = make_tokenizer()


def own_batch(responses: list[str] = RESPONSES) -> RewardBatch:
    eos = TOKENIZER.eos_token_id
    ids = [[*TOKENIZER.encode(text), eos] if text else [] for text in responses]
    return RewardBatch.from_token_ids(
        [TOKENIZER.encode(text) for text in PROMPTS],
        ids,
        pad_token_id=TOKENIZER.pad_token_id,
        non_tensor_batch={
            "data_source": SOURCES,
            "reward_model": [{"ground_truth": f"truth {i}", "style": "rule"} for i in range(4)],
            "extra_info": [{"index": i} for i in range(4)],
            "uid": ["g", "g", "h", "h"],
        },
    )


def verl_batch(responses: list[str] = RESPONSES) -> DataProto:
    own = own_batch(responses)
    columns = {}
    for key, values in own.non_tensor_batch.items():
        columns[key] = np.empty(len(values), dtype=object)
        columns[key][:] = values
    return DataProto.from_dict(tensors=own.batch, non_tensors=columns)


def float_scorer(data_source, solution_str, ground_truth, extra_info):
    """A float that single precision cannot hold, from all that a scorer is given."""
    return (len(solution_str) + len(data_source) + extra_info["index"] + len(ground_truth)) / 7


def dict_scorer(data_source, solution_str, ground_truth, extra_info):
    score = float_scorer(data_source, solution_str, ground_truth, extra_info)
    return {"score": score, "acc": score > 5}


def assert_same_bits(ours: torch.Tensor, verls: torch.Tensor) -> None:
    assert ours.dtype == verls.dtype == torch.float32
    assert ours.shape == verls.shape
    assert torch.equal(ours, verls), (ours - verls).abs().max()


def check_naive_float_scorer_gives_the_same_tensor():
    ours = NaiveRewardManager(TOKENIZER, 0, float_scorer)(verl_batch())
    assert_same_bits(ours, VerlNaive(TOKENIZER, 0, float_scorer)(verl_batch()))
    assert (ours != 0).sum() == 4


def check_naive_dict_scorer_gives_the_same_tensor_and_columns():
    ours = NaiveRewardManager(TOKENIZER, 0, dict_scorer)(verl_batch(), return_dict=True)
    verls = VerlNaive(TOKENIZER, 0, dict_scorer)(verl_batch(), return_dict=True)
    assert_same_bits(ours["reward_tensor"], verls["reward_tensor"])
    for key, column in verls["reward_extra_info"].items():
        assert ours["reward_extra_info"][key] == column, key


def check_own_batch_and_verls_give_the_same():
    manager = NaiveRewardManager(TOKENIZER, 0, float_scorer)
    ours, verls = (manager(b, return_dict=True) for b in (own_batch(), verl_batch()))
    assert_same_bits(ours["reward_tensor"], verls["reward_tensor"])
    for key in EXTRA_KEYS:
        if key != "request_id":
            assert ours["reward_extra_info"][key] == verls["reward_extra_info"][key], key


def check_same_text_reaches_the_scorer():
    seen: dict[str, list] = {"ours": [], "verls": []}

    def recorder(who):
        def scorer(data_source, solution_str, ground_truth, extra_info):
            seen[who].append((data_source, solution_str, ground_truth, dict(extra_info)))
            return 0.0

        return scorer

    NaiveRewardManager(TOKENIZER, 0, recorder("ours"))(verl_batch())
    VerlNaive(TOKENIZER, 0, recorder("verls"))(verl_batch())
    assert seen["ours"] == seen["verls"]
    assert seen["ours"][0][1] == RESPONSES[0]


def check_dapo_penalty_is_bit_identical():
    class Config(dict):
        __getattr__ = dict.__getitem__

    batch = own_batch()
    longest = int(batch.batch["responses"].shape[1])
    for factor, length in ((1.0, longest // 2), (0.3, longest - 1), (0.1, 3)):
        config = Config(enable=True, len=length, penalty_factor=factor, log=True)
        settings = {"max_resp_len": longest, "overlong_buffer_cfg": config}
        for scorer in (float_scorer, dict_scorer):
            ours = DAPORewardManager(TOKENIZER, 0, scorer, **settings)(
                verl_batch(), return_dict=True
            )
            verls = VerlDapo(TOKENIZER, 0, scorer, **settings)(verl_batch(), return_dict=True)
            assert_same_bits(ours["reward_tensor"], verls["reward_tensor"])
            for key in ("overlong_reward", "overlong"):
                column = [float(value) for value in verls["reward_extra_info"][key]]
                assert ours["reward_extra_info"][key] == column, key
            assert any(ours["reward_extra_info"]["overlong"])


def check_rm_scores_pass_through_alike():
    batch = verl_batch()
    batch.batch["rm_scores"] = torch.rand(batch.batch["responses"].shape)
    batch.non_tensor_batch["acc"] = np.array([1.0, 0.0, 1.0, 0.0])
    batch.meta_info["reward_extra_keys"] = ["acc"]

    def never(**_):
        raise AssertionError("scored again")

    ours = NaiveRewardManager(TOKENIZER, 0, never)(batch, return_dict=True)
    verls = VerlNaive(TOKENIZER, 0, never)(batch, return_dict=True)
    assert ours["reward_tensor"] is verls["reward_tensor"]
    assert ours["reward_extra_info"] == verls["reward_extra_info"]


def check_difference_empty_response():
    """verl rewards the last padding token of an empty response; we write nothing."""
    responses = [RESPONSES[0], "", RESPONSES[2], RESPONSES[3]]
    ours = NaiveRewardManager(TOKENIZER, 0, float_scorer)(verl_batch(responses))
    verls = VerlNaive(TOKENIZER, 0, float_scorer)(verl_batch(responses))
    assert not ours[1].any()
    assert verls[1, -1] != 0
    assert_same_bits(ours[[0, 2, 3]], verls[[0, 2, 3]])


def check_mask_is_refused_for_a_real_dataproto():
    manager = NaiveRewardManager(TOKENIZER, 0, float_scorer, on_unavailable="mask")
    refusal = ""
    try:
        manager(verl_batch())
    except ConfigError as error:
        refusal = str(error)
    assert "inside verl" in refusal


def check_extra_info_stacks_and_passes_through_the_trainers_extract_reward():
    answer = NaiveRewardManager(TOKENIZER, 0, float_scorer)(verl_batch(), return_dict=True)
    info = answer["reward_extra_info"]
    stacked = {key: np.array(column) for key, column in info.items()}
    assert all(column.dtype != object for column in stacked.values())
    scored = DataProto.from_dict(
        tensors={"rm_scores": answer["reward_tensor"]},
        non_tensors=stacked,
        meta_info={"reward_extra_keys": list(stacked)},
    )
    tensor, extra = extract_reward(verl_batch().union(scored))
    assert_same_bits(tensor, answer["reward_tensor"])
    assert tuple(extra) == EXTRA_KEYS
    assert list(extra["score"]) == info["score"]


def check_group_advantages_are_verls_where_all_is_valid():
    batch = verl_batch()
    tensor = NaiveRewardManager(TOKENIZER, 0, float_scorer)(batch)
    width = batch.batch["prompts"].shape[1]
    mask = batch.batch["attention_mask"][:, width:].float()
    uids = batch.non_tensor_batch["uid"]
    verls, _ = compute_grpo_outcome_advantage(tensor, mask, uids)
    ours = group_advantages(tensor.sum(dim=1), list(uids), [1] * 4)
    assert torch.allclose(ours, verls[:, 0], atol=1e-5), (ours, verls[:, 0])


def check_prime_code_has_verls_shapes():
    """Equal scores, and metadata with the same keys; where verl raises, ours is (False, list)."""
    accept = missing_guarantees()
    truth = {"inputs": ["2 3\n", "10 -4\n"], "outputs": ["5\n", "6\n"]}
    right = RESPONSES[0]
    responses = {
        "right": right,
        "half": right.replace("a + b", "abs(a) + abs(b)"),
        "wrong": right.replace("a + b", "a - b"),
        "crash": "```python\nraise ValueError(3)\n```",
        "does not compile": "```python\nprint(\n```",
    }
    for name, response in responses.items():
        ours = prime_code.compute_score(response, json.dumps(truth), continuous=True, accept=accept)
        verls = verl_prime_code.compute_score(response, json.dumps(truth), continuous=True)
        assert ours[0] == verls[0], name
        assert type(ours[0]) is type(verls[0]), name
        assert type(ours[1]) is type(verls[1]), name
        if isinstance(verls[1], dict):
            assert ours[1] == verls[1], name
            continue
        assert [sorted(m) for m in ours[1]] == [sorted(m) for m in verls[1]], name
        exact = ("test_case", "output", "expected", "inputs", "error_message")
        for mine, theirs in zip(ours[1], verls[1], strict=True):
            assert {k: mine.get(k) for k in exact} == {k: theirs.get(k) for k in exact}, name

    wrong = responses["wrong"]
    success, metadata = prime_code.compute_score(wrong, json.dumps(truth), accept=accept)
    assert (success, len(metadata)) == (False, 2)
    try:
        verl_prime_code.compute_score(wrong, json.dumps(truth))
    except UnboundLocalError:
        return
    raise AssertionError(
        "verl no longer raises without `continuous`: update prime_code's docstring"
    )


def missing_guarantees() -> list[str]:
    """What this host cannot give; the check that asks is skipped where the sandbox cannot run."""

    async def ask() -> list[str]:
        sandbox = make_sandbox("namespaces")
        try:
            found = await sandbox.guarantees()
        finally:
            await sandbox.close()
        return [guarantee.name.value for guarantee in found if not guarantee.holds]

    names = asyncio.run(ask())
    try:
        local_engine(accept=names)
    except VerifierError as error:
        raise SkipCheckError(f"the embedded sandbox does not work on this host: {error}") from error
    return names


class SkipCheckError(Exception):
    """The host, not the code, is why a check cannot run."""


def run_checks(module: dict[str, Any], prefixes: tuple[str, ...] = ("check_",)) -> None:
    """Run all checks of a module, or those that the command line names."""
    checks = {name: fn for name, fn in module.items() if name.startswith(prefixes)}
    for name, check in checks.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        begun = time.monotonic()
        try:
            check()
            problem = ""
        except SkipCheckError as skip:
            problem = f"SKIP: {skip}"
        except Exception:  # noqa: BLE001 - reported to the test that asked
            problem = traceback.format_exc()
        took = round(time.monotonic() - begun, 1)
        line = json.dumps({"name": name, "problem": problem, "took_s": took})
        sys.stdout.write(f"CHECK {line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    run_checks(globals())
