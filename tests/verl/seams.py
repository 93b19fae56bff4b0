"""Runs under the python of the verl environment, beside a real gateway: see test_seams.py.

verl's own loop, managers and trainer code, with each of the ways in. A `check_*` prints one line.
The gateway's addresses come by VERIFIER_TEST_GRPC and VERIFIER_TEST_HTTP.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import ray
import torch
from hydra import compose, initialize_config_dir
from inside import TOKENIZER, run_checks
from page_snippets import snippets
from verl import DataProto
from verl.experimental.reward_loop import RewardLoopManager
from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls
from verl.experimental.reward_loop.reward_manager import naive as verl_naive
from verl.trainer import config as verl_config
from verl.trainer.ppo.core_algos import AdvantageEstimator
from verl.trainer.ppo.ray_trainer import apply_kl_penalty, compute_advantage
from verl.trainer.ppo.reward import extract_reward, load_reward_manager
from verl.utils import reward_score
from verl.workers.reward_manager import get_reward_manager_cls as get_legacy_manager_cls

from verifier.errors import ConfigError, InfraError
from verifier.rewards import RewardBatch
from verifier.scoring import EXTRA_KEYS

GRPC = os.environ["VERIFIER_TEST_GRPC"]
HTTP = os.environ["VERIFIER_TEST_HTTP"]
SUITE = '{"inputs": ["1 2\\n", "10 -4\\n"], "outputs": ["3\\n", "6\\n"]}'
RIGHT = "Sum:\n```python\na, b = map(int, input().split())\nprint(a + b)\n```"
HALF = RIGHT.replace("a + b", "abs(a) + abs(b)")
RESPONSES = [RIGHT, HALF, "I would add them.", "It is 72.\n#### 72"]
SOURCES = ["taco", "apps", "codecontests", "openai/gsm8k"]
TRUTHS = [SUITE, SUITE, SUITE, "72"]
SCORES = [1.0, 0.5, 0.0, 1.0]

FUNCTION = [
    "reward.custom_reward_function.path=pkg://verifier.integrations.verl.reward_fn",
    f"+reward.custom_reward_function.reward_kwargs.server=verifier://{GRPC}",
]
URL = [f"reward.sandbox_fusion.url=verifier://{GRPC}"]
MODULE = [
    "reward.reward_manager.source=importlib",
    "reward.reward_manager.module.path=pkg://verifier.integrations.verl.managers",
    f"+reward.reward_kwargs.server=verifier://{GRPC}",
]
OVERLONG = [
    "+reward.reward_kwargs.max_resp_len=64",
    "+reward.reward_kwargs.overlong_buffer_cfg.enable=True",
    "+reward.reward_kwargs.overlong_buffer_cfg.len=60",
    "+reward.reward_kwargs.overlong_buffer_cfg.penalty_factor=0.5",
    "+reward.reward_kwargs.overlong_buffer_cfg.log=True",
]

FOLDER = tempfile.mkdtemp()
TOKENIZER.save_pretrained(FOLDER)


def name(manager: str) -> list[str]:
    return [f"reward.reward_manager.name={manager}"]


def configure(*overrides: str):
    """verl's whole configuration, as its command line makes it."""
    with initialize_config_dir(str(Path(verl_config.__file__).parent), version_base=None):
        return compose(
            "ppo_trainer",
            overrides=[
                f"actor_rollout_ref.model.path={FOLDER}",
                "reward.num_workers=1",
                "trainer.experiment_name=seams",
                *overrides,
            ],
        )


def make_batch(responses=RESPONSES, sources=SOURCES, truths=TRUTHS) -> DataProto:
    own = RewardBatch.from_token_ids(
        [TOKENIZER.encode("Solve it." + "!" * i) for i in range(len(responses))],
        [[*TOKENIZER.encode(r), TOKENIZER.eos_token_id] if r else [] for r in responses],
        pad_token_id=TOKENIZER.pad_token_id,
    )
    columns = {
        "data_source": list(sources),
        "reward_model": [{"ground_truth": t, "style": "rule"} for t in truths],
        "extra_info": [{"index": i} for i in range(len(responses))],
        "uid": ["g"] * len(responses),
    }
    stacked = {key: np.empty(len(values), dtype=object) for key, values in columns.items()}
    for key, values in columns.items():
        stacked[key][:] = values
    return DataProto.from_dict(tensors=own.batch, non_tensors=stacked)


def run(manager, batch: DataProto) -> list[dict]:
    """As verl's worker does it: a task for each sample."""

    async def all_of_them():
        return await asyncio.gather(
            *(manager.run_single(batch[i : i + 1]) for i in range(len(batch)))
        )

    return manager_loop(manager).run_until_complete(all_of_them())


LOOP = asyncio.new_event_loop()
asyncio.set_event_loop(LOOP)


def manager_loop(manager) -> asyncio.AbstractEventLoop:
    """verl's managers keep the loop that they were made in."""
    return getattr(manager, "loop", LOOP)


def scores_of(*overrides: str) -> list[dict]:
    answers = run(load_reward_manager(configure(*overrides), TOKENIZER), make_batch())
    scores = [float(answer["reward_score"]) for answer in answers]
    assert scores == SCORES, scores
    return [answer["reward_extra_info"] for answer in answers]


def assert_columns(infos: list[dict], *more: str, scorer: str = "sandbox") -> None:
    assert [tuple(info) for info in infos] == [(*EXTRA_KEYS, *more)] * len(infos), infos
    assert [info["passed"] for info in infos[:3]] == [2, 1, 0]
    assert [info["fallback"] for info in infos] == [0] * 4
    assert {info["scorer"] for info in infos[:3]} == {scorer}, infos
    for key in EXTRA_KEYS:
        assert np.array([info[key] for info in infos]).dtype != object, key


# ---------------------------------------------------------------- verl's managers, our scorer


def check_plugin_is_loaded_by_import_verl():
    assert "verifier.integrations.verl.plugin" in sys.modules
    for manager in ("", "_dapo", "_gdpo", "_rate_limited", "_remote"):
        cls = get_reward_manager_cls(f"verifier{manager}")
        assert cls.__module__ == "verifier.integrations.verl.managers"
    for manager in ("", "_batch", "_dapo", "_prime", "_rate_limited"):
        assert get_legacy_manager_cls(f"verifier{manager}").__module__.startswith(
            "verifier.rewards"
        )


def check_plugin_url_and_verls_naive_manager():
    manager = load_reward_manager(configure(*URL), TOKENIZER)
    assert type(manager) is verl_naive.NaiveRewardManager
    assert manager.is_async_reward_score
    assert_columns(scores_of(*URL))


def check_plugin_url_and_verls_dapo_manager():
    infos = scores_after_penalty(*URL, *name("dapo"), *OVERLONG)
    assert_columns(infos, "overlong_reward", "overlong")


def scores_after_penalty(*overrides: str) -> list[dict]:
    batch = make_batch()
    answers = run(load_reward_manager(configure(*overrides), TOKENIZER), batch)
    width = batch.batch["prompts"].shape[1]
    lengths = batch.batch["attention_mask"][:, width:].sum(dim=1)
    for answer, score, length in zip(answers, SCORES, lengths.tolist(), strict=True):
        penalty = min(-(length - 4) / 60 * 0.5, 0)
        assert abs(float(answer["reward_score"]) - (score + penalty)) < 1e-6
        assert abs(float(answer["reward_extra_info"]["overlong_reward"]) - penalty) < 1e-6
    return [answer["reward_extra_info"] for answer in answers]


def check_plugin_leaves_other_urls_and_sources_to_verl():
    function = reward_score.get_default_compute_score("naive")
    verls = reward_score.default_compute_score
    arguments = ("openai/gsm8k", "#### 72", "72")
    assert asyncio.run(function(*arguments)) == verls(*arguments) == 1.0
    seen = {}

    def recorded(*given, **more):
        seen["given"] = given
        return {"score": 0.25}

    from verifier.integrations.verl.plugin import routed

    passed = routed(recorded, synchronous=True)(
        "taco", "x", "y", None, sandbox_fusion_url="http://h/run_code", memory_limit_mb=7
    )
    assert passed == {"score": 0.25}
    assert seen["given"] == ("taco", "x", "y", None, "http://h/run_code", None, 7)


def check_plugin_gives_remote_a_synchronous_function():
    from inspect import iscoroutinefunction

    assert not iscoroutinefunction(reward_score.get_default_compute_score("remote"))
    assert iscoroutinefunction(reward_score.get_default_compute_score("dapo"))


def check_plugin_says_aloud_what_it_cannot_do():
    import logging

    from verifier.integrations.verl import plugin

    theirs, lines = reward_score.get_default_compute_score, []

    class Keep(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    handler = Keep()
    logging.getLogger("verifier.integrations.verl").addHandler(handler)
    try:
        del reward_score.get_default_compute_score
        problems = plugin.install()
    finally:
        reward_score.get_default_compute_score = theirs
        logging.getLogger("verifier.integrations.verl").removeHandler(handler)
    assert len(problems) == 1
    assert "get_default_compute_score" in problems[0]
    assert "reward_fn" in lines[0], lines
    assert plugin.install() == []  # twice is once


def check_function_and_verls_naive_and_dapo_managers():
    assert_columns(scores_of(*FUNCTION))
    infos = scores_after_penalty(*FUNCTION, *name("dapo"), *OVERLONG)
    assert_columns(infos, "overlong_reward", "overlong")


def check_function_of_verls_remote_manager_is_the_synchronous_twin():
    start_ray()
    twin = ["reward.custom_reward_function.name=compute_score_sync"]
    assert_columns(scores_of(*FUNCTION, *twin, *name("remote")))


# ---------------------------------------------------------------- our managers


def check_our_managers_by_importlib():
    assert_columns(scores_of(*MODULE, *name("NaiveRewardManager")))
    infos = scores_after_penalty(*MODULE, *name("DAPORewardManager"), *OVERLONG)
    assert_columns(infos, "overlong_reward", "overlong")
    limits = ["+reward.max_concurrent=4", "+reward.reward_kwargs.limiter=seams"]
    infos = scores_of(*MODULE, *name("RateLimitedRewardManager"), *limits)
    assert_columns(infos, "timeout", "error")


def check_our_managers_by_the_plugins_names():
    assert_columns(scores_of(*URL, *name("verifier")))
    infos = scores_after_penalty(*URL, *name("verifier_dapo"), *OVERLONG)
    assert_columns(infos, "overlong_reward", "overlong")


def check_our_managers_refuse_mask_inside_verl():
    refused = ""
    try:
        load_reward_manager(
            configure(*URL, *name("verifier"), "+reward.reward_kwargs.on_unavailable=mask"),
            TOKENIZER,
        )
    except ConfigError as error:
        refused = str(error)
    assert "inside verl" in refused


def check_a_gateway_that_is_gone_raises_and_is_never_zero():
    nobody = ["reward.sandbox_fusion.url=verifier://127.0.0.1:1"]
    settings = ["+reward.reward_kwargs.on_unavailable=raise"]
    manager = load_reward_manager(configure(*nobody, *name("verifier"), *settings), TOKENIZER)
    raised = ""
    try:
        run(manager, make_batch(RESPONSES[:1], SOURCES[:1], TRUTHS[:1]))
    except InfraError as error:
        raised = str(error)
    assert "Unavailable" in raised, raised


def check_a_custom_function_of_the_users_is_called_as_it_is():
    path = Path(FOLDER, "mine.py")
    path.write_text(
        "def compute_score(data_source, solution_str, ground_truth, extra_info, k=0):\n"
        "    return {'score': len(solution_str) * k, 'acc': 1.0}\n"
    )
    custom = [
        f"reward.custom_reward_function.path={path}",
        "+reward.custom_reward_function.reward_kwargs.k=2",
    ]
    for manager in (*name("naive"), *name("verifier")):
        answers = run(load_reward_manager(configure(*custom, manager), TOKENIZER), make_batch())
        assert [a["reward_score"] for a in answers] == [2 * len(r) for r in RESPONSES]


def check_legacy_managers_of_ours_in_verls_registry():
    from verifier.scoring import SandboxScorer

    scorer = SandboxScorer(GRPC, on_unavailable="raise")
    for kind in ("verifier", "verifier_batch", "verifier_dapo"):
        manager = get_legacy_manager_cls(kind)(TOKENIZER, 0, scorer)
        batch = make_batch(RESPONSES[:3], SOURCES[:3], TRUTHS[:3])
        answer = manager(batch, return_dict=True)
        assert answer["reward_tensor"].sum(dim=1).tolist() == SCORES[:3]
    scorer.close()


def check_every_command_line_of_the_page_is_verls():
    """docs/verl.md: each block makes a manager, and where it can, scores the batch."""
    blocks = snippets("verl.md", "verl")
    assert len(blocks) == 10
    for block in blocks:
        lines = block.replace("HTTP_HOST:PORT", HTTP).replace("HOST:PORT", GRPC).split()
        assert all(re.fullmatch(r"\+?[\w.]+=\S+", line) for line in lines), block
        manager = load_reward_manager(configure(*lines), TOKENIZER)
        if "run_code" not in block:
            (answer,) = run(manager, make_batch(RESPONSES[1:2], SOURCES[1:2], TRUTHS[1:2]))
            assert answer["reward_extra_info"]["score"] == 0.5, block


# ---------------------------------------------------------------- verl's loop and trainer


def start_ray() -> None:
    if not ray.is_initialized():
        ray.init(
            num_cpus=4,
            num_gpus=0,
            include_dashboard=False,
            object_store_memory=100 * 1024 * 1024,
            log_to_driver=True,
        )


def train_step(config, rewards: DataProto, batch: DataProto) -> DataProto:
    """What the trainer does with rewards, up to the advantages."""
    batch = batch.union(rewards)
    tensor, extra = extract_reward(batch)
    batch.batch["token_level_scores"] = tensor
    for key, column in extra.items():
        assert len(column) == len(batch), key
        batch.non_tensor_batch[key] = np.array(column)
    width = batch.batch["prompts"].shape[1]
    batch.batch["response_mask"] = batch.batch["attention_mask"][:, width:]
    zeros = torch.zeros_like(tensor)
    batch.batch["old_log_probs"], batch.batch["ref_log_prob"] = zeros, zeros - 0.1
    from verl.trainer.ppo.core_algos import FixedKLController

    batch, _ = apply_kl_penalty(batch, FixedKLController(0.01))
    plain = tensor.sum(dim=1)
    penalized = batch.batch["token_level_rewards"].sum(dim=1)
    lengths = batch.batch["response_mask"].sum(dim=1)
    assert torch.allclose(penalized, plain - 0.01 * 0.1 * lengths, atol=1e-5)
    return compute_advantage(batch, config.algorithm.adv_estimator, config=config.algorithm)


def through_the_loop(*overrides: str, more: tuple[str, ...] = ()) -> None:
    """verl's RewardLoopManager under Ray, then its trainer's code."""
    start_ray()
    config = configure(*overrides, "algorithm.adv_estimator=grpo")
    manager = RewardLoopManager(config)
    try:
        assert manager.reward_loop_worker_handles is not None
        batch = make_batch()
        rewards = manager.compute_rm_score(batch)
        assert rewards.meta_info["reward_extra_keys"] == [*EXTRA_KEYS, *more]
        tensor = rewards.batch["rm_scores"]
        assert tensor.sum(dim=1).tolist() == SCORES
        width = batch.batch["prompts"].shape[1]
        last = batch.batch["attention_mask"][:, width:].sum(dim=1) - 1
        assert tensor[torch.arange(4), last].tolist() == SCORES
        single = ray.get(manager.reward_loop_workers[0].compute_score.remote(batch[1:2]))
        assert single["reward_score"] == 0.5
        done = train_step(config, rewards, batch)
        advantages = done.batch["advantages"][:, 0]
        assert advantages[2] < advantages[1] < advantages[0]
    finally:
        for worker in manager.reward_loop_workers:
            ray.kill(worker)
        wait_until_gone("reward_loop_worker_0")


def wait_until_gone(actor: str) -> None:
    """Names are free again once the actor is dead; a call to it fails only then."""
    while True:
        try:
            ray.get(ray.get_actor(actor).__ray_ready__.remote())
        except (ValueError, ray.exceptions.RayActorError):  # noqa: PERF203 - a few times
            return


def check_verls_loop_with_the_plugins_url():
    through_the_loop(*URL)


def check_verls_loop_with_the_function():
    through_the_loop(*FUNCTION)


def check_verls_loop_with_our_manager_by_importlib():
    through_the_loop(*MODULE, *name("NaiveRewardManager"))


def check_verls_loop_with_the_http_side():
    """Seam (a): verl's own scorer, case by case, over HTTP; its floats have no columns of ours."""
    with urllib.request.urlopen(f"http://{HTTP}/v1/ping", timeout=10) as response:
        response.read()
    start_ray()
    config = configure(f"reward.sandbox_fusion.url=http://{HTTP}/run_code")
    manager = RewardLoopManager(config)
    try:
        rewards = manager.compute_rm_score(make_batch())
        assert rewards.batch["rm_scores"].sum(dim=1).tolist() == SCORES
    finally:
        for worker in manager.reward_loop_workers:
            ray.kill(worker)
        wait_until_gone("reward_loop_worker_0")


def check_gdpo_components_reach_verls_estimator():
    path = Path(FOLDER, "components.py")
    path.write_text(
        "def compute_score(data_source, solution_str, ground_truth, extra_info):\n"
        "    assert extra_info['experiment_name'] == 'seams'\n"
        "    fenced = float('```' in solution_str)\n"
        "    return {'score': fenced, 'fenced': fenced, 'size': len(solution_str)}\n"
    )
    config = configure(
        f"reward.custom_reward_function.path={path}",
        *name("verifier_gdpo"),
        "algorithm.adv_estimator=gdpo",
        "+algorithm.gdpo_reward_keys=[fenced,size]",
    )
    batch = make_batch()
    manager = load_reward_manager(config, TOKENIZER)
    answers = run(manager, batch)
    infos = [answer["reward_extra_info"] for answer in answers]
    keys = list(infos[0])
    assert keys == [*EXTRA_KEYS, "fenced", "size"]
    scored = DataProto.from_dict(
        tensors={
            "rm_scores": manager.assemble_rm_scores(batch, [a["reward_score"] for a in answers])
        },
        non_tensors={key: np.array([info[key] for info in infos]) for key in keys},
        meta_info={"reward_extra_keys": keys},
    )
    done = train_step(config, scored, batch)
    assert config.algorithm.adv_estimator == AdvantageEstimator.GDPO.value
    assert torch.isfinite(done.batch["advantages"]).all()
    assert done.batch["advantages"][0, 0] > done.batch["advantages"][2, 0]


if __name__ == "__main__":
    run_checks(globals())
