"""The loop's actors: where they run, which are there, and one more try for what a death cost.

Ray starts a dead actor again, on another node if its own is gone; its handle stays good. Its own
retries of a task are not used: every attempt counts there, also one sent to an actor whose death
was not noticed yet, so with one retry a sample may be given up that nobody scored. Here an actor is
asked whether it is there (a question that may be repeated at will), and then gets the task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from verifier._ray import deaths, import_ray, nodes_with_cores, on_node
from verifier.errors import ConfigError, InfraError
from verifier.reward_loop.worker import RewardLoopWorker

START_S = 300.0
"""Until an actor has to be there for the first time, or any of them; images may be loaded first."""

_log = logging.getLogger("verifier.reward_loop")


class Actors:
    """Ray actors of `RewardLoopWorker`, round robin over the nodes.

    Args:
        number: Actors.
        num_cpus: Cores that Ray reserves for each.
        name_prefix: They are named with it and a number; None leaves them without names.
        restart_s: Seconds after which one that died is passed over: Ray may have no room for it.
            When it comes, it is used again.
        arguments: Of `RewardLoopWorker`.
        settings: Of `RewardLoopWorker`.

    Raises:
        ConfigError: Ray is absent or not started, or no node has a core.
    """

    def __init__(
        self,
        number: int,
        num_cpus: float,
        name_prefix: str | None,
        restart_s: float,
        arguments: Sequence[Any],
        settings: Mapping[str, Any],
    ) -> None:
        self._ray = ray = started_ray()
        self._restart_s = restart_s
        self._died = deaths(ray)
        self._met: set[int] = set()  # those that have been there
        self._late: dict[int, Any] = {}  # what those that did not answer in time were asked
        nodes = nodes_with_cores(ray)
        actor = ray.remote(RewardLoopWorker)
        self.handles: list[Any] = [
            actor.options(
                name=f"{name_prefix}_{i}" if name_prefix else None,
                num_cpus=num_cpus,
                max_restarts=-1,
                max_task_retries=1,  # for those who call a handle by themselves
                scheduling_strategy=on_node(ray, nodes[i % len(nodes)]),
            ).remote(*arguments, **settings)
            for i in range(number)
        ]

    async def call(self, turn: int, method: str, data: Any) -> Any:
        """Call a method of the actor whose turn it is; once more if an actor died of it.

        Raises:
            InfraError: Two actors died, or none is there.
            Exception: Whatever the method raised.
        """
        died = ""
        for _ in range(2):
            actor = await self._there(turn)
            try:
                return await getattr(actor, method).options(max_task_retries=0).remote(data)
            except self._died as error:
                died = str(error).partition("\n")[0]
                _log.warning("a reward worker died over its samples: %s", died)
            except self._ray.exceptions.RayError as error:
                cause = getattr(error, "cause", None)
                if isinstance(cause, Exception):
                    raise cause from None
                raise InfraError(f"{type(error).__name__}: {error}") from None
        raise InfraError(f"a reward worker died twice over its samples: {died}")

    def close(self) -> None:
        """End them."""
        for handle in self.handles:
            self._ray.kill(handle, no_restart=True)
        self.handles = []

    # ------------------------------------------------------------ inside

    async def _there(self, turn: int) -> Any:
        """The actor whose turn it is; any other where Ray did not start that one in time."""
        if not self.handles:
            raise InfraError("the reward loop is closed")
        own = turn % len(self.handles)
        if self._asked_before(own) is None:
            limit_s = self._restart_s if own in self._met else START_S
            if await self._first([own], limit_s) is not None:
                return self.handles[own]
            _log.warning(
                "reward worker %d is not there after %g s: others do its work until it is "
                "(see `ray status`: is there a node with room for it?)",
                own,
                limit_s,
            )
        found = await self._first(range(len(self.handles)), START_S)
        if found is None:
            raise InfraError(
                f"no reward worker is there after {START_S:g} s: see `ray status` for the cores "
                "that they wait for"
            )
        return self.handles[found]

    async def _first(self, which: Iterable[int], timeout_s: float) -> int | None:
        """Which of some actors answered first; None if none did in time."""
        asked = {i: self._asked_before(i) or self._ask(i) for i in which}
        futures = {asyncio.wrap_future(ref.future()): i for i, ref in asked.items()}
        done, pending = await asyncio.wait(
            futures, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        for future in pending:
            future.cancel()
            self._late[futures[future]] = asked[futures[future]]
        for future in done:
            error = future.exception()
            if error is not None:  # it will never be there: its constructor raised
                raise InfraError(f"a reward worker did not start: {error}") from None
            self._late.pop(futures[future], None)
            self._met.add(futures[future])
        return min((futures[future] for future in done), default=None)

    def _asked_before(self, i: int) -> Any:
        """What an actor was asked and has not answered yet; None if there is nothing."""
        ref = self._late.get(i)
        # An old answer says that it was there then, not that it is.
        if ref is not None and self._ray.wait([ref], timeout=0)[0]:
            ref = self._late.pop(i, None) and None
        return ref

    def _ask(self, i: int) -> Any:
        return self.handles[i].__ray_ready__.options(max_task_retries=-1).remote()


def started_ray() -> Any:
    """The module `ray`.

    Raises:
        ConfigError: It is absent, or not started.
    """
    ray = import_ray("the reward loop", "loop")
    if not ray.is_initialized():
        raise ConfigError("Ray is not started: call ray.init() first")
    return ray
