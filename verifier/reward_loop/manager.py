"""The loop's manager: workers on Ray, round robin over the nodes.

    batch -> contiguous parts, one a worker -> compute_score_batch -> scores -> rm_scores, columns

A worker that dies is started again, on another node if its own is gone, and what it was scoring is
scored once more (see `actors`). Parts need not be equal, so nothing is padded: a row of padding
would cost a run in the sandbox.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from verifier._apart import run_apart
from verifier.reward_loop.actors import Actors, started_ray
from verifier.reward_loop.reward_model import RewardModelManager
from verifier.rewards.base import Batch
from verifier.rewards.batch import RewardBatch
from verifier.rewards.loading import custom_scorer, loop_manager_class
from verifier.rewards.settings import read_reward_config


class RewardLoopManager:
    """Starts the workers of a configuration and scores batches with them.

    Args:
        config: See `verifier.rewards.settings`.
        tokenizer: Of the policy, sent to the workers; None lets them load it.
        reward_model_tokenizer: Of the reward model, the same.
        reward_model: A running reward model; None starts the configured one.
        num_cpus: Cores that Ray reserves for each worker.
        name_prefix: Actors are named with it and a number; None leaves them without names.
        restart_s: Seconds that Ray has to start a worker again. After that the others do its work
            until it is there: a node may be lost and no other have room.
        **settings: For the workers' managers.

    Raises:
        ConfigError: A setting is wrong, Ray is absent or not started, or no node has a core.
    """

    def __init__(
        self,
        config: Any,
        tokenizer: Any = None,
        *,
        reward_model_tokenizer: Any = None,
        reward_model: RewardModelManager | None = None,
        num_cpus: float = 1,
        name_prefix: str | None = None,
        restart_s: float = 120,
        **settings: Any,
    ) -> None:
        started_ray()  # else a reward model is started in vain
        read = read_reward_config(config)
        self._model_settings = read.reward_model
        self._manager_class = loop_manager_class(read)
        scorer = custom_scorer(read)
        if scorer is not None:  # found here; a worker has another current folder
            settings.setdefault("compute_score", scorer)
        self.reward_model_manager = reward_model
        self._owns_model = False
        if reward_model is None and read.reward_model.enable:
            self.reward_model_manager = RewardModelManager(read.reward_model)
            self._owns_model = True
        self.reward_router_address = (
            self.reward_model_manager.get_router_address() if self.reward_model_manager else None
        )
        try:
            self._actors = Actors(
                read.num_workers,
                num_cpus,
                name_prefix,
                restart_s,
                (config, self.reward_router_address, tokenizer, reward_model_tokenizer),
                settings,
            )
        except BaseException:
            self._close_model()
            raise

    @property
    def reward_loop_workers(self) -> list[Any]:
        """The actors' handles; none after `close`."""
        return self._actors.handles

    @property
    def reward_loop_worker_handles(self) -> list[Any] | None:
        """Workers that may score while rollout goes on; None where that would steal its machines.

        Rules may always; a reward model only with its own resource pool. What is called on a handle
        is retried by Ray, once, and waits for a worker that is being started again.
        """
        if not self._model_settings.enable or self._model_settings.enable_resource_pool:
            return list(self.reward_loop_workers)
        return None

    def compute_rm_score(self, data: Batch) -> Any:
        """Score a batch.

        Returns:
            A batch of the same class (verl's DataProto, or `RewardBatch`) with the tensor
            `rm_scores`, float32 (n, L), a column for each extra key, and their names in
            `meta_info["reward_extra_keys"]`.

        Raises:
            InfraError: Samples could not be scored and the policy is not "mask", two workers died
                over a part, or none is there.
            RequestError: A field is missing; names it.
        """
        model = self.reward_model_manager
        if model is not None:
            model.wake_up()
        try:
            answers = run_apart(self._score(data))
        finally:
            if model is not None:
                model.sleep()
        scores = [float(answer["reward_score"]) for answer in answers]
        infos = [answer.get("reward_extra_info", {}) for answer in answers]
        keys = list(infos[0]) if infos else []
        return _batch_like(
            data,
            {"rm_scores": self._manager_class.assemble_rm_scores(data, scores)},
            {key: np.array([info[key] for info in infos]) for key in keys},
            {"reward_extra_keys": keys},
        )

    async def compute_score(self, data: Batch) -> dict[str, Any]:
        """Score the last row of a batch in the next worker, while others are under way.

        Raises:
            InfraError: It could not be scored, or two workers died over it.
        """
        turn = self._turn
        self._turn += 1
        answer: dict[str, Any] = await self._actors.call(turn, "compute_score", data)
        return answer

    def close(self) -> None:
        """End the workers, and the reward model if this started it."""
        self._actors.close()
        self._close_model()

    # ------------------------------------------------------------ inside

    _turn = 0

    async def _score(self, data: Batch) -> list[dict[str, Any]]:
        rows: Any = data
        parts = await asyncio.gather(
            *(
                self._actors.call(turn, "compute_score_batch", rows[start:end])
                for turn, (start, end) in enumerate(split(len(data), len(self._actors.handles)))
            ),
            return_exceptions=True,  # a part's error is raised when the others are done
        )
        answers: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, BaseException):
                raise part
            answers.extend(part)
        return answers

    def _close_model(self) -> None:
        if self._owns_model and self.reward_model_manager is not None:
            self.reward_model_manager.close()


def split(rows: int, parts: int) -> list[tuple[int, int]]:
    """Contiguous, nearly equal ranges; none of them is empty."""
    parts = max(1, min(rows, parts))
    if not rows:
        return []
    size, more = divmod(rows, parts)
    ends = [(i + 1) * size + min(i + 1, more) for i in range(parts)]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _batch_like(
    data: Batch, tensors: dict[str, Any], columns: dict[str, Any], meta: dict[str, Any]
) -> Any:
    make = getattr(type(data), "from_dict", None)
    if make is None:
        return RewardBatch(tensors, columns, meta)
    return make(tensors=tensors, non_tensors=columns, meta_info=meta)


__all__: Sequence[str] = ["RewardLoopManager", "split"]
