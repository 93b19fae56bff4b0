"""Calls a scorer that may hang.

Python cannot stop a function from outside, and an alarm signal works on the main thread only (and
loses to a C loop). So the scorer runs on a daemon thread; when its time is over, the thread is left
behind and the next sample gets a new one. The sample is flagged, the step goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import queue
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typing_extensions import Self

_Outbox = queue.SimpleQueue[tuple[Any, BaseException | None]]


class BoundedCaller:
    """Runs calls one after the other, each within `timeout_s`. A context manager.

    Args:
        timeout_s: Seconds per call; None runs it on the caller's own thread, unbounded.
    """

    def __init__(self, timeout_s: float | None) -> None:
        self._timeout_s = timeout_s
        self._inbox: queue.SimpleQueue[tuple[Callable[[], Any], _Outbox] | None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._dismiss()

    def __call__(self, fn: Callable[..., Any], **kwargs: Any) -> Any:
        """Call `fn`; an awaitable that it returns is awaited.

        Raises:
            TimeoutError: It did not return in time.
            BaseException: Whatever it raised.
        """
        if self._timeout_s is None and not inspect.iscoroutinefunction(fn):
            return fn(**kwargs)
        if self._inbox is None:
            self._inbox = queue.SimpleQueue()
            threading.Thread(
                target=_serve, args=(self._inbox,), name="verifier-scorer", daemon=True
            ).start()
        outbox: _Outbox = queue.SimpleQueue()
        self._inbox.put((lambda: _settle(fn(**kwargs)), outbox))
        try:
            value, error = outbox.get(timeout=self._timeout_s)
        except queue.Empty:
            self._dismiss()
            raise TimeoutError(f"the scorer did not return within {self._timeout_s} s") from None
        if error is not None:
            raise error
        return value

    def _dismiss(self) -> None:
        if self._inbox is not None:
            self._inbox.put(None)
            self._inbox = None


def _serve(inbox: queue.SimpleQueue[tuple[Callable[[], Any], _Outbox] | None]) -> None:
    while (job := inbox.get()) is not None:
        work, outbox = job
        try:
            outbox.put((work(), None))
        except BaseException as error:  # noqa: BLE001 - delivered to the caller, which decides
            outbox.put((None, error))


def _settle(value: Any) -> Any:
    if inspect.isawaitable(value):
        return asyncio.run(_wait(cast("Coroutine[Any, Any, Any]", value)))
    return value


async def _wait(value: Coroutine[Any, Any, Any]) -> Any:
    return await value


async def call_bounded(fn: Callable[..., Any], timeout_s: float | None, **kwargs: Any) -> Any:
    """Call a scorer, sync or async, from an event loop.

    A synchronous one runs on a daemon thread of its own: a pool's threads would be used up by
    scorers that hang, and joined when the interpreter ends.

    Raises:
        TimeoutError: It did not return in time.
        BaseException: Whatever it raised.
    """
    if inspect.iscoroutinefunction(fn):
        return await _within(fn(**kwargs), timeout_s)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def deliver(value: Any, error: BaseException | None) -> None:
        if answer.done():  # its caller gave up
            return
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)

    def work() -> None:
        value: Any = None
        problem: BaseException | None = None
        try:
            value = fn(**kwargs)
        except StopIteration as error:  # a future refuses this one
            problem = RuntimeError(f"StopIteration: {error}")
        except BaseException as error:  # noqa: BLE001 - delivered to the caller, which decides
            problem = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(deliver, value, problem)

    threading.Thread(target=work, name="verifier-scorer", daemon=True).start()
    value = await _within(answer, timeout_s)
    if inspect.isawaitable(value):
        return await _within(value, timeout_s)
    return value


async def _within(work: Any, timeout_s: float | None) -> Any:
    if timeout_s is None:
        return await work
    done = asyncio.ensure_future(work)
    try:
        finished, _ = await asyncio.wait({done}, timeout=timeout_s)
    except asyncio.CancelledError:
        done.cancel()
        raise
    if not finished:
        done.cancel()
        raise TimeoutError(f"the scorer did not return within {timeout_s} s")
    return done.result()
