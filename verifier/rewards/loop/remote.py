"""Scorers in Ray processes of their own, round robin: for those that are heavy, or refuse threads.

A worker that died is replaced and its sample scored again, once. A scorer that does not return in
time is killed with its process; a thread could only be left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from verifier._loading import Caller
from verifier.errors import ConfigError, InfraError
from verifier.rewards.limiter import Gate
from verifier.rewards.loop.naive import NaiveRewardManager
from verifier.rewards.loop.registry import register


class WorkerPool:
    """Ray actors that call one function, in turn.

    Args:
        scorer: The function. It travels by cloudpickle: lambdas and closures do, open channels do
            not (see `verifier._loading.FunctionFrom`).
        size: Processes.
        num_cpus: Cores that Ray reserves for each.

    Raises:
        ConfigError: Ray is not there, or the function cannot travel.
    """

    def __init__(self, scorer: Callable[..., Any], size: int, num_cpus: float = 1) -> None:
        try:
            import ray
        except ImportError as error:
            raise ConfigError("reward manager 'remote' needs ray: pip install ray") from error
        self._ray = ray
        self._scorer = scorer
        self._options: dict[str, Any] = {"num_cpus": num_cpus, "max_restarts": 0}
        if ray.is_initialized():
            # On the node of who asks, as in verl, while that has room.
            here = ray.get_runtime_context().get_node_id()
            affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
            self._options["scheduling_strategy"] = affinity(node_id=here, soft=True)
        self._actor_class = ray.remote(Caller)
        try:
            workers = [self._start() for _ in range(size)]
        except TypeError as error:
            raise ConfigError(
                f"the scorer cannot travel to a worker process: {error}; "
                "give it as custom_reward_function.path and name, which the worker loads by itself"
            ) from error
        # Who was free longest is next: in turn, while all are equally fast. One call at a time in
        # each, so that a call's clock does not run while it waits behind another.
        self._free = deque(workers)
        self._gate = Gate(size)

    async def call(self, timeout_s: float | None, arguments: Mapping[str, Any]) -> Any:
        """Call the function in the worker whose turn it is.

        Args:
            timeout_s: Seconds, counted from when its process is there and free.
            arguments: Keyword arguments.

        Raises:
            TimeoutError: It did not return in time; its process was killed.
            InfraError: Two workers in a row died of it.
            Exception: Whatever it raised.
        """
        async with self._gate:
            worker, died = self._free.popleft(), ""
            try:
                for _ in range(2):
                    try:
                        return await self._ask(worker, timeout_s, arguments)
                    except self._ray.exceptions.RayTaskError as error:  # noqa: PERF203 - twice
                        cause = getattr(error, "cause", None)
                        raise cause if isinstance(cause, Exception) else error from None
                    except self._ray.exceptions.RayActorError as error:
                        died = str(error).partition("\n")[0]
                        worker = self._replaced(worker)
                    except (TimeoutError, asyncio.CancelledError):
                        worker = self._replaced(worker)  # it may still be at it
                        raise
            finally:
                self._free.append(worker)
        raise InfraError(f"two workers died while they scored this sample: {died}")

    async def _ask(self, worker: Any, timeout_s: float | None, arguments: Mapping[str, Any]) -> Any:
        await asyncio.wrap_future(worker.ready.remote().future())
        answer = asyncio.wrap_future(worker.call.remote(**arguments).future())
        done, _ = await asyncio.wait({answer}, timeout=timeout_s)
        if not done:
            answer.cancel()
            raise TimeoutError(f"the scorer did not return within {timeout_s} s")
        return answer.result()

    def close(self) -> None:
        """End the processes."""
        while self._free:
            self._kill(self._free.popleft())

    def _start(self) -> Any:
        return self._actor_class.options(**self._options).remote(self._scorer)

    def _replaced(self, worker: Any) -> Any:
        self._kill(worker)
        return self._start()

    def _kill(self, worker: Any) -> None:
        with contextlib.suppress(Exception):
            self._ray.kill(worker, no_restart=True)


@register("remote")
class RemoteRewardManager(NaiveRewardManager):
    """The naive manager with its scorer in `reward.num_workers` Ray processes.

    `reward_kwargs.cpus_per_worker` (1) is what Ray reserves for each.

    Raises:
        ConfigError: The scorer cannot travel.
    """

    SETTINGS = (*NaiveRewardManager.SETTINGS, "cpus_per_worker")

    def __init__(self, config: Any, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(config, tokenizer, *args, **kwargs)
        cpus = self._given.get("cpus_per_worker", 1)
        self.pool = WorkerPool(self.compute_score, self.reward_config.num_workers, cpus)

    def _in_batch(self, sample: Any) -> bool:
        del sample
        return False  # every sample is a call of some worker

    async def _call(self, arguments: Mapping[str, Any]) -> object:
        return await self.pool.call(self._timeout_s, arguments)
