"""A coroutine run to its end from synchronous code, whether or not that has an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Run it on a thread of its own, with an event loop of its own.

    Raises:
        BaseException: Whatever it raised.
    """
    answer: list[T] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(asyncio.run(work))
        except BaseException as raised:  # noqa: BLE001 - raised in the caller
            error.append(raised)

    # A daemon: who is interrupted while waiting need not wait for it when the interpreter ends.
    thread = threading.Thread(target=run, name="verifier-apart", daemon=True)
    thread.start()
    thread.join()
    if error:
        raise error[0]
    return answer[0]
