"""The operations of a client in a process that may use gRPC. `AsyncClient` is their public face.

Every unary call goes the same way: a place among those in flight, a look at whether anybody is
there, then attempts. An attempt picks a gateway, uploads a big ground truth there if it has to, and
makes one RPC; or two, where a late one is hedged.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from verifier.client.attempts import Attempts
from verifier.client.budget import Budget
from verifier.client.convert import ground_truth_bytes, info_from_pb, run_request, score_request
from verifier.client.counts import Counting
from verifier.client.endpoints import parse_targets
from verifier.client.gateway import Gateway
from verifier.client.hedge import HEDGE_SHARE, HEDGE_TOKENS
from verifier.client.loops import Loops
from verifier.client.many import ManyCalls
from verifier.client.options import Options
from verifier.client.pool import Pool
from verifier.client.timing import ends_at, left, within
from verifier.client.types import RunCall, ScoreCall, ServerInfo
from verifier.client.uploads import ATTEMPTS, Uploads, affinity, big_of, put_suite
from verifier.errors import UnknownSuiteError, VerifierError
from verifier.types import Result, RunOutcome
from verifier.v1 import verifier_pb2 as pb
from verifier.wire import convert as values
from verifier.wire.status import error_from_code
from verifier.wire.trace import call_span

__all__ = ["Calls"]

_T = TypeVar("_T")


class Calls:
    """What a client does, by name (`perform`).

    Args:
        server: Where the gateways are.
        options: How.

    Raises:
        ConfigError: The server is no address.
    """

    def __init__(self, server: str | tuple[str, ...], options: Options) -> None:
        """Nothing is looked up or dialed."""
        self._targets = parse_targets(server)
        self._options = options
        self._loops = Loops(self._make_pool, options.max_in_flight)
        self._retries = Budget(options.retry.budget, options.retry.budget_share)
        self._hedges = Budget(HEDGE_TOKENS, HEDGE_SHARE)
        self.counting = Counting()

    async def perform(self, operation: str, *args: Any) -> object:
        """One operation by name."""
        operations: dict[str, Callable[..., Awaitable[object]]] = {
            "score": self._score,
            "score_many": self._score_many,
            "run": self._run,
            "put_suite": self._put_suite,
            "info": self._info,
        }
        with call_span(operation):
            return await operations[operation](*args)

    async def close(self) -> None:
        """Close what the running loop has."""
        await self._loops.close()

    def _make_pool(self) -> Pool:
        return Pool(self._targets, self._options.retry, self._uploads, counting=self.counting)

    def _uploads(self, gateway: Gateway) -> Uploads:
        async def put(data: bytes, first: dict[str, str]) -> str:
            return await put_suite(gateway, data, first, self._options.timeout_s)

        return Uploads(put)

    # ------------------------------------------------------------ the operations

    async def _score(self, call: ScoreCall) -> Result:
        if not isinstance(call.ground_truth, (str, bytes, type(None))):
            # Written once, not for each look at it.
            call = replace(call, ground_truth=ground_truth_bytes(call.ground_truth))
        big = await big_of(call, self._options.upload_above_bytes)

        async def once(gateway: Gateway, left_s: float | None) -> Result:
            end = ends_at(left_s)
            if call.suite_digest is not None:
                return await self._score_by_digest(gateway, call, end)
            if big is not None:
                for _ in range(ATTEMPTS):
                    named, upload = await within(gateway.uploads.named(call, big), end)
                    try:
                        return await self._score_at(gateway, named, end)
                    except UnknownSuiteError:
                        gateway.uploads.forget(big, upload)
            return await self._score_at(gateway, call, end)

        return await self._call(once, call.deadline_s, affinity(call, big))

    async def _score_by_digest(
        self, gateway: Gateway, call: ScoreCall, end: float | None
    ) -> Result:
        """Where one does not hold the caller's suite, another may."""
        try:
            return await self._score_at(gateway, call, end)
        except UnknownSuiteError as unknown:
            for other in self._loops.here().pool.usable:
                if other is not gateway:
                    with contextlib.suppress(VerifierError):
                        return await self._score_at(other, call, end)
            raise unknown from None

    async def _score_at(self, gateway: Gateway, call: ScoreCall, end: float | None) -> Result:
        request = score_request(
            call, request_id=call.request_id, client_id=self._options.client_id, deadline_s=None
        )
        message: pb.ScoreResponse = await gateway.link.unary("Score", request, left(end))
        if message.error_code:
            raise error_from_code(message.error_code, message.error, message.retry_after_s)
        return values.result_from_pb(message)

    async def _score_many(self, calls: list[ScoreCall]) -> list[Result]:
        if not calls:
            return []
        pool = self._loops.here().pool
        batch = ManyCalls(pool, calls, self._options, self._retries, self._hedges, self.counting)
        return await batch.run()

    async def _run(self, call: RunCall) -> RunOutcome:
        request = run_request(call, client_id=self._options.client_id)

        async def once(gateway: Gateway, left_s: float | None) -> RunOutcome:
            return values.outcome_from_pb(await gateway.link.unary("Run", request, left_s))

        return await self._call(once, call.deadline_s)

    async def _put_suite(self, data: bytes, first: dict[str, str]) -> str:
        """To every gateway that is there: any of them may be asked for the digest."""
        took: list[Gateway] = []

        async def once(gateway: Gateway, left_s: float | None) -> str:
            digest = await put_suite(gateway, data, first, left_s)
            took.append(gateway)
            return digest

        digest = await self._call(once, None, hedge=False, counted=False)
        others = [other for other in self._loops.here().pool.usable if other not in took]
        puts = [put_suite(other, data, first, self._options.timeout_s) for other in others]
        # One that does not take it answers FAILED_PRECONDITION later, and another is asked.
        await asyncio.gather(*puts, return_exceptions=True)
        return digest

    async def _info(self) -> ServerInfo:
        async def once(gateway: Gateway, left_s: float | None) -> pb.GetInfoResponse:
            request = pb.GetInfoRequest()
            found: pb.GetInfoResponse = await gateway.link.unary("GetInfo", request, left_s)
            gateway.max_message_bytes = found.max_message_bytes
            return found

        return info_from_pb(await self._call(once, None, counted=False))

    # ------------------------------------------------------------ how they are made

    async def _call(
        self,
        once: Callable[[Gateway, float | None], Coroutine[Any, Any, _T]],
        deadline_s: float | None,
        key: bytes | None = None,
        *,
        hedge: bool = True,
        counted: bool = True,
    ) -> _T:
        here, options = self._loops.here(), self._options
        async with here.places:
            await here.pool.admit()
            attempts = Attempts(
                here.pool,
                once,
                policy=options.retry,
                retries=self._retries,
                hedges=self._hedges,
                hedge_after_s=options.hedge_after_s if hedge else None,
                counting=self.counting if counted else Counting(),
                key=key,
            )
            timeout_s = options.timeout_s if deadline_s is None else deadline_s
            return await attempts.run(timeout_s)
