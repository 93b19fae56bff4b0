"""The synchronous twin: the same calls, run on a private event loop in a thread of this process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from verifier.client.aio import AsyncClient
from verifier.client.counts import ClientCounts
from verifier.client.retry import RetryPolicy
from verifier.client.types import ScoreCall, ServerInfo
from verifier.client.uploads import UPLOAD_ABOVE_BYTES
from verifier.types import (
    Checker,
    Comparator,
    Interactor,
    LimitOverrides,
    Result,
    RunOutcome,
    ScorePolicy,
)

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Client"]

_T = TypeVar("_T")
_NO_LIMITS = LimitOverrides()
_DEFAULT_RETRY = RetryPolicy()


class _LoopThread:
    """An event loop that runs for as long as the process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="verifier-client", daemon=True
        )
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C in the caller's thread ends the call as well.
            future.cancel()
            raise


class _Shared:
    """The one loop of this process. A forked child has none: threads do not come along."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: _LoopThread | None = None

    def get(self) -> _LoopThread:
        with self._lock:
            if self._thread is None or self._thread.pid != os.getpid():
                self._thread = _LoopThread()
            return self._thread

    def after_fork(self) -> None:
        # Another thread may have held it, and will never release it here.
        self._lock = threading.Lock()


_shared = _Shared()
os.register_at_fork(after_in_child=_shared.after_fork)


class Client:
    """Talks to gateways. See `AsyncClient`; every method does and raises the same.

    Safe to use from several threads, and in a forked child. Not for use on an event loop's thread.
    """

    def __init__(
        self,
        target: str | Iterable[str],
        *,
        timeout_s: float | None = 600.0,
        client_id: str = "",
        retry: RetryPolicy = _DEFAULT_RETRY,
        max_in_flight: int = 128,
        upload_above_bytes: int | None = UPLOAD_ABOVE_BYTES,
        hedge_after_s: float | None = None,
    ) -> None:
        """Open nothing."""
        self._aio = AsyncClient(
            target,
            timeout_s=timeout_s,
            client_id=client_id,
            retry=retry,
            max_in_flight=max_in_flight,
            upload_above_bytes=upload_above_bytes,
            hedge_after_s=hedge_after_s,
        )
        self.target = self._aio.target

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The client may be used again."""
        _shared.get().run(self._aio.close())

    def score(
        self,
        response: str | bytes,
        ground_truth: object = None,
        *,
        suite_digest: str | None = None,
        language: str | None = None,
        limits: LimitOverrides = _NO_LIMITS,
        request_id: str = "",
        priority: int = 0,
        fn_name: str | None = None,
        ground_truth_format: str = "",
        deadline_s: float | None = None,
        comparator: Comparator | None = None,
        checker: Checker | None = None,
        interactor: Interactor | None = None,
        policy: ScorePolicy | None = None,
        extraction_policy: str = "",
        excerpt_bytes: int | None = None,
        data_source: str = "",
        extra_info: bytes = b"",
        no_cache: bool = False,
    ) -> Result:
        """Score one response: `AsyncClient.score`."""
        return _shared.get().run(
            self._aio.score(
                response,
                ground_truth,
                suite_digest=suite_digest,
                language=language,
                limits=limits,
                request_id=request_id,
                priority=priority,
                fn_name=fn_name,
                ground_truth_format=ground_truth_format,
                deadline_s=deadline_s,
                comparator=comparator,
                checker=checker,
                interactor=interactor,
                policy=policy,
                extraction_policy=extraction_policy,
                excerpt_bytes=excerpt_bytes,
                data_source=data_source,
                extra_info=extra_info,
                no_cache=no_cache,
            )
        )

    def score_many(self, requests: Iterable[ScoreCall]) -> list[Result]:
        """Score many responses over one stream: `AsyncClient.score_many`."""
        return _shared.get().run(self._aio.score_many(list(requests)))

    def run(
        self,
        source: str | bytes | None = None,
        *,
        language: str | None = None,
        argv: Iterable[str] = (),
        stdin: str | bytes = b"",
        limits: LimitOverrides = _NO_LIMITS,
        request_id: str = "",
        priority: int = 0,
        deadline_s: float | None = None,
        excerpt_bytes: int | None = None,
    ) -> RunOutcome:
        """Run one program: `AsyncClient.run`."""
        return _shared.get().run(
            self._aio.run(
                source,
                language=language,
                argv=argv,
                stdin=stdin,
                limits=limits,
                request_id=request_id,
                priority=priority,
                deadline_s=deadline_s,
                excerpt_bytes=excerpt_bytes,
            )
        )

    def put_suite(
        self,
        ground_truth: object,
        *,
        ground_truth_format: str = "",
        fn_name: str = "",
        data_source: str = "",
    ) -> str:
        """Upload a ground truth: `AsyncClient.put_suite`."""
        return _shared.get().run(
            self._aio.put_suite(
                ground_truth,
                ground_truth_format=ground_truth_format,
                fn_name=fn_name,
                data_source=data_source,
            )
        )

    def info(self) -> ServerInfo:
        """What the gateway is: `AsyncClient.info`."""
        return _shared.get().run(self._aio.info())

    def counts(self) -> ClientCounts:
        """What this client did so far: `AsyncClient.counts`."""
        return self._aio.counts()
