"""Start, serve, drain.

bind -> answer health with NOT_SERVING -> engine.start -> SERVING
SIGHUP: the settings are read again; a mistake in them changes nothing (`gateway.reload`)
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

from verifier._addresses import is_loopback
from verifier.config import Settings
from verifier.engine.breaker import State
from verifier.errors import ConfigError
from verifier.gateway.admission import Admission
from verifier.gateway.auth import Auth, GrpcAuth
from verifier.gateway.binding import bind, forget, server_options
from verifier.gateway.calls import GrpcCalls
from verifier.gateway.health import Health, add_reflection
from verifier.gateway.quotas import Quota
from verifier.gateway.reload import Plan, plan
from verifier.gateway.service import Service
from verifier.gateway.servicer import Servicer
from verifier.gateway.sight import Sight, Watcher
from verifier.gateway.suites import SuiteStore, suite_disk
from verifier.gateway.tls import Tls, tls_of
from verifier.gateway.tokens import TokenFile
from verifier.v1 import verifier_pb2_grpc as rpc
from verifier.wire.forked import mark_used

if TYPE_CHECKING:
    from verifier.engine import Engine
    from verifier.gateway.http import HttpServer
    from verifier.gateway.http_run import SandboxFusion
    from verifier.gateway.status import StatusPages

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
        self._pages: StatusPages | None = None
        self._programs: SandboxFusion | None = None
        self._suites: SuiteStore | None = None
        self._admission: Admission | None = None
        self._service: Service | None = None
        self._auth = Auth()
        self._hurry = asyncio.Event()
        self._telling: set[asyncio.Task[None]] = set()
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
        auth = self._auth
        auth.tokens = _tokens(settings)
        tls = tls_of(settings)
        admission = self._admission = Admission(
            settings.max_queue, settings.max_queue_bytes, _quota(settings)
        )
        self._suites = SuiteStore(
            settings.suite_store_bytes,
            max_cases=settings.max_cases,
            disk=suite_disk(settings.cache_dir, settings.suite_store_disk_bytes),
        )
        sight = self._see(admission, self._suites)
        service = self._service = Service(
            self._engine, settings, admission, self._suites, auth, sight=sight
        )
        server = self._server = grpc.aio.server(
            interceptors=(
                Watcher(),
                GrpcAuth(auth, sight.refused),
                GrpcCalls(
                    lambda: 2 * self._settings.max_queue + 64,
                    lambda: self._settings.receive_timeout_s,
                    service.knock,
                ),
            ),
            options=server_options(settings),
        )
        rpc.add_VerifierServicer_to_server(Servicer(service), server)
        health = self._health = Health(server)
        add_reflection(server)
        try:
            bound = self.bound = Bound(
                bind(server, settings, tls), self._bind_http(admission, tls, sight)
            )
            await health.starting()
            await server.start()
            await self._engine.start()
            service.started()
        except BaseException:
            await self.stop(0)
            raise
        admission.open()
        await health.serving()
        self._engine.breaker.watch(self._breaker_turned)
        return bound

    def reload(self, wanted: Settings) -> Plan:
        """Take over what can be, or nothing.

        Raises:
            ConfigError: The file of tokens is unusable, or may not go; nothing has changed.
        """
        changes = plan(self._settings, wanted)
        settings = changes.settings
        tokens = (
            _tokens(settings) if settings.tokens != self._settings.tokens else self._auth.tokens
        )
        # From here on nothing can fail.
        self._settings = settings
        self._auth.tokens = tokens
        if self._admission is not None and self._service is not None and self._suites is not None:
            self._admission.resize(settings.max_queue, settings.max_queue_bytes, _quota(settings))
            self._suites.adjust(settings.max_cases)
            self._service.adjust(settings)
            if self._programs is not None:
                self._programs.body_s = settings.receive_timeout_s
        self._engine.adjust(
            default_limits=settings.default_limits.to_limits(),
            max_limits=settings.max_limits.to_limits(),
            max_queue=settings.max_queue,
        )
        return changes

    @property
    def grace_s(self) -> float:
        """Seconds that running work gets at a shutdown, by the present settings."""
        return self._settings.grace_s

    def _breaker_turned(self) -> None:
        """The backend went down, or came back: say so."""
        closed, health = self._engine.breaker.closed, self._health
        if self._engine.breaker.state is State.HALF_OPEN:
            return
        if health is not None and self._stopping is None:
            log = _log.info if closed else _log.error
            log("backend %s", "serves again" if closed else f"down: {self._engine.breaker.reason}")
            task = asyncio.create_task(health.serving() if closed else health.down())
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

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
            if self._pages is not None:
                await self._pages.stop()
            if self._http is not None:
                await self._http.stop()
            if self.bound is not None:
                forget(self.bound.grpc)
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

    def _see(self, admission: Admission, suites: SuiteStore) -> Sight:
        settings = self._settings
        tracing = None
        if settings.tracing:
            from verifier.telemetry.tracing import Tracing

            tracing = Tracing()
        sight = Sight(tracing=tracing, access_log=settings.access_log)
        if settings.http is not None:
            from verifier.gateway.status import pages_of

            self._pages = pages_of(sight, self._engine, settings, admission, suites)
        return sight

    def _bind_http(self, admission: Admission, tls: Tls | None, sight: Sight) -> str | None:
        if self._settings.http is None:
            return None
        # Starlette and uvicorn are needed by those alone who serve HTTP.
        from verifier.gateway import openapi
        from verifier.gateway.http import HttpServer, make_app
        from verifier.gateway.http_auth import HttpAuth
        from verifier.gateway.http_run import SandboxFusion

        programs = SandboxFusion(
            self._engine,
            admission,
            self._auth,
            max_body_bytes=self._settings.max_message_bytes,
            body_s=self._settings.receive_timeout_s,
        )
        self._programs = programs
        pages = [] if self._pages is None else self._pages.routes()
        app = make_app(
            lambda: admission.accepting,
            [*programs.routes(), openapi.route(), *pages],
            sight,
            trouble=lambda: self._engine.breaker.reason,
        )
        context = None if tls is None else tls.http_context()
        self._http = HttpServer(
            self._settings.http, HttpAuth(app, self._auth, sight.refused), context
        )
        self._http.start()
        if self._pages is not None:
            self._pages.start()
        return self._http.address


async def serve(
    settings: Settings,
    *,
    engine: Engine | None = None,
    reread: Callable[[], Settings] | None = None,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then drain.

    Args:
        settings: The operator's.
        engine: In the place of the one that the settings describe.
        reread: Gives the settings as they are by now, at SIGHUP; without it SIGHUP does nothing.
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

    def on_reload() -> None:
        try:
            say(
                str(gateway.reload(reread()))
                if reread is not None
                else "there is nothing to reload"
            )
        except ConfigError as exc:
            _log.error("settings read again: nothing is changed, as there is a mistake: %s", exc)

    handled = {signal.SIGTERM: on_signal, signal.SIGINT: on_signal, signal.SIGHUP: on_reload}
    for number, handler in handled.items():
        loop.add_signal_handler(number, handler)
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
        _warn_of_strangers(settings)
        say(f"grpc listening on {bound.grpc}")
        if bound.http is not None:
            say(f"http listening on {bound.http}")
        await stopped
        grace_s = gateway.grace_s
        say(f"draining for at most {grace_s:g} s; a second signal stops now")
        await gateway.stop(grace_s)
    finally:
        stopped.cancel()
        for number in handled:
            loop.remove_signal_handler(number)
        await gateway.stop(0)


def _tokens(settings: Settings) -> TokenFile | None:
    return None if settings.tokens is None else TokenFile(settings.tokens)


def _quota(settings: Settings) -> Quota:
    return Quota(settings.max_client_requests, settings.max_client_bytes)


def _make_engine(settings: Settings) -> Engine:
    from verifier.engine import engine_of, make_sandbox

    sandbox = make_sandbox(
        settings.backend,
        accept=settings.accept,
        allow_unsafe=settings.allow_unsafe,
        image=settings.image,
        runtime=settings.runtime,
        cache_dir=settings.cache_dir,
        runners_dir=settings.runners_dir,
    )
    return engine_of(settings, sandbox)


def _warn_of_strangers(settings: Settings) -> None:
    addresses = [settings.grpc, *([] if settings.http is None else [settings.http])]
    known = settings.tokens is not None or settings.tls_client_ca is not None
    if not known and not all(map(is_loopback, addresses)):
        _log.warning(
            "other machines can reach this gateway, and whoever does may run programs: neither "
            "tokens nor tls_client_ca is set (docs/service.md)"
        )


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
