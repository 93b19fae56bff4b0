"""The grpc.aio side: turns our errors into statuses. What an RPC does is in `service`."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any, NoReturn

import grpc.aio

from verifier.errors import InfraError, VerifierError
from verifier.gateway.service import Service
from verifier.gateway.stream import ScoreSession
from verifier.gateway.timeouts import seconds_left
from verifier.v1 import verifier_pb2 as pb
from verifier.v1 import verifier_pb2_grpc as rpc
from verifier.wire.status import status_of

__all__ = ["Servicer"]

_log = logging.getLogger("verifier.gateway")


class Servicer(rpc.VerifierServicer):  # type: ignore[misc] # the generated base is untyped
    """The `Verifier` service.

    A cancelled or disconnected RPC cancels its handler, and with it the engine's work.
    """

    def __init__(self, service: Service) -> None:
        """Serve this service."""
        self._service = service

    async def Score(  # noqa: N802 - the contract names it
        self,
        request: pb.ScoreRequest,
        context: grpc.aio.ServicerContext[pb.ScoreRequest, pb.ScoreResponse],
    ) -> pb.ScoreResponse:
        """One response against one suite."""
        try:
            answer = await self._service.score(request, seconds_left(context))
            self._service.writing.last(context, answer.ByteSize())
            return answer  # noqa: TRY300 - what is above may fail as well
        except Exception as exc:  # noqa: BLE001 - the boundary: all become statuses
            await _refuse(context, exc)

    async def ScoreStream(  # noqa: N802 - the contract names it
        self,
        requests: AsyncIterator[pb.ScoreRequest],
        context: grpc.aio.ServicerContext[pb.ScoreRequest, pb.ScoreResponse],
    ) -> None:
        """Many of them, out of order."""
        try:
            await ScoreSession(self._service, requests, context).serve()
        except VerifierError as exc:
            await _refuse(context, exc)

    async def Run(  # noqa: N802 - the contract names it
        self,
        request: pb.RunRequest,
        context: grpc.aio.ServicerContext[pb.RunRequest, pb.RunResponse],
    ) -> pb.RunResponse:
        """One program, one standard input."""
        try:
            answer = await self._service.run(request, seconds_left(context))
            self._service.writing.last(context, answer.ByteSize())
            return answer  # noqa: TRY300 - what is above may fail as well
        except Exception as exc:  # noqa: BLE001 - the boundary: all become statuses
            await _refuse(context, exc)

    async def PutSuite(  # noqa: N802 - the contract names it
        self,
        requests: AsyncIterator[pb.PutSuiteRequest],
        context: grpc.aio.ServicerContext[pb.PutSuiteRequest, pb.PutSuiteResponse],
    ) -> pb.PutSuiteResponse:
        """An upload in pieces."""

        async def read() -> pb.PutSuiteRequest | None:
            return await anext(requests, None)

        try:
            return await self._service.put_suite(read)
        except Exception as exc:  # noqa: BLE001 - the boundary: all become statuses
            await _refuse(context, exc)

    async def GetInfo(  # noqa: N802 - the contract names it
        self,
        request: pb.GetInfoRequest,
        context: grpc.aio.ServicerContext[pb.GetInfoRequest, pb.GetInfoResponse],
    ) -> pb.GetInfoResponse:
        """What this gateway is."""
        del request, context
        return self._service.info()


async def _refuse(context: grpc.aio.ServicerContext[Any, Any], error: Exception) -> NoReturn:
    if not isinstance(error, VerifierError):
        # A bug of ours. The caller gets no verdict, and may try elsewhere.
        _log.error("unexpected error in an RPC", exc_info=error)
        error = InfraError(f"internal error: {type(error).__name__}")
    status = status_of(error)
    await context.abort(status.code, status.message, status.trailers)
    raise AssertionError("abort raises")  # pragma: no cover
