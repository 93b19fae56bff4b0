"""gRPC health v1 for the server as a whole ("") and for the service by name."""

from __future__ import annotations

from typing import Any

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from verifier.v1 import verifier_pb2 as pb

__all__ = ["Health", "add_reflection"]

SERVICE = pb.DESCRIPTOR.services_by_name["Verifier"].full_name


class Health:
    """What load balancers and probes ask. NOT_SERVING until `serving`, and again after `drain`."""

    def __init__(self, server: grpc.aio.Server) -> None:
        """Add the health service to a server that has not started."""
        # Published as `health.aio`, which not every version's types know.
        aio: Any = health.__dict__["aio"]
        self._servicer = aio.HealthServicer()
        self._names = ("", SERVICE)
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, server)

    async def starting(self) -> None:
        """Known, and not yet serving."""
        await self._set(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def serving(self) -> None:
        """Work is welcome."""
        await self._set(health_pb2.HealthCheckResponse.SERVING)

    async def down(self) -> None:
        """No work is taken for the moment."""
        await self._set(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def drain(self) -> None:
        """No new work; stays so."""
        await self._servicer.enter_graceful_shutdown()

    async def _set(self, status: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        for name in self._names:
            await self._servicer.set(name, status)


def add_reflection(server: grpc.aio.Server) -> None:
    """Let grpcurl and the like list what is served."""
    reflection.enable_server_reflection(
        (SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server
    )
