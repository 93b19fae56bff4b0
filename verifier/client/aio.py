"""The asynchronous client. `sync.Client` is its twin with the same signatures."""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, cast

from verifier.client.calls import Calls
from verifier.client.convert import ground_truth_bytes
from verifier.client.counts import ClientCounts
from verifier.client.options import Options
from verifier.client.retry import RetryPolicy
from verifier.client.types import RunCall, ScoreCall, ServerInfo
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
from verifier.wire.forked import forked_after_use

if TYPE_CHECKING:
    from typing_extensions import Self

    from verifier.client.relay import Relay

__all__ = ["AsyncClient"]

_NO_LIMITS = LimitOverrides()
_DEFAULT_RETRY = RetryPolicy()


class AsyncClient:
    """Talks to one gateway, or to several as if they were one (docs/client.md).

    Nothing is opened before the first call. One client may be used from several event loops, and in
    a process that was forked: each has its own connections. The budget of retries is shared by all
    of them.

    Args:
        target: "HOST:PORT", "unix:PATH", or any name that gRPC resolves ("dns:///..."); several of
            them, separated by commas or as a sequence. A name with several addresses is as many
            gateways.
        timeout_s: Bounds a call that has no deadline of its own, retries included; None: no bound.
        client_id: Names the caller for fair shares.
        retry: How often a call is tried.
        max_in_flight: Calls under way at once, in each loop; more wait here.
        upload_above_bytes: A ground truth bigger than this is uploaded once and named by its digest
            from then on; None: each goes along with its request.
        hedge_after_s: After so long without an answer a second gateway is asked too; None: never.

    Raises:
        ConfigError: The target is not an address of a gateway.
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
        self.target = target if isinstance(target, str) else ",".join(target)
        self._options = Options(
            timeout_s=timeout_s,
            client_id=client_id,
            retry=retry,
            max_in_flight=max_in_flight,
            upload_above_bytes=upload_above_bytes,
            hedge_after_s=hedge_after_s,
        )
        self._calls = Calls(self.target, self._options)
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
        """Close the running loop's connections. The client may be used again."""
        if self._relay is not None:
            pid, relay = self._relay
            if pid == os.getpid():
                relay.close()
            self._relay = None
        await self._calls.close()

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
        """Score many responses over one stream to each gateway; results in the order of the calls.

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
        """Upload a ground truth, in pieces, so it may be bigger than a message; to every gateway.

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

    def counts(self) -> ClientCounts:
        """What this client did so far, all loops together; nothing that a relay process did."""
        return self._calls.counting.snapshot()

    async def _do(self, operation: str, *args: object) -> object:
        if not forked_after_use():
            return await self._calls.perform(operation, *args)
        from verifier.client.relay import Relay

        if self._relay is None or self._relay[0] != os.getpid() or self._relay[1].dead:
            self._relay = (os.getpid(), Relay(self.target, self._options))
        return await self._relay[1].call(operation, *args)
