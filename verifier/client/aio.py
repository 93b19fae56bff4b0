"""The asynchronous client. `sync.Client` is its twin with the same signatures."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import grpc.aio

from verifier.client.channel import Channels
from verifier.client.convert import ground_truth_bytes, info_from_pb, run_request, score_request
from verifier.client.many import ManyCalls
from verifier.client.retry import RetryPolicy, call_with_retries
from verifier.client.types import RunCall, ScoreCall, ServerInfo
from verifier.client.uploads import ATTEMPTS, UPLOAD_ABOVE_BYTES, Uploads
from verifier.errors import DeadlineError, UnknownSuiteError, VerifierError
from verifier.types import (
    Checker,
    Comparator,
    Interactor,
    LimitOverrides,
    Result,
    RunOutcome,
    ScorePolicy,
)
from verifier.v1 import verifier_pb2 as pb
from verifier.wire import convert as values
from verifier.wire.forked import forked_after_use
from verifier.wire.status import error_from_code, error_from_status

if TYPE_CHECKING:
    from typing_extensions import Self

    from verifier.client.relay import Relay

__all__ = ["AsyncClient"]

_CHUNK_BYTES = 1024 * 1024
_NO_LIMITS = LimitOverrides()
_DEFAULT_RETRY = RetryPolicy()


class AsyncClient:
    """Talks to one gateway.

    Nothing is opened before the first call. One client may be used from several event loops, and in
    a process that was forked: each has its own channel.

    Args:
        target: "HOST:PORT", "unix:PATH", or any name that gRPC resolves ("dns:///...").
        timeout_s: Bounds a call that has no deadline of its own, retries included; None: no bound.
        client_id: Names the caller for fair shares.
        retry: How often a call is tried.
        max_in_flight: Calls under way at once, in each loop; more wait here.
        upload_above_bytes: A ground truth bigger than this is uploaded once and named by its digest
            from then on; None: each goes along with its request.
    """

    def __init__(
        self,
        target: str,
        *,
        timeout_s: float | None = 600.0,
        client_id: str = "",
        retry: RetryPolicy = _DEFAULT_RETRY,
        max_in_flight: int = 128,
        upload_above_bytes: int | None = UPLOAD_ABOVE_BYTES,
    ) -> None:
        """Open nothing."""
        self.target = target
        self._upload_above_bytes = upload_above_bytes
        self._timeout_s = timeout_s
        self._client_id = client_id
        self._retry = retry
        self._max_in_flight = max_in_flight
        self._channels = Channels(target, max_in_flight)
        self._max_message_bytes: int | None = None
        self._relay: tuple[int, Relay] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the running loop's channel. The client may be used again."""
        if self._relay is not None:
            pid, relay = self._relay
            if pid == os.getpid():
                relay.close()
            self._relay = None
        await self._channels.close()

    async def score(
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
        """Score one response (see `ScoreCall` for the arguments).

        Returns:
            A result. Its outcome is INVALID_SUITE for a broken ground truth, and INFRA_ERROR where
            the gateway answered that its machinery failed.

        Raises:
            RequestError: A field is wrong.
            UnimplementedError: The gateway does not do this.
            OverloadedError: It was full at every attempt.
            DeadlineError: There was no answer in time.
            GatewayUnavailableError: Nobody answered at any attempt.
        """
        call = ScoreCall(
            response=response,
            ground_truth=ground_truth,
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
        return cast("Result", await self._do("score", call))

    async def score_many(self, requests: Iterable[ScoreCall]) -> list[Result]:
        """Score many responses over one stream; results in the order of the requests.

        Never raises for one of them: what could not be served, after retries, is a result with the
        outcome INFRA_ERROR, whose `error` begins with the name of the exception that `score` would
        have raised. A request's deadline counts from the moment it is sent; at most `max_in_flight`
        are.
        """
        return cast("list[Result]", await self._do("score_many", list(requests)))

    async def run(
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
        """Run one program on one standard input, without judging (see `RunCall` for the arguments).

        Raises:
            RequestError: A field is wrong.
            OverloadedError: The gateway was full at every attempt.
            DeadlineError: There was no answer in time.
            InfraError: It could not be run.
        """
        call = RunCall(
            source=source,
            language=language,
            argv=tuple(argv),
            stdin=stdin,
            limits=limits,
            request_id=request_id,
            priority=priority,
            deadline_s=deadline_s,
            excerpt_bytes=excerpt_bytes,
        )
        return cast("RunOutcome", await self._do("run", call))

    async def put_suite(
        self,
        ground_truth: object,
        *,
        ground_truth_format: str = "",
        fn_name: str = "",
        data_source: str = "",
    ) -> str:
        """Upload a ground truth, in pieces, so it may be bigger than a message.

        Returns:
            The digest that `score` takes. The gateway may forget it (`UnknownSuiteError`): upload
            again.

        Raises:
            SuiteError: It cannot be used.
            RequestError: It is too big.
            InfraError: It could not be uploaded.
        """
        data = ground_truth_bytes(ground_truth)
        first = {
            "ground_truth_format": ground_truth_format,
            "fn_name": fn_name,
            "data_source": data_source,
        }
        return cast("str", await self._do("put_suite", data, first))

    async def info(self) -> ServerInfo:
        """What the gateway is and what its sandbox guarantees.

        Raises:
            InfraError: Nobody answered.
        """
        return cast("ServerInfo", await self._do("info"))

    async def _do(self, operation: str, *args: object) -> object:
        if not forked_after_use():
            return await self.perform(operation, *args)
        from verifier.client.relay import Relay

        if self._relay is None or self._relay[0] != os.getpid() or self._relay[1].dead:
            self._relay = (os.getpid(), Relay(self.target, self._options()))
        return await self._relay[1].call(operation, *args)

    def _options(self) -> dict[str, Any]:
        return {
            "timeout_s": self._timeout_s,
            "client_id": self._client_id,
            "retry": self._retry,
            "max_in_flight": self._max_in_flight,
            "upload_above_bytes": self._upload_above_bytes,
        }

    async def perform(self, operation: str, *args: Any) -> object:
        """One operation by name, in this process (the relay's end calls this)."""
        operations: dict[str, Callable[..., Awaitable[object]]] = {
            "score": self._score,
            "score_many": self._score_many,
            "run": self._run,
            "put_suite": self._put_suite,
            "info": self._info,
        }
        return await operations[operation](*args)

    def _uploads_here(self) -> Uploads:
        here = self._channels.here()
        if here.uploads is None:
            here.uploads = Uploads(self._put_suite, self._upload_above_bytes)
        return here.uploads

    async def _score(self, call: ScoreCall) -> Result:
        uploads = self._uploads_here()
        if not isinstance(call.ground_truth, (str, bytes, type(None))):
            # Written once, not for each look at it.
            call = replace(call, ground_truth=ground_truth_bytes(call.ground_truth))
        big = await uploads.big(call)
        if big is None:
            return await self._score_as(call, call.deadline_s)
        loop = asyncio.get_running_loop()
        timeout_s = self._timeout_s if call.deadline_s is None else call.deadline_s
        end = None if timeout_s is None else loop.time() + timeout_s
        for _ in range(ATTEMPTS):
            try:
                named, upload = await asyncio.wait_for(
                    uploads.named(call, big), None if end is None else end - loop.time()
                )
            except asyncio.TimeoutError:
                raise DeadlineError(f"not uploaded within {timeout_s:g} s") from None
            try:
                return await self._score_as(named, None if end is None else end - loop.time())
            except UnknownSuiteError:
                uploads.forget(big, upload)
        return await self._score_as(call, None if end is None else end - loop.time())

    async def _score_as(self, call: ScoreCall, deadline_s: float | None) -> Result:
        request = score_request(
            call, request_id=call.request_id, client_id=self._client_id, deadline_s=None
        )
        message: pb.ScoreResponse = await self._unary("Score", request, deadline_s)
        if message.error_code:
            raise error_from_code(message.error_code, message.error, message.retry_after_s)
        return values.result_from_pb(message)

    async def _score_many(self, calls: list[ScoreCall]) -> list[Result]:
        if not calls:
            return []
        stub = self._channels.here().stub
        batch = ManyCalls(
            stub.ScoreStream,
            calls,
            client_id=self._client_id,
            policy=self._retry,
            timeout_s=self._timeout_s,
            window=self._max_in_flight,
            max_message_bytes=self._ask_max_message_bytes,
            uploads=self._uploads_here(),
        )
        return await batch.run()

    async def _run(self, call: RunCall) -> RunOutcome:
        request = run_request(call, client_id=self._client_id)
        message: pb.RunResponse = await self._unary("Run", request, call.deadline_s)
        return values.outcome_from_pb(message)

    async def _put_suite(self, data: bytes, first: dict[str, str]) -> str:
        async def pieces() -> AsyncIterator[pb.PutSuiteRequest]:
            yield pb.PutSuiteRequest(chunk=data[:_CHUNK_BYTES], **first)
            for start in range(_CHUNK_BYTES, len(data), _CHUNK_BYTES):
                yield pb.PutSuiteRequest(chunk=data[start : start + _CHUNK_BYTES])

        message: pb.PutSuiteResponse = await self._unary("PutSuite", pieces, None)
        return message.digest

    async def _info(self) -> ServerInfo:
        message: pb.GetInfoResponse = await self._unary("GetInfo", pb.GetInfoRequest(), None)
        self._max_message_bytes = message.max_message_bytes
        return info_from_pb(message)

    async def _ask_max_message_bytes(self) -> int | None:
        if self._max_message_bytes is None:
            try:
                await self._info()
            except VerifierError:
                return None
        return self._max_message_bytes

    async def _unary(self, method: str, request: Any, deadline_s: float | None) -> Any:
        """Call with retries; a callable request makes fresh messages for each attempt."""
        here = self._channels.here()
        call = getattr(here.stub, method)

        async def attempt(left_s: float | None) -> Any:
            try:
                return await call(request() if callable(request) else request, timeout=left_s)
            except grpc.aio.AioRpcError as exc:
                raise error_from_status(
                    exc.code(), exc.details(), exc.trailing_metadata()
                ) from None

        async with here.places:
            timeout_s = self._timeout_s if deadline_s is None else deadline_s
            return await call_with_retries(attempt, self._retry, timeout_s=timeout_s)
