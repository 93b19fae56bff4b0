"""Run by test_two_nodes.py in a process of its own: a Ray of two nodes, of which one is lost while
two loops score. One has room on the other node, one has not. Prints JSON.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import loop_scorers
import ray
from reward_rollouts import CharTokenizer, make_batch

from tests.ray_nodes import give_answer, two_nodes
from verifier.reward_loop import RewardLoopManager

CORES = {"roomy": 0.25, "full": 1.25}  # of 2 on each node: with one lost, 0.5 are free on the other


class Loop:
    """A loop of two workers, one on each node, and what its scorer leaves in a folder."""

    def __init__(self, name: str, doomed: str) -> None:
        self.folder = Path(name).absolute()
        self.folder.mkdir()
        os.mkfifo(self.folder / "at_it")
        config = {
            "num_workers": 2,
            "custom_reward_function": {
                "path": loop_scorers.__file__,
                "name": "until_its_node_is_lost",
                "reward_kwargs": {"folder": str(self.folder), "doomed": doomed},
            },
            "reward_kwargs": {"extra_keys": ["node"], "on_unavailable": "raise"},
        }
        # Seconds decide nothing but how long "full" looks for room that there is not.
        restart_s = 1 if name == "full" else 600
        self.manager = RewardLoopManager(
            config, CharTokenizer(), num_cpus=CORES[name], restart_s=restart_s
        )

    def wait_until_scoring(self) -> None:
        """Until the worker on the doomed node is at a sample."""
        (self.folder / "at_it").open().close()

    def score(self) -> list[list[object]]:
        """Scores of four samples, and the nodes where they were made."""
        made = self.manager.compute_rm_score(make_batch(["a", "b", "c", "d"]))
        scores = made.batch["rm_scores"].sum(dim=1).tolist()
        return [scores, made.non_tensor_batch["node"].tolist()]

    def calls(self) -> list[str]:
        """ "SAMPLE NODE" of each call of the scorer."""
        return (self.folder / "calls").read_text().splitlines()


def main() -> None:
    with two_nodes(num_cpus=2) as (cluster, other):
        ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
        threads = ThreadPoolExecutor(2)
        try:
            loops = {name: Loop(name, other.node_id) for name in CORES}
            asked = {name: threads.submit(loop.score) for name, loop in loops.items()}
            for loop in loops.values():
                loop.wait_until_scoring()
            cluster.remove_node(other, allow_graceful=False)
            answer = {"lost": other.node_id}
            for name, loop in loops.items():
                during, calls = asked[name].result(), loop.calls()
                single = asyncio.run(loop.manager.compute_score(make_batch(["e"])))
                answer[name] = {
                    "during": during,
                    "calls": calls,
                    "after": loop.score(),
                    "single": single["reward_score"],
                }
            give_answer(answer)
        finally:
            ray.shutdown()


if __name__ == "__main__":
    main()
