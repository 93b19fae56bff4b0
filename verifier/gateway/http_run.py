"""Sandbox Fusion's HTTP interface over the engine: for clients that only change a URL.

`POST /run_code`, `GET /v1/ping`; `POST /run_jupyter` is refused. `docs/http.md` says what this
interface cannot give.

A fault of ours is never an answer about the program. It is 504, which verl's client tries again
three times; every other error it takes for a wrong answer at once. For the same reason a request
that had to wait too long is answered with 504 before its client gives up.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from verifier.errors import InfraError, RequestError
from verifier.gateway.admission import Admission, Ticket
from verifier.gateway.auth import Auth
from verifier.gateway.http_answers import answer, sandbox_error
from verifier.gateway.http_fields import NOT_RUN, OURS, BadRequestError, RunCode, parse, task_of
from verifier.gateway.sight import note
from verifier.languages import PROBED
from verifier.types import RunOutcome, RunTask

if TYPE_CHECKING:
    from verifier.engine import Engine

__all__ = ["SandboxFusion"]

_log = logging.getLogger("verifier.gateway")
_T = TypeVar("_T")

# Above this, JSON leaves the event loop for a thread.
_INLINE_BYTES = 256 * 1024
# A client that sends slower than this holds a place for nothing.
_BODY_S = 60.0
_CLOSED = 499
NO_JUPYTER = (
    "run_jupyter is not served here: there are no notebooks, each program runs in a jail of its "
    "own. Send the code to /run_code with language=python"
)


class _TooLargeError(Exception):
    """The body is over the limit."""


class _TooSlowError(Exception):
    """The body did not arrive in time."""


class SandboxFusion:
    """The routes.

    Args:
        engine: Started by the gateway.
        admission: Shared with gRPC.
        auth: Who calls; None asks nobody.
        max_body_bytes: Size of a request.
        body_s: How long a request may take to arrive.

    Attributes:
        body_s: The same; may be set at any time.
    """

    def __init__(
        self,
        engine: Engine,
        admission: Admission,
        auth: Auth | None = None,
        *,
        max_body_bytes: int,
        body_s: float = _BODY_S,
    ) -> None:
        """Nothing is served yet."""
        self._engine = engine
        self._admission = admission
        self._auth = auth or Auth()
        self._max_body_bytes = max_body_bytes
        self.body_s = body_s

    def routes(self) -> list[Route]:
        """For the application."""
        return [
            Route("/run_code", self._run_code, methods=["POST"]),
            Route("/run_jupyter", self._run_jupyter, methods=["POST"]),
            Route("/v1/ping", self._ping, methods=["GET"]),
        ]

    async def _ping(self, request: Request) -> Response:
        del request
        if self._admission.accepting:
            return JSONResponse("pong")
        return JSONResponse({"detail": "not accepting work"}, 503)

    async def _run_jupyter(self, request: Request) -> Response:
        del request
        return JSONResponse({"detail": NO_JUPYTER}, 501)

    async def _run_code(self, request: Request) -> Response:
        try:
            return await self._served(request)
        except BadRequestError as error:
            return JSONResponse({"detail": error.detail}, 422)
        except _TooLargeError:
            limit = self._max_body_bytes
            return JSONResponse({"detail": f"the request is over {limit} bytes"}, 413)
        except _TooSlowError:
            return JSONResponse({"detail": f"no request within {self.body_s:g} s"}, 408)
        except ClientDisconnect:
            return Response(status_code=_CLOSED)
        except InfraError as error:
            return _again(f"{type(error).__name__}: {error}", error.retry_after_s)
        except Exception as error:  # noqa: BLE001 - the boundary: no bug of ours is a verdict
            _log.exception("unexpected error in POST /run_code")
            return _again(f"internal error: {type(error).__name__}")

    async def _served(self, request: Request) -> Response:
        if not _is_json(request.headers.get("content-type", "")):
            # A web page can send anything else across sites without asking.
            raise BadRequestError.of("", "Content-Type must be application/json", "json_type")
        length = _length(request)
        if length > self._max_body_bytes:
            raise _TooLargeError
        who = self._auth.now()
        with self._admission.admit(length, who.client_id(""), who.quota) as ticket:
            body = await self._body(request, ticket, length)
            wanted = await _apart(len(body), functools.partial(parse, body))
            if wanted.language not in self._languages():
                return JSONResponse(sandbox_error(self._not_built(wanted.language)))
            task = await _apart(len(body), functools.partial(task_of, wanted))
            outcome = await self._run(request, replace(task, client_id=who.client_id("")))
            if outcome is None:
                return Response(status_code=_CLOSED)
            return await self._answer(outcome, wanted)

    async def _body(self, request: Request, ticket: Ticket, counted: int) -> bytes:
        data = bytearray()

        async def read() -> None:
            async for chunk in request.stream():
                data.extend(chunk)
                if len(data) > self._max_body_bytes:
                    raise _TooLargeError
                if len(data) > counted:  # no Content-Length
                    ticket.grow(len(chunk))

        try:
            await asyncio.wait_for(read(), self.body_s)
        except asyncio.TimeoutError:
            raise _TooSlowError from None
        return bytes(data)

    async def _run(self, request: Request, task: RunTask) -> RunOutcome | None:
        """The outcome; None when the client went away first: then nothing runs any more."""
        running = asyncio.ensure_future(self._engine.run(task))
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait((running, gone), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                return None
            note(running.result(), task.program)
            return running.result()
        except RequestError as error:
            raise BadRequestError.of_error(error) from None
        finally:
            for task_ in (running, gone):
                task_.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task_

    async def _answer(self, outcome: RunOutcome, wanted: RunCode) -> Response:
        size = len(outcome.facts.stdout) + sum(len(data) for _, data in outcome.files)
        return await _apart(
            size,
            lambda: JSONResponse(answer(outcome, wanted.language, wanted.compile_timeout)),
        )

    def _languages(self) -> list[str]:
        there = self._engine.info().toolchains
        return [name for name, ours in OURS.items() if not there or ours in there]

    def _not_built(self, language: str) -> str:
        there = f"language {language} is not built here; there are {', '.join(self._languages())}"
        why = PROBED[OURS[language]].remedy if language in OURS else NOT_RUN.get(language)
        return f"{there}. {why}" if why else there


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _apart(size: int, work: Callable[[], _T]) -> _T:
    return await asyncio.to_thread(work) if size > _INLINE_BYTES else work()


def _is_json(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (
        kind.startswith("application/") and kind.endswith("+json")
    )


def _length(request: Request) -> int:
    given = request.headers.get("content-length", "")
    return int(given[:18]) if given.isascii() and given.isdecimal() else 0


def _again(message: str, retry_after_s: float | None = None) -> Response:
    headers = {"Retry-After": str(max(1, round(retry_after_s or 1)))}
    return JSONResponse({"detail": message}, 504, headers)
