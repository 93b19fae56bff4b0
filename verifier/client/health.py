"""Is a gateway serving? gRPC's health protocol, for probes and `verifier healthcheck`."""

from __future__ import annotations

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from verifier.client.channel import Link
from verifier.client.endpoints import Address
from verifier.wire.status import error_from_status

__all__ = ["serving"]


async def serving(target: str, service: str = "", timeout_s: float = 5.0) -> str:
    """What a gateway says of itself or of one of its services.

    Args:
        target: HOST:PORT or unix:PATH.
        service: Its full name; "" asks for the server as a whole.
        timeout_s: How long it has to answer.

    Returns:
        "SERVING", "NOT_SERVING", ...

    Raises:
        VerifierError: It did not answer, or has no such service.
    """
    link = Link(Address(target))
    stub = health_pb2_grpc.HealthStub(link.channel)
    request = health_pb2.HealthCheckRequest(service=service)
    try:
        answer = await stub.Check(request, timeout=timeout_s)
    except grpc.aio.AioRpcError as exc:
        raise error_from_status(exc.code(), exc.details(), exc.trailing_metadata()) from None
    finally:
        await link.close()
    return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
