"""Start, serve, drain.

bind -> answer health with NOT_SERVING -> engine.start -> SERVING
first SIGTERM or SIGINT: NOT_SERVING, new work is refused, running work has `grace_s` to finish
second signal, or the grace is over: running work is killed
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc.aio

from verifier.config import Settings, split_address
from verifier.errors import ConfigError
from verifier.gateway.admission import Admission
from verifier.gateway.health import Health, add_reflection
from verifier.gateway.service import Service
from verifier.gateway.servicer import Servicer
from verifier.gateway.suites import SuiteStore, suite_disk
from verifier.v1 import verifier_pb2_grpc as rpc
from verifier.wire.forked import mark_used

if TYPE_CHECKING:
    from verifier.engine import Engine
    from verifier.gateway.http import HttpServer

__all__ = ["Bound", "Gateway", "serve"]

_log = logging.getLogger("verifier.gateway")

# After the last request let go of its place, its answer still has to be written.
_FLUSH_S = 1.0
# malloc.h
_M_MMAP_THRESHOLD = -3
_LARGE_BLOCK_BYTES = 256 * 1024
_GC_THRESHOLDS = (10_000, 20, 20)


@dataclass(frozen=True, slots=True)
class Bound:
    """Where the gateway listens.

    Attributes:
        grpc: HOST:PORT or unix:PATH, as a client names it.
        http: HOST:PORT, or None when it is not served.
    """

    grpc: str
    http: str | None


class Gateway:
    """A gRPC server over an engine. It starts and closes the engine it is given.

    Attributes:
        bound: Where it listens; None before `start` bound it.
    """

    def __init__(self, engine: Engine, settings: Settings) -> None:
        """Nothing is bound yet."""
        self._engine = engine
        self._settings = settings
        self._server: grpc.aio.Server | None = None
        self._health: Health | None = None
        self._http: HttpServer | None = None
        self._suites: SuiteStore | None = None
        self._admission: Admission | None = None
        self._hurry = asyncio.Event()
        self.bound: Bound | None = None
        self._stopping: asyncio.Task[None] | None = None

    async def start(self) -> Bound:
        """Bind, start the engine, then say SERVING.

        Raises:
            ConfigError: An address cannot be had, or the engine refuses this host.
            BackendError: The engine cannot serve.
        """
        settings = self._settings
        mark_used()
        admission = self._admission = Admission(settings.max_queue, settings.max_queue_bytes)
        self._suites = SuiteStore(
            settings.suite_store_bytes,
            max_cases=settings.max_cases,
            disk=suite_disk(settings.cache_dir, settings.suite_store_disk_bytes),
        )
        service = Service(self._engine, settings, admission, self._suites)
        server = self._server = grpc.aio.server(
            options=_server_options(settings), maximum_concurrent_rpcs=2 * settings.max_queue + 64
        )
        rpc.add_VerifierServicer_to_server(Servicer(service), server)
        health = self._health = Health(server)
        add_reflection(server)
        try:
            bound = self.bound = Bound(_bind(server, settings.grpc), self._bind_http(admission))
            await health.starting()
            await server.start()
            await self._engine.start()
            service.started()
        except BaseException:
            await self.stop(0)
            raise
        admission.open()
        await health.serving()
        return bound

    async def stop(self, grace_s: float) -> None:
        """Drain for at most `grace_s`, then kill what still runs. May be called twice."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop(grace_s))
        # Cancelling one caller does not leave it half stopped.
        await asyncio.shield(self._stopping)

    def hurry(self) -> None:
        """End the grace of a `stop` that is under way."""
        self._hurry.set()

    async def _stop(self, grace_s: float) -> None:
        if self._health is not None:
            await self._health.drain()
        if self._admission is not None:
            self._admission.close()
            if grace_s > 0:
                await self._drain(self._admission, grace_s)
        try:
            if self._server is not None:
                idle = self._admission is None or not self._admission.requests
                await self._server.stop(_FLUSH_S if idle and grace_s > 0 else 0)
            if self._http is not None:
                await self._http.stop()
        finally:
            if self._suites is not None:
                self._suites.close()
            await self._engine.close()

    async def _drain(self, admission: Admission, grace_s: float) -> None:
        idle = asyncio.create_task(admission.wait_idle())
        hurry = asyncio.create_task(self._hurry.wait())
        try:
            await asyncio.wait((idle, hurry), timeout=grace_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            idle.cancel()
            hurry.cancel()
        if admission.requests:
            _log.warning("killing %d requests that did not finish in time", admission.requests)

    def _bind_http(self, admission: Admission) -> str | None:
        if self._settings.http is None:
            return None
        # Starlette and uvicorn are needed by those alone who serve HTTP.
        from verifier.gateway.http import HttpServer, make_app
        from verifier.gateway.http_run import SandboxFusion

        programs = SandboxFusion(
            self._engine, admission, max_body_bytes=self._settings.max_message_bytes
        )
        app = make_app(lambda: admission.accepting, programs.routes())
        self._http = HttpServer(self._settings.http, app)
        self._http.start()
        return self._http.address


async def serve(
    settings: Settings,
    *,
    engine: Engine | None = None,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then drain.

    Args:
        settings: The operator's.
        engine: In the place of the one that the settings describe.
        announce: Takes a line for a person (where it listens, what it does); default: standard
            output.

    Raises:
        ConfigError: A setting cannot be honored on this host.
        BackendError: The sandbox cannot serve.
    """
    say = announce or _print_line
    gateway = Gateway(engine if engine is not None else _make_engine(settings), settings)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def on_signal() -> None:
        if stop.is_set():
            say("stopping now")
            gateway.hurry()
        stop.set()

    handled = (signal.SIGTERM, signal.SIGINT)
    for number in handled:
        loop.add_signal_handler(number, on_signal)
    try:
        starting = asyncio.create_task(gateway.start())
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait((starting, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await starting
            return
        bound = starting.result()
        _collect_rarely()
        _return_large_blocks()
        say(f"grpc listening on {bound.grpc}")
        if bound.http is not None:
            say(f"http listening on {bound.http}")
        await stopped
        say(f"draining for at most {settings.grace_s:g} s; a second signal stops now")
        await gateway.stop(settings.grace_s)
    finally:
        stopped.cancel()
        for number in handled:
            loop.remove_signal_handler(number)
        await gateway.stop(0)


def _make_engine(settings: Settings) -> Engine:
    from verifier.engine import engine_of, make_sandbox

    sandbox = make_sandbox(
        settings.backend,
        accept=settings.accept,
        allow_unsafe=settings.allow_unsafe,
        image=settings.image,
        runtime=settings.runtime,
        cache_dir=settings.cache_dir,
    )
    return engine_of(settings, sandbox)


def _server_options(settings: Settings) -> tuple[tuple[str, int], ...]:
    return (
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        # Answers are bounded by the excerpt budget and the number of cases.
        ("grpc.max_send_message_length", -1),
        # A taken port is an error, not a second server that gets every other connection.
        ("grpc.so_reuseport", 0),
        # Notice a client that vanished without a word, and let clients notice the same of us.
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.max_ping_strikes", 0),
    )


def _bind(server: grpc.aio.Server, address: str) -> str:
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as exc:
        raise ConfigError(f"grpc: cannot listen on {address}: is the port taken? ({exc})") from exc
    if address.startswith("unix"):
        return address
    host, _ = split_address(address)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _collect_rarely() -> None:
    """Keep the collector of cycles out of the way of requests.

    Every queued request is some dozens of objects: with 10,000 of them in line a full collection
    held the loop for 0.1 s and more, and the default thresholds ask for one all the time while a
    queue grows. What was made until now stays for good and is not looked at any more.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


def _return_large_blocks() -> None:
    """Have the C library give large blocks back to the system as soon as they are freed.

    glibc raises the size from which it does so to that of the largest block it has seen freed, so
    that after one big upload all others stay in its heap.
    """
    with contextlib.suppress(AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES)


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
