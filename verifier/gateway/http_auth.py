"""Bearer tokens in front of the HTTP side (see `gateway.auth`)."""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from verifier.errors import AuthenticationError
from verifier.gateway.auth import HEADER, Auth, caller
from verifier.gateway.http import OPEN_PATHS

__all__ = ["HttpAuth"]


class HttpAuth:
    """Lets through who shows a valid token, and what has nothing to hide (`OPEN_PATHS`)."""

    def __init__(
        self, app: ASGIApp, auth: Auth, refused: Callable[[str], None] = lambda _: None
    ) -> None:
        """Guard this; `refused` is told of each request that is refused."""
        self._app = app
        self._auth = auth
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            header = next((v for k, v in scope["headers"] if k == HEADER.encode()), b"")
            try:
                caller.set(self._auth.check(header.decode("latin-1"), basic=True))
            except AuthenticationError as exc:
                self._refused("HTTP")
                challenge = 'Bearer realm="verifier", Basic realm="verifier"'
                answer = JSONResponse({"detail": str(exc)}, 401, {"WWW-Authenticate": challenge})
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)
