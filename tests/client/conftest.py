"""A real gRPC server on loopback that answers each request as a test scripts it."""

# ruff: noqa: N802 - the contract names the methods
from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from verifier.client import no_retry_sleep
from verifier.errors import OverloadedError
from verifier.v1 import verifier_pb2 as pb
from verifier.v1 import verifier_pb2_grpc as rpc
from verifier.wire.status import status_of

FOREVER = asyncio.Event


def ok(request: pb.ScoreRequest, score: float = 1.0) -> pb.ScoreResponse:
    return pb.ScoreResponse(
        request_id=request.request_id,
        outcome=pb.OUTCOME_SCORED,
        score=score,
        status=pb.STATUS_ACCEPTED,
        passed=2,
        total=2,
        scorer="sandbox",
    )


class Proxy:
    """Forwards bytes between a client and a server, until it is told otherwise.

    `cut` aborts every connection; `refuse` stops listening too, until `listen`. While `deaf` is
    set, bytes are taken and go nowhere, as behind a connection whose other end is gone. A new
    connection says nothing for `late_s`.
    """

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._port = 0
        self.deaf = False
        self.late_s = 0.0
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.connections = 0
        self.bytes_up = 0
        self.address = ""

    async def start(self) -> str:
        # Bound and not listening: the port stays this proxy's while it refuses.
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))
        self._port = self._held.getsockname()[1]
        await self.listen()
        return f"127.0.0.1:{self._port}"

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)

    def refuse(self) -> None:
        self._server.close()
        self.cut()

    async def _serve(self, reader, writer) -> None:
        self.connections += 1
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        self._writers |= {writer, up_writer}
        for source, target, up in ((reader, up_writer, True), (up_reader, writer, False)):
            task = asyncio.ensure_future(self._pump(source, target, up=up))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, source, target, *, up: bool) -> None:
        try:
            await asyncio.sleep(self.late_s)
            while data := await source.read(65536):
                self.bytes_up += len(data) * up
                if self.deaf:
                    continue
                target.write(data)
                await target.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            target.close()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def stop(self) -> None:
        self._server.close()
        self._held.close()
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Scripted(rpc.VerifierServicer):
    """Answers from a script.

    `script(request, attempt)` gives the reply to the n-th time (from 1) that a request id comes in:
    "ok", a response, an exception of ours, or one of the words below.

        "504"                 what a proxy's 502, 503 and 504 become in gRPC: UNAVAILABLE
        "429;retry-after=S"   RESOURCE_EXHAUSTED with RetryInfo
        "read_timeout"        no reply at all
        "reset_after_headers" headers, then the connection is cut
        "cut"                 the connection is cut
    """

    def __init__(self) -> None:
        self.script: Callable[[pb.ScoreRequest, int], Any] = lambda request, attempt: "ok"
        self.attempts: Counter[str] = Counter()
        self.requests: list[pb.ScoreRequest] = []
        self.streams = 0
        self.most_in_flight = 0
        self.max_message_bytes = 64 * 1024 * 1024
        self.cut: Callable[[], None] = lambda: None
        self.stuck = 0
        # Calls among those whose client went away.
        self.let_go = 0
        self.uploads: list[bytes] = []
        self.before_upload: Callable[[], Awaitable[Any]] | None = None

    def _next(self, request: pb.ScoreRequest) -> Any:
        self.requests.append(request)
        self.attempts[request.request_id] += 1
        reply = self.script(request, self.attempts[request.request_id])
        if isinstance(reply, list):
            reply = reply[min(self.attempts[request.request_id], len(reply)) - 1]
        return reply

    async def Score(self, request, context):
        reply = self._next(request)
        if callable(reply):
            reply = await reply()
        if isinstance(reply, str):
            if reply == "ok":
                return ok(request)
            if reply == "504":
                await context.abort(grpc.StatusCode.UNAVAILABLE, "HTTP status 504")
            if reply.startswith("429"):
                reply = OverloadedError("busy", float(reply.partition("retry-after=")[2]))
            elif reply == "read_timeout":
                self.stuck += 1
                try:
                    await asyncio.Event().wait()
                finally:
                    self.let_go += 1
            else:
                if reply == "reset_after_headers":
                    await context.send_initial_metadata((("x", "y"),))
                self.cut()
                await asyncio.Event().wait()
        if isinstance(reply, Exception):
            status = status_of(reply)
            await context.abort(status.code, status.message, status.trailers)
        if isinstance(reply, tuple):
            await context.abort(*reply)
        return reply

    async def ScoreStream(self, requests, context):
        self.streams += 1
        in_flight = set()
        lock = asyncio.Lock()
        failed = asyncio.get_running_loop().create_future()

        async def answer(request) -> None:
            reply = self._next(request)
            if callable(reply):
                reply = await reply()
            if reply == "ok":
                reply = ok(request)
            if reply == "read_timeout":
                self.stuck += 1
                await asyncio.Event().wait()
            if reply == "cut":
                self.cut()
                return
            if isinstance(reply, tuple):
                if not failed.done():
                    failed.set_result(reply)
                return
            if isinstance(reply, Exception):
                reply = pb.ScoreResponse(
                    request_id=request.request_id,
                    outcome=pb.OUTCOME_INFRA_ERROR,
                    error=str(reply),
                    error_code=status_of(reply).code.value[0],
                    retry_after_s=getattr(reply, "retry_after_s", 0.0),
                )
            async with lock:
                # Who asked may be gone.
                with contextlib.suppress(grpc.aio.AbortError, grpc.aio.UsageError):
                    await context.write(reply)

        async def read() -> None:
            async for request in requests:
                task = asyncio.ensure_future(answer(request))
                in_flight.add(task)
                task.add_done_callback(in_flight.discard)
                self.most_in_flight = max(self.most_in_flight, len(in_flight))
            await asyncio.gather(*in_flight)

        reading = asyncio.ensure_future(read())
        try:
            await asyncio.wait((reading, failed), return_when=asyncio.FIRST_COMPLETED)
            if failed.done():
                await context.abort(*failed.result())
        finally:
            for task in (reading, *in_flight):
                task.cancel()
            await asyncio.gather(reading, *in_flight, return_exceptions=True)

    async def Run(self, request, context):
        return pb.RunResponse(
            request_id=request.request_id,
            status=pb.STATUS_ACCEPTED,
            facts=pb.CaseResult(exit_code=0, stdout=request.stdin),
            runner="scripted",
        )

    async def PutSuite(self, requests, context):
        if self.before_upload is not None:
            await self.before_upload()
        self.uploads.append(b"".join([request.chunk async for request in requests]))
        return pb.PutSuiteResponse(digest="d" * 64, cases=1, size_bytes=len(self.uploads[-1]))

    async def GetInfo(self, request, context):
        return pb.GetInfoResponse(
            version="1", slots=3, max_message_bytes=self.max_message_bytes, max_queue=9
        )


@pytest.fixture
async def proxy_to() -> AsyncIterator[Callable[[str], Awaitable[Proxy]]]:
    """Puts a proxy before HOST:PORT; its `address` is for the client."""
    proxies: list[Proxy] = []

    async def make(address: str) -> Proxy:
        proxy = Proxy(int(address.rpartition(":")[2]))
        proxy.address = await proxy.start()
        proxies.append(proxy)
        return proxy

    yield make
    for proxy in proxies:
        await proxy.stop()


class Health(health_pb2_grpc.HealthServicer):
    """Says what a test sets, and counts."""

    def __init__(self) -> None:
        self.status = health_pb2.HealthCheckResponse.SERVING
        self.checks = 0

    async def Check(self, request, context):
        self.checks += 1
        return health_pb2.HealthCheckResponse(status=self.status)


class Server:
    """A `Scripted` behind a `Proxy`; with gRPC's health service if `health`."""

    def __init__(self, *, health: bool = False) -> None:
        self.scripted = Scripted()
        self.health = Health() if health else None
        self.address = ""

    async def start(self) -> None:
        self._server = grpc.aio.server(options=(("grpc.max_receive_message_length", -1),))
        rpc.add_VerifierServicer_to_server(self.scripted, self._server)
        if self.health is not None:
            health_pb2_grpc.add_HealthServicer_to_server(self.health, self._server)
        port = self._server.add_insecure_port("127.0.0.1:0")
        await self._server.start()
        self.proxy = Proxy(port)
        self.address = await self.proxy.start()
        self.scripted.cut = self.proxy.cut

    async def stop(self) -> None:
        await self.proxy.stop()
        await self._server.stop(0)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def servers() -> AsyncIterator[Callable[[int], Awaitable[list[Server]]]]:
    """Several, each with a health service."""
    started: list[Server] = []

    async def make(count: int) -> list[Server]:
        made = [Server(health=True) for _ in range(count)]
        for server in made:
            await server.start()
            started.append(server)
        return made

    yield make
    for server in started:
        await server.stop()


class ThreadedServer:
    """The same on a loop of its own, for tests of the synchronous client."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = Server()
        self.run(self._server.start())
        self.scripted = self._server.scripted
        self.address = self._server.address

    def run(self, work: Awaitable[Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)  # type: ignore[arg-type]

    def stop(self) -> None:
        self.run(self._server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def threaded_server() -> Iterator[ThreadedServer]:
    made = ThreadedServer()
    yield made
    made.stop()


@pytest.fixture
def dead_address() -> Iterator[str]:
    """An address where nobody listens, and nobody will while the test runs: it is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def no_sleep() -> Iterator[None]:
    with no_retry_sleep():
        yield


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """The waits between attempts, which are recorded and not waited for."""
    from verifier.client import many, pool, retry

    recorded: list[float] = []

    async def pause(seconds: float) -> None:
        recorded.append(seconds)

    monkeypatch.setattr(retry, "pause", pause)
    monkeypatch.setattr(many, "pause", pause)
    monkeypatch.setattr(pool, "pause", pause)
    return recorded
