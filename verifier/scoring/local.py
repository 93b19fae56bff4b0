"""An engine on this host, for callers that have no gateway.

    caller (any thread, any event loop) --submit--> private daemon thread: event loop + Engine +
    sandbox

The engine is asynchronous and lives on one loop, while reward code is called from trainers'
threads, from loops of their own, and from worker processes that were forked. So each process has
its own engine on its own thread: the table is keyed by process id, and after a fork the child
forgets its parent's entries, whose threads do not exist there. The engine's slots are separate
programs (never a fork of this process), so nothing of a multi-threaded trainer is copied into them.

It is held to the gateway's gate: the sandbox refuses to start where a guarantee is missing that was
not accepted by name, and at most as many programs run at once as this process has cores.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import concurrent.futures.thread  # see `_at_exit`
import logging
import os
import threading
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, TypeVar

from verifier.config import read_testlib
from verifier.engine import Engine, make_sandbox
from verifier.engine.patience import patiently
from verifier.errors import BackendError, InfraError, RequestError
from verifier.types import Outcome, Result, ScoreTask

_log = logging.getLogger("verifier.scoring")
_T = TypeVar("_T")

_CLOSE_S = 10.0
# Tasks handed to the engine at once, per slot: enough that no slot idles, few enough that a batch
# of any size stays under the engine's bounded queue.
_WINDOW_PER_SLOT = 4


def cores() -> int:
    """Cores this process may use."""
    return max(1, len(os.sched_getaffinity(0)))


class LocalEngine:
    """An engine on a private event loop thread; `local_engine` gives the process's own."""

    def __init__(self, make_engine: Callable[[], Engine], *, window: int | None = None) -> None:
        """Start the thread and the engine.

        Args:
            make_engine: Called on the private loop.
            window: How many tasks are handed to the engine at once.

        Raises:
            GuaranteeError: This host misses a guarantee that was not accepted by name.
            BackendError: There can be no slots.
        """
        self._pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="verifier-local-engine", daemon=True
        )
        self._closed = False
        self._thread.start()
        try:
            self._engine, self._gate = self._call(self._open(make_engine, window))
        except BaseException:
            self._stop_loop()
            raise

    @property
    def alive(self) -> bool:
        """It can serve this process."""
        return not self._closed and self._pid == os.getpid() and self._thread.is_alive()

    @property
    def slots(self) -> int:
        """Programs that run at once."""
        return self._engine.info().slots

    def score_many(
        self, tasks: Sequence[ScoreTask], names: Sequence[str] | None = None
    ) -> list[Result]:
        """Score tasks; results in the tasks' order.

        A fault of the machinery comes back as a Result with outcome INFRA_ERROR.

        Args:
            tasks: What to score.
            names: What errors call the tasks; "tasks[0]" and so on when None.

        Raises:
            RequestError: A task is unusable; raised when all others are done, names the task.
            UnimplementedError: A task asks for what is not built.
        """
        return self._call(self._score_many(tasks, names))

    async def ascore_many(
        self, tasks: Sequence[ScoreTask], names: Sequence[str] | None = None
    ) -> list[Result]:
        """`score_many`, from any event loop."""
        return await asyncio.wrap_future(self._submit(self._score_many(tasks, names)))

    def close(self) -> None:
        """Stop the engine and the thread; twice is harmless."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        try:
            self._submit(self._engine.close(), closing=True).result(_CLOSE_S)
        except Exception as error:  # noqa: BLE001 - at exit there is nobody to tell but the log
            _log.warning("the local engine did not close cleanly: %r", error)
        finally:
            self._stop_loop()

    async def _open(
        self, make_engine: Callable[[], Engine], window: int | None
    ) -> tuple[Engine, asyncio.Semaphore]:
        engine = make_engine()
        await engine.start()
        return engine, asyncio.Semaphore(window or _WINDOW_PER_SLOT * engine.info().slots)

    async def _score_many(
        self, tasks: Sequence[ScoreTask], names: Sequence[str] | None
    ) -> list[Result]:
        answers = await asyncio.gather(*map(self._score_one, tasks), return_exceptions=True)
        results: list[Result] = []
        for position, answer in enumerate(answers):
            if isinstance(answer, RequestError):
                name = names[position] if names else f"tasks[{position}]"
                raise type(answer)(f"{name}.{answer.field}", answer.problem)
            if isinstance(answer, BaseException):
                raise answer
            results.append(answer)
        return results

    async def _score_one(self, task: ScoreTask) -> Result:
        async with self._gate:
            try:
                return await patiently(lambda: self._engine.score(task))
            except InfraError as error:
                return Result(
                    outcome=Outcome.INFRA_ERROR,
                    error=f"{type(error).__name__}: {error}",
                    request_id=task.request_id,
                )

    def _call(self, work: Coroutine[Any, Any, _T]) -> _T:
        future = self._submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # an interrupted caller kills the programs that run for it
            raise

    def _submit(
        self, work: Coroutine[Any, Any, _T], *, closing: bool = False
    ) -> concurrent.futures.Future[_T]:
        if (self._closed and not closing) or self._pid != os.getpid():
            work.close()
            raise BackendError("this local engine is closed, or belongs to another process")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _stop_loop(self) -> None:
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()


_Key = tuple[str, frozenset[str], int, str | None]
_engines: dict[_Key, LocalEngine] = {}
_inherited: list[LocalEngine] = []
_lock = threading.Lock()


def local_engine(
    *,
    backend: str = "namespaces",
    accept: Collection[str] = (),
    slots: int | None = None,
    testlib: str | None = None,
) -> LocalEngine:
    """This process's engine with these settings; made at the first call, closed at exit.

    Args:
        backend: A backend of `verifier.engine.make_sandbox`.
        accept: Guarantees that the operator accepts as missing, by name.
        slots: Programs at once; at most, and by default, the cores of this process.
        testlib: Path of a testlib.h for checkers that do not bring their own; by default what
            VERIFIER_TESTLIB names.

    Raises:
        GuaranteeError: This host misses a guarantee that was not accepted by name.
        ConfigError: The testlib.h cannot be read.
        BackendError: There can be no slots.
    """
    accepted = frozenset(accept)
    count = min(slots or cores(), cores())
    testlib = testlib or os.environ.get("VERIFIER_TESTLIB")
    key = (backend, accepted, count, testlib)
    with _lock:
        engine = _engines.get(key)
        if engine is None or not engine.alive:
            engine = _engines[key] = LocalEngine(
                lambda: Engine(
                    make_sandbox(backend, accept=accepted),
                    slots=count,
                    accept=accepted,
                    testlib=read_testlib(testlib),
                    pin_slots=False,  # the trainer's own processes run on these cores too
                )
            )
        return engine


def close_local_engines() -> None:
    """Close all engines of this process."""
    with _lock:
        engines = list(_engines.values())
        _engines.clear()
    for engine in engines:
        engine.close()


def _forget_parent() -> None:
    # The parent may have held the lock in another thread at the moment of the fork.
    global _lock  # noqa: PLW0603 - the one place that replaces it, before the child runs anything else
    _lock = threading.Lock()
    # Kept, never collected: finalizing the parent's loop here would change the epoll set that both
    # share.
    _inherited.extend(_engines.values())
    _engines.clear()


def _at_exit(close: Callable[[], None]) -> None:
    """Call `close` at exit, while threads still serve.

    Closing an engine uses its loop's executor, and `concurrent.futures` refuses work from its own
    exit hook on, which runs before any `atexit` one. That hook is registered by the import of
    `concurrent.futures.thread` (above), and the last one that was registered runs first.
    """
    register = getattr(threading, "_register_atexit", None)
    if register is not None:
        register(close)
    atexit.register(close)


os.register_at_fork(after_in_child=_forget_parent)
_at_exit(close_local_engines)
