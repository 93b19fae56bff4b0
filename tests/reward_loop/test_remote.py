"""The remote manager with real Ray processes."""

from __future__ import annotations

import os
import threading

import loop_scorers
import pytest
from reward_rollouts import CharTokenizer, make_batch

from verifier.errors import ConfigError, InfraError
from verifier.rewards.loop import RemoteRewardManager
from verifier.scoring import EXTRA_KEYS


@pytest.fixture
def remote(ray_here):
    made = []

    def make(scorer, workers=2, **settings):
        config = {"num_workers": workers, "reward_kwargs": {"cpus_per_worker": 0.5, **settings}}
        made.append(RemoteRewardManager(config, CharTokenizer(), scorer))
        return made[-1]

    yield make
    for manager in made:
        manager.pool.close()


async def test_scores_in_other_processes_round_robin(remote):
    manager = remote(loop_scorers.where, extra_keys=["pid"])
    answers = [await manager.run_single(make_batch(["a"])) for _ in range(4)]
    pids = [int(answer["reward_extra_info"]["pid"]) for answer in answers]
    assert pids[:2] == pids[2:]
    assert len({os.getpid(), *pids}) == 3


async def test_empty_responses_and_keys_as_everywhere(remote):
    manager = remote(loop_scorers.length)
    batch = make_batch(["ab", ""])
    answers = await manager.run_batch(batch)
    tensor = manager.assemble_rm_scores(batch, [a["reward_score"] for a in answers])
    assert tensor.tolist() == [[0, 0.5], [0, 0]]
    assert [tuple(a["reward_extra_info"]) for a in answers] == [EXTRA_KEYS] * 2


async def test_closures_travel_and_async_scorers_are_awaited(remote):
    bonus = 0.5

    async def later(data_source, solution_str, ground_truth, extra_info):
        return len(solution_str) + bonus

    answer = await remote(later, workers=1).run_single(make_batch(["ab"]))
    assert answer["reward_score"] == 2.5


async def test_scorers_that_raise_exit_or_die_cost_their_own_sample(remote):
    manager = remote(loop_scorers.whatever, on_unavailable="mask")
    answers = await manager.run_batch(make_batch(["ok", "raise", "die", "fork", "dict"]))
    infos = [answer["reward_extra_info"] for answer in answers]
    assert [info["valid"] for info in infos] == [1, 0, 0, 1, 1]
    assert [answer["reward_score"] for answer in answers] == [0.25, 0, 0, 0.25, 0.5]


async def test_a_scorer_that_always_dies_says_so(remote):
    with pytest.raises(InfraError, match="two workers died while they scored this sample"):
        await remote(loop_scorers.whatever, on_unavailable="raise").run_single(make_batch(["die"]))


class DiesOnce:
    """Kills its process the first time that any process is asked."""

    def __init__(self, marker):
        self.marker = marker

    def __call__(self, **_):
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return 0.75
        os._exit(1)


async def test_a_worker_that_died_is_replaced_and_its_sample_scored_again(remote, tmp_path):
    manager = remote(DiesOnce(str(tmp_path / "died")), workers=1, on_unavailable="raise")
    assert (await manager.run_single(make_batch(["a"])))["reward_score"] == 0.75


async def test_a_scorer_that_hangs_is_killed_and_the_next_sample_is_scored(remote):
    manager = remote(
        loop_scorers.whatever, workers=1, on_unavailable="mask", compute_score_timeout=3.0
    )
    answers = await manager.run_batch(make_batch(["hang", "ok"]))
    assert [a["reward_extra_info"]["infra_error"] for a in answers] == [1, 0]
    assert answers[1]["reward_score"] == 0.25


def test_what_cannot_travel_is_refused_with_what_to_do(remote):
    lock = threading.Lock()

    def scorer(**_):
        with lock:
            return 1.0

    with pytest.raises(ConfigError, match=r"custom_reward_function\.path"):
        remote(scorer)
