"""The HTTP side, in the gateway's loop.

`/healthz` (the process lives), `/readyz` (work is welcome), the pages (`status`), and the routes
that it is given.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from verifier.config import split_address
from verifier.errors import ConfigError
from verifier.gateway.sight import Sight
from verifier.gateway.status import PAGE_PATHS
from verifier.telemetry.current import CURRENT, INCOMING, Incoming

__all__ = ["OPEN_PATHS", "HttpServer", "make_app"]

OPEN_PATHS = frozenset({"/healthz", "/readyz"}) | PAGE_PATHS
"""What may be served without a token: no data, and no work."""

# A peer that takes no bytes for so long is gone, whatever its machine says.
_USER_TIMEOUT_MS = 30_000


def make_app(
    ready: Callable[[], bool],
    routes: Sequence[Route] = (),
    sight: Sight | None = None,
    *,
    trouble: Callable[[], str] = str,
) -> Starlette:
    """The ASGI application.

    Args:
        ready: Whether the gateway accepts work.
        trouble: Why no work can be done at the moment; "" where it can.
        routes: What else is served.
        sight: Where requests are reported, those for health, metrics and the page excepted.
    """

    async def healthz(request: Request) -> Response:
        del request
        return PlainTextResponse("ok\n")

    async def readyz(request: Request) -> Response:
        del request
        reason = trouble()
        if ready() and not reason:
            return JSONResponse({"ready": True})
        return JSONResponse({"ready": False, **({"reason": reason} if reason else {})}, 503)

    all_routes = [Route("/healthz", healthz), Route("/readyz", readyz), *routes]
    stack = [] if sight is None else [Middleware(_Watched, sight=sight)]
    return Starlette(routes=all_routes, middleware=stack)


class _Watched:
    """Reports requests that are work: those that are sent with POST."""

    def __init__(self, app: ASGIApp, sight: Sight) -> None:
        self._app = app
        self._sight = sight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        # A path that is not served is anybody's text: it is no label.
        path = scope["path"] if scope["path"] in ("/run_code", "/run_jupyter") else "other"
        carrier = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in scope["headers"]
            if name in (b"traceparent", b"tracestate")
        }
        INCOMING.set(Incoming(f"POST {path}", carrier))
        seen = self._sight.begin(f"POST {path}")
        code = "499"  # the client went away first

        async def answer(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = str(message["status"])
            await send(message)

        token = CURRENT.set(seen)
        try:
            await self._app(scope, receive, answer)
        finally:
            CURRENT.reset(token)
            self._sight.end(seen, code=code)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the gateway's."""
        yield


class HttpServer:
    """Uvicorn on a socket of ours: a taken port is our error, port 0 is known at once."""

    def __init__(self, address: str, app: ASGIApp, tls: ssl.SSLContext | None = None) -> None:
        """Bind.

        Raises:
            ConfigError: The address cannot be had.
        """
        host, port = split_address(address)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=128)
        except OSError as exc:
            raise ConfigError(f"http: cannot listen on {address}: {exc.strerror or exc}") from exc
        # Connections inherit it: who listens to the page and does not read holds nothing for long.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _USER_TIMEOUT_MS)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
        )
        config.load()
        config.ssl = tls  # one that follows its files, which uvicorn's own does not
        self._server = _Server(config)
        self._task: asyncio.Task[None] | None = None
        bound = self._socket.getsockname()
        self.address = (
            f"[{bound[0]}]:{bound[1]}" if family == socket.AF_INET6 else f"{bound[0]}:{bound[1]}"
        )

    def start(self) -> None:
        """Serve; connections that came since the bind are waiting in the socket."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))

    async def stop(self) -> None:
        """Answer what was asked, then close."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task
        self._socket.close()
