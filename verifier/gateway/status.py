"""The page's numbers over HTTP: `/metrics`, `/status.json`, `/events`, and the page itself.

`/events` is a stream of server-sent events: a whole status at first, then one message a second.
How many may listen is bounded, and who does not take messages as they come is dropped: eight wait
for a listener, no more. The page is static and has no data in it, so that it can ask for a token;
everything it then shows comes from the routes here.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.resources
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from verifier._version import __version__
from verifier.telemetry.board import Board
from verifier.telemetry.logs import lines_dropped
from verifier.telemetry.metrics import ServerMetrics
from verifier.telemetry.state import GatewayState

if TYPE_CHECKING:
    from verifier.config import Settings
    from verifier.engine import Engine
    from verifier.gateway.admission import Admission
    from verifier.gateway.sight import Sight
    from verifier.gateway.suites import SuiteStore

__all__ = ["PAGE_PATHS", "Listeners", "StatusPages", "pages_of"]

_log = logging.getLogger("verifier.gateway")

_WAITING_MESSAGES = 8
# New failures in one message; the page asks for more when somebody wants them.
_NEW_FAILURES = 20
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
PAGE_PATHS = frozenset(_FILES)
"""Static, and without any data: may be served to who has no token yet."""


@dataclass(eq=False, slots=True)
class _Listener:
    messages: asyncio.Queue[bytes] = field(default_factory=lambda: asyncio.Queue(_WAITING_MESSAGES))
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Listeners:
    """Who listens to `/events`.

    Args:
        most: So many at once.

    Attributes:
        dropped: Those that read too slowly, since the start.
    """

    def __init__(self, most: int) -> None:
        """Nobody yet."""
        self._most = most
        self._there: set[_Listener] = set()
        self.dropped = 0
        self._closed = False

    def __len__(self) -> int:
        return len(self._there)

    @property
    def full(self) -> bool:
        """Whether another one is refused."""
        return self._closed or len(self._there) >= self._most

    def publish(self, message: bytes) -> None:
        """To all; who has no room for it is dropped."""
        for listener in list(self._there):
            if listener.messages.full():
                self.dropped += 1
                self._there.discard(listener)
                listener.ended.set()
            else:
                listener.messages.put_nowait(message)

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        for listener in self._there:
            listener.ended.set()

    async def stream(self, first: bytes, receive: Receive, send: Send) -> None:
        """Serve one listener until it goes, is dropped, or all streams end."""
        listener = _Listener()
        self._there.add(listener)

        async def write() -> None:
            headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            message = first
            while True:
                await send({"type": "http.response.body", "body": message, "more_body": True})
                message = await listener.messages.get()

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        tasks = [asyncio.ensure_future(work) for work in (write(), gone(), listener.ended.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._there.discard(listener)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if listener.ended.is_set() and listener.messages.empty():
            with contextlib.suppress(OSError):
                await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Events(Response):
    """A response that is a stream of a listener."""

    def __init__(self, listeners: Listeners, first: Callable[[], bytes]) -> None:
        super().__init__()
        self._listeners = listeners
        self._first = first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        await self._listeners.stream(self._first(), receive, send)


class StatusPages:
    """The routes, and the clock behind them.

    Args:
        metrics: For `/metrics`.
        board: For everything else.
        state: How the gateway is now.
        max_listeners: Streams at once.
    """

    def __init__(
        self,
        metrics: ServerMetrics,
        board: Board,
        state: Callable[[], GatewayState],
        *,
        max_listeners: int = 16,
    ) -> None:
        """Nothing is served yet."""
        self._metrics = metrics
        self._board = board
        self._state = state
        self.listeners = Listeners(max_listeners)
        self._sent = 0
        self._ticking: asyncio.Task[None] | None = None
        folder = importlib.resources.files("verifier.gateway") / "page"
        self._page = {path: (folder / name).read_bytes() for path, (name, _) in _FILES.items()}

    def routes(self) -> list[Route]:
        """For the application."""
        return [
            *(Route(path, self._static, methods=["GET"]) for path in _FILES),
            Route("/metrics", self._metrics_text, methods=["GET"]),
            Route("/status.json", self._status, methods=["GET"]),
            Route("/events", self._events, methods=["GET"]),
            Route("/failures/{number:int}", self._failure, methods=["GET"]),
        ]

    def start(self) -> None:
        """Begin to tick."""
        self._ticking = asyncio.create_task(self._tick_for_ever())

    async def stop(self) -> None:
        """End the streams."""
        self.listeners.close()
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.gather(self._ticking, return_exceptions=True)

    def tick(self) -> None:
        """What happens once a second."""
        state = self._state()
        self._board.tick(state)
        sent, self._sent = self._sent, self._board.last_failure
        if self.listeners:
            failures = self._board.failures(after=sent, limit=_NEW_FAILURES)
            message = {**self._summary(state), "point": self._board.point(), "failures": failures}
            self.listeners.publish(_event(message))

    async def _tick_for_ever(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(1.0 - loop.time() % 1.0)
            try:
                self.tick()
            except Exception:  # noqa: BLE001 - one second's numbers are no reason to stop
                _log.exception("the status page missed a second")

    def _summary(self, state: GatewayState) -> dict[str, Any]:
        return {"version": __version__, **self._board.summary(state)}

    def whole(self) -> dict[str, Any]:
        """All that the page shows when it opens."""
        return {
            **self._summary(self._state()),
            "history": self._board.history(),
            "failures": self._board.failures(),
        }

    async def _static(self, request: Request) -> Response:
        path = request.url.path
        return Response(self._page[path], media_type=_FILES[path][1], headers=_HEADERS)

    async def _metrics_text(self, request: Request) -> Response:
        del request
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(self._metrics.text(), headers={**_HEADERS, "Content-Type": kind})

    async def _status(self, request: Request) -> Response:
        del request
        return JSONResponse(self.whole(), headers=_HEADERS)

    async def _failure(self, request: Request) -> Response:
        found = self._board.failure(request.path_params["number"])
        if found is None:
            return JSONResponse({"detail": "not kept any more"}, 404, headers=_HEADERS)
        return JSONResponse(found, headers=_HEADERS)

    async def _events(self, request: Request) -> Response:
        del request
        if self.listeners.full:
            return JSONResponse({"detail": "too many listeners"}, 503, {"Retry-After": "5"})
        return _Events(self.listeners, lambda: _event(self.whole()))


def pages_of(
    sight: Sight, engine: Engine, settings: Settings, admission: Admission, suites: SuiteStore
) -> StatusPages:
    """The pages of a gateway; from now on its requests are counted for them."""

    def state() -> GatewayState:
        load = engine.load()
        return GatewayState(
            backend=engine.info().backend,
            ready=admission.accepting,
            draining=admission.draining.is_set(),
            queued=load.queued,
            running=load.running,
            held_requests=admission.requests,
            max_requests=settings.max_queue,
            held_bytes=admission.held_bytes,
            max_bytes=settings.max_queue_bytes,
            slots_total=load.slots_total,
            slots_idle=load.slots_idle,
            slots_busy=load.slots_busy,
            slots_replaced=load.slots_replaced,
            slot_faults=engine.faults,
            reruns=engine.reruns,
            suites=len(suites),
            suite_bytes=suites.used_bytes,
            suite_hits=suites.hits,
            suite_misses=suites.misses,
            listeners=len(pages.listeners),
            listeners_dropped=pages.listeners.dropped,
            log_lines_dropped=lines_dropped(),
        )

    metrics = sight.metrics = ServerMetrics(state)
    board = sight.board = Board(excerpts=settings.page_excerpts)
    pages = StatusPages(metrics, board, state, max_listeners=settings.page_listeners)
    return pages


def _event(message: dict[str, Any]) -> bytes:
    return b"event: status\ndata: " + json.dumps(message).encode() + b"\n\n"
