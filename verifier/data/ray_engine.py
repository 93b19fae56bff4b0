"""Rows over a Ray cluster: one actor a node, each with a scorer of its own.

An actor holds what `verifier score` holds on one machine: an engine with a sandbox, on the cores
that Ray reserves for it, or a client of gateways. A row is one task of an actor, pickled here, so
that what cannot be sent is a result and no end of the run. Ray starts a dead actor again, on
another node if its own is gone and there is room. Its retries of tasks are not used: it would count
attempts that never reached an actor, and run a row again behind our back (see `workers`).
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import functools
import os
import pickle
import re
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from verifier._ray import Node, deaths, import_ray, nodes_with_cores, on_node
from verifier._version import __version__
from verifier.data.workers import Opened, RowScorer, WorkerDied, WorkersScorer
from verifier.errors import ConfigError, InfraError, VerifierError

__all__ = ["open_ray_scorer"]

# Opens a scorer in an actor. `slots` are the actor's, None for a client; `say` gets what a user
# should know.
OpenScorer = Callable[..., Awaitable[RowScorer]]

# A GCS that is there answers in milliseconds.
_CONNECT_S = 10.0
# Between two looks at an actor that is started again.
_LOOK_S = 0.5
# Until an actor has closed its sandbox.
_CLOSE_S = 30.0
# More than an actor ever has at once: it is the caller who bounds its rows.
_CALLS = 1_000_000


class ScoringActor:
    """Holds a scorer on a node.

    Args:
        open_scorer: Opens it there.
        version: Of this package, where the rows are read.
    """

    def __init__(self, open_scorer: OpenScorer, version: str) -> None:
        self._open_scorer = open_scorer
        self._version = version
        self._scorer: RowScorer | None = None
        self._news: asyncio.Queue[str] = asyncio.Queue()

    async def open(self) -> Opened:
        """Open the scorer, if it is not open.

        Raises:
            VerifierError: It cannot; names the node.
        """
        ray = import_ray("an actor", "ray")
        address = ray.util.get_node_ip_address()
        node = f"{socket.gethostname()} ({address}, process {os.getpid()})"
        try:
            _same_version(self._version)
            if self._scorer is None:
                self._scorer = await self._open_scorer(say=self._news.put_nowait)
        except VerifierError as error:
            error.args = (f"node {node}: {error}",)
            raise
        except Exception as error:
            raise InfraError(f"node {node}: {type(error).__name__}: {error}") from error
        return Opened(node, self._scorer.slots, self._scorer.backend)

    async def score(self, data: bytes) -> bytes:
        """Score a pickled row; its pickled result, or nothing where the scorer is not open."""
        if self._scorer is None:
            return b""
        row = pickle.loads(data)  # noqa: S301 - from the process that started this actor
        return pickle.dumps(await self._scorer.score(row))

    async def news(self) -> str:
        """The next thing that a user should know."""
        return await self._news.get()

    async def close(self) -> None:
        """Close the scorer."""
        scorer, self._scorer = self._scorer, None
        if scorer is not None:
            await scorer.close()


def _same_version(version: str) -> None:
    if version != __version__:
        raise ConfigError(
            f"verifier is {__version__} there and {version} where the rows are: results would "
            "depend on the node; install the same"
        )


class _Restarting(WorkerDied):
    """Ray is starting it again, where there is room."""


class RayWorker:
    """A `Worker` that is an actor."""

    def __init__(self, ray: Any, actor: Any) -> None:
        """Take an actor of `ScoringActor`, which may not be there yet."""
        self._ray = ray
        self._actor = actor
        self._died = deaths(ray)
        self._score = actor.score.options(max_task_retries=0)
        self._is_there = False

    async def open(self) -> Opened:
        """Wait until Ray has started it, and open it."""
        self._is_there = False
        while not self._is_there:
            try:
                await self._answer(self._once("__ray_ready__"))
                self._is_there = True
            except _Restarting:  # noqa: PERF203 - half a second goes by between two of them
                # Ray would retry by itself, with a line for each time on standard output.
                await asyncio.sleep(_LOOK_S)
        opened: Opened = await self._answer(self._once("open"))
        return opened

    async def score(self, row: bytes) -> bytes:
        """One task."""
        answer: bytes = await self._answer(self._score.remote(row))
        if not answer:
            raise _Restarting("it was started again before anybody noticed")
        return answer

    async def news(self) -> str:
        """A task that ends when there is something."""
        said: str = await self._answer(self._once("news"))
        return said

    async def close(self) -> None:
        """Let it close its scorer, then end it."""
        if self._is_there:
            with contextlib.suppress(WorkerDied, VerifierError, asyncio.TimeoutError):
                await asyncio.wait_for(self._answer(self._once("close")), _CLOSE_S)
        self._ray.kill(self._actor, no_restart=True)

    def _once(self, method: str) -> Any:
        return getattr(self._actor, method).options(max_task_retries=0).remote()

    async def _answer(self, ref: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return await ref
        except errors.ActorUnavailableError as error:
            raise _Restarting(_reason(error)) from None
        except self._died as error:
            raise WorkerDied(_reason(error)) from None
        except errors.RayTaskError as error:  # what the actor's code raised
            cause = getattr(error, "cause", None)
            if isinstance(cause, VerifierError):
                raise cause from None
            raise
        except errors.RayError as error:
            raise WorkerDied(f"{type(error).__name__}: {_reason(error)}") from None


class RayScorer(WorkersScorer):
    """A `RowScorer` over actors; ends the Ray that was started for it."""

    def __init__(
        self,
        ray: Any,
        connection: contextlib.ExitStack,
        actors: Sequence[Any],
        **options: Any,
    ) -> None:
        """Take actors of a cluster that was connected to; `options` are of `WorkersScorer`."""
        super().__init__([RayWorker(ray, actor) for actor in actors], **options)
        self._connection = connection

    async def close(self) -> None:
        """End the actors, and leave the cluster."""
        with self._connection:
            await super().close()


async def open_ray_scorer(
    open_scorer: OpenScorer,
    *,
    address: str | None = None,
    actors: int | None = None,
    slots: int | None = None,
    clients: bool = False,
    **options: Any,
) -> RayScorer:
    """Start actors on a cluster, and wait for the first of them.

    Args:
        open_scorer: See `OpenScorer`; it is pickled.
        address: HOST:PORT of the cluster, or "auto" for the one of this machine. Default:
            RAY_ADDRESS, else a Ray that is started here and ended with the scorer.
        actors: One for each node that has cores, if None.
        slots: Of each actor; the cores of its node, shared with the other actors there, if None.
        clients: Actors hold clients of gateways: they reserve one core, and have no slots.
        options: Of `WorkersScorer`.

    Raises:
        ConfigError: Ray is absent, or the address cannot be one.
        InfraError: No cluster answers there, or no actor has started in time.
        VerifierError: No actor can open its scorer; names a node, and why.
    """
    ray = import_ray("--engine ray", "ray")
    with contextlib.ExitStack() as stack:
        stack.enter_context(connected(ray, address))
        places = spread(nodes_with_cores(ray), actors, 1 if clients else slots)
        actor = ray.remote(ScoringActor)
        handles = [
            actor.options(
                num_cpus=cores,
                max_restarts=-1,
                max_concurrency=_CALLS,
                scheduling_strategy=on_node(ray, node),
            ).remote(functools.partial(open_scorer, slots=None if clients else cores), __version__)
            for node, cores in places
        ]
        total = None if clients else sum(cores for _, cores in places)
        scorer = RayScorer(ray, stack.pop_all(), handles, slots=total, **options)
    try:
        await scorer.start()
    except BaseException:
        await scorer.close()
        raise
    return scorer


def spread(nodes: Sequence[Node], actors: int | None, cores: int | None) -> list[tuple[Node, int]]:
    """The node of each actor, and the cores that it reserves there.

    Args:
        nodes: Taken in turn.
        actors: One for each node, if None.
        cores: Of each; those of its node, shared with the other actors there, if None.
    """
    places = [nodes[i % len(nodes)] for i in range(actors or len(nodes))]
    return [(node, cores or max(1, int(node.cores) // places.count(node))) for node in places]


@contextlib.contextmanager
def connected(ray: Any, address: str | None) -> Iterator[None]:
    """Be a process of a cluster, which is started if none is named; see `open_ray_scorer`.

    Ray prints what happens to the cluster on standard output, which is for results: meanwhile it is
    standard error.
    """
    with contextlib.redirect_stdout(sys.stderr):
        connect(ray, address)
        try:
            yield
        finally:
            ray.shutdown()


def connect(ray: Any, address: str | None) -> None:
    """Join a cluster, or start one; see `open_ray_scorer` for the address and what is raised."""
    where = address or os.environ.get("RAY_ADDRESS") or "local"
    if "://" in where:
        raise ConfigError(
            f"ray-address {where!r}: rows go to actors from a process of the cluster; run this on "
            "one of its nodes (ray job submit), with HOST:PORT or auto"
        )
    remedy = "start one (ray start --head), or leave --ray-address and RAY_ADDRESS out"
    if where not in {"auto", "local"}:
        host, _, port = where.rpartition(":")
        if not host or not port.isdecimal():
            near = difflib.get_close_matches(where, ("auto", "local"), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ConfigError(f"ray-address {where!r}: must be HOST:PORT, auto or local{hint}")
        try:
            # Ray itself would try for a minute, and then end the process.
            socket.create_connection((host, int(port)), _CONNECT_S).close()
        except OSError as error:
            raise InfraError(f"no Ray cluster answers at {where} ({error}): {remedy}") from None
    with _our_signals():
        try:
            ray.init(
                address=where,
                log_to_driver=False,
                configure_logging=False,
                **({"include_dashboard": False} if where == "local" else {}),
            )
        except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
            raise InfraError(f"no Ray cluster answers at {where} ({error}): {remedy}") from None


@contextlib.contextmanager
def _our_signals() -> Iterator[None]:
    """Ray replaces the handler of SIGTERM; the command's own frees what it holds."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _reason(error: Exception) -> str:
    """What one of Ray's messages says: its first line, and the last of a traceback, if it has one.

    They are long, and in color.
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    return f"{lines[0]} {lines[-1]}" if "Error: " in lines[-1] and lines[1:] else lines[0]
