"""The HTTP side, in the gateway's loop.

`/healthz` (the process lives), `/readyz` (work is welcome), and the routes that it is given.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from verifier.config import split_address
from verifier.errors import ConfigError

__all__ = ["HttpServer", "make_app"]


def make_app(ready: Callable[[], bool], routes: Sequence[Route] = ()) -> Starlette:
    """The ASGI application.

    Args:
        ready: Whether the gateway accepts work.
        routes: What else is served.
    """

    async def healthz(request: Request) -> Response:
        del request
        return PlainTextResponse("ok\n")

    async def readyz(request: Request) -> Response:
        del request
        return JSONResponse({"ready": True}) if ready() else JSONResponse({"ready": False}, 503)

    return Starlette(routes=[Route("/healthz", healthz), Route("/readyz", readyz), *routes])


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the gateway's."""
        yield


class HttpServer:
    """Uvicorn on a socket of ours: a taken port is our error, port 0 is known at once."""

    def __init__(self, address: str, app: Starlette) -> None:
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
        self._server = _Server(
            uvicorn.Config(
                app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
            )
        )
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
