"""A real gateway over a real engine, whose sandbox does what the input says."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from verifier.client import AsyncClient
from verifier.config import Settings
from verifier.engine import Engine
from verifier.errors import SlotError
from verifier.gateway import Gateway
from verifier.sandbox.base import RunJob
from verifier.testing import FakeSandbox, echo
from verifier.types import Killer, Result, RunFacts

RESPONSE = "Sure:\n```python\nprint(input())  # {}\n```\n"
HOSTILE = (
    b"Traceback\n  <script>document.title = 'taken'</script><img src=x onerror=alert(1)> & \xff\n"
)


def script(job: RunJob, data: bytes) -> RunFacts:
    """Echoes, unless the input names something else."""
    if data.startswith(b"crash"):
        return RunFacts(exit_code=1, cpu_time_s=0.02, wall_time_s=0.03, stderr=HOSTILE)
    if data.startswith(b"slow"):
        return RunFacts(signal=9, killer=Killer.CPU, cpu_time_s=2.0, wall_time_s=2.1)
    if data.startswith(b"fault"):
        raise SlotError("scripted: the runner is gone")
    facts = echo(job, data)
    return RunFacts(
        exit_code=0,
        stdout=facts.stdout,
        stdout_bytes=len(facts.stdout),
        cpu_time_s=0.012,
        wall_time_s=0.015,
        memory_bytes=9 * 2**20,
    )


def truth(*inputs: str, wrong: bool = False) -> dict[str, list[str]]:
    """A suite that a program which echoes passes, unless it is to be wrong in its last case."""
    outputs = [*inputs[:-1], "something else" if wrong else inputs[-1]]
    return {"inputs": list(inputs), "outputs": outputs}


@dataclass
class World:
    """A gateway, a client of it, and where it is."""

    gateway: Gateway
    client: AsyncClient
    grpc: str
    http: str
    sent: int = 0

    async def score(self, *inputs: str, wrong: bool = False, **options: Any) -> Result:
        """Score a fresh program on these inputs."""
        self.sent += 1
        response = options.pop("response", RESPONSE.format(self.sent))
        ground_truth = options.pop("ground_truth", None) or truth(*inputs, wrong=wrong)
        return await self.client.score(response, ground_truth, **options)


@contextlib.asynccontextmanager
async def world(client_id: str = "trainer", **settings: Any) -> AsyncIterator[World]:
    """One of them, for a block."""
    settings.setdefault("http", "127.0.0.1:0")
    gateway = Gateway(
        Engine(FakeSandbox(script), slots=2), Settings(grpc="127.0.0.1:0", **settings)
    )
    bound = await gateway.start()
    client = AsyncClient(bound.grpc, client_id=client_id)
    try:
        yield World(gateway, client, bound.grpc, bound.http or "")
    finally:
        await client.close()
        await gateway.stop(0)
