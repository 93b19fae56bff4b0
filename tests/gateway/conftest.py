"""A gateway on a real loopback socket over an engine whose answers a test scripts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
import pytest

from verifier.config import Settings
from verifier.engine.breaker import Breaker, Rule
from verifier.engine.engine import EngineLoad
from verifier.errors import OverloadedError
from verifier.gateway import Gateway
from verifier.limits import DEFAULT_LIMITS, MAX_LIMITS
from verifier.sandbox.base import Guarantee, GuaranteeName
from verifier.types import (
    CaseResult,
    Extraction,
    Limits,
    Outcome,
    Result,
    RunFacts,
    RunOutcome,
    RunTask,
    ScoreTask,
    Status,
)
from verifier.v1 import verifier_pb2 as pb
from verifier.v1 import verifier_pb2_grpc as rpc


@dataclass(frozen=True)
class StubInfo:
    backend: str = "fake"
    slots: int = 2
    guarantees: tuple[Guarantee, ...] = (
        Guarantee(GuaranteeName.SECCOMP, holds=True, mechanism="stub"),
        Guarantee(GuaranteeName.NO_NETWORK, holds=False, mechanism="stub", remedy="do this"),
    )
    accepted: frozenset[str] = frozenset({"no_network"})
    toolchains: dict[str, str] = field(default_factory=lambda: {"python": "3.11.2"})
    packages: dict[str, dict[str, str]] = field(
        default_factory=lambda: {"python": {"numpy": "1.24.2"}}
    )
    default_limits: Limits = DEFAULT_LIMITS
    max_limits: Limits = MAX_LIMITS
    max_queue: int = 1024
    notes: tuple[str, ...] = ()


def accepted(task: ScoreTask) -> Result:
    cases = tuple(
        CaseResult(index=i, status=Status.ACCEPTED, exit_code=0, stdout=b"x" * 10)
        for i in range(len(task.suite.cases))
    )
    return Result(
        Outcome.SCORED,
        score=1.0,
        status=Status.ACCEPTED,
        passed=len(cases),
        total=len(cases),
        cases=cases,
        extraction=Extraction("python", 0, 1, "the only block"),
        runner="fake",
        request_id=task.request_id,
    )


class StubEngine:
    """The API of the engine. `on_score` and `on_run` answer; both may be async, or raise."""

    def __init__(self) -> None:
        self.on_score: Callable[[ScoreTask], Any] = accepted
        self.on_run: Callable[[RunTask], Any] = lambda task: RunOutcome(
            Status.ACCEPTED, RunFacts(exit_code=0, stdout=task.stdin, stdout_bytes=len(task.stdin))
        )
        self.on_start: Callable[[], Awaitable[None]] | None = None
        self.breaker = Breaker(Rule(failures=1))
        self.tasks: list[ScoreTask | RunTask] = []
        self.running = 0
        self.most_running = 0
        self.cancelled = 0
        self.cancelled_event = asyncio.Event()
        self.entered = asyncio.Event()
        self.started = False
        self.closed = False
        self.adjusted: dict[str, Any] = {}

    async def start(self) -> None:
        if self.on_start is not None:
            await self.on_start()
        self.started = True

    async def close(self) -> None:
        self.closed = True

    def adjust(self, **bounds: Any) -> None:
        self.adjusted = bounds

    def info(self) -> StubInfo:
        return StubInfo()

    faults = 0
    reruns = 0

    def load(self) -> EngineLoad:
        return EngineLoad(0, self.running, 2 - min(self.running, 2), 2, min(self.running, 2))

    async def score(self, task: ScoreTask) -> Result:
        return await self._answer(self.on_score, task)

    async def run(self, task: RunTask) -> RunOutcome:
        return await self._answer(self.on_run, task)

    async def _answer(self, script: Callable[[Any], Any], task: Any) -> Any:
        self.tasks.append(task)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        self.entered.set()
        try:
            answer = script(task)
            return await answer if asyncio.iscoroutine(answer) else answer
        except asyncio.CancelledError:
            self.cancelled += 1
            self.cancelled_event.set()
            raise
        finally:
            self.running -= 1


@dataclass
class Running:
    gateway: Gateway
    engine: StubEngine
    address: str
    http: str | None
    channel: grpc.aio.Channel
    stub: Any


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[Running]]]:
    """Starts gateways; `serve(max_queue=1)` sets settings."""
    started: list[Running] = []

    async def start(*, engine: Any = None, **settings: Any) -> Running:
        used = engine if engine is not None else StubEngine()
        gateway = Gateway(used, Settings(grpc="127.0.0.1:0", **settings))
        bound = await gateway.start()
        channel = grpc.aio.insecure_channel(
            bound.grpc,
            options=(
                ("grpc.max_send_message_length", -1),
                ("grpc.max_receive_message_length", -1),
                ("grpc.use_local_subchannel_pool", 1),
            ),
        )
        running = Running(gateway, used, bound.grpc, bound.http, channel, rpc.VerifierStub(channel))
        started.append(running)
        return running

    yield start
    for running in started:
        await running.channel.close()
        await running.gateway.stop(0)


TRUTH = b'{"inputs": ["1\\n", "2\\n"], "outputs": ["1\\n", "2\\n"]}'


@pytest.fixture
def request_of() -> Callable[..., pb.ScoreRequest]:
    def make(request_id: str = "r", **fields: Any) -> pb.ScoreRequest:
        if "suite_digest" not in fields:
            fields.setdefault("ground_truth", TRUTH)
        fields.setdefault("response", b"```python\nprint(input())\n```")
        return pb.ScoreRequest(request_id=request_id, **fields)

    return make


@pytest.fixture
def overloaded() -> OverloadedError:
    return OverloadedError("full", 2.5)


@pytest.fixture
async def unused_engine() -> StubEngine:
    return StubEngine()
