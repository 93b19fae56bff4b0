"""What the RPCs do, without gRPC: admit, convert, ask the engine, convert back.

The servicer and the streams call this with a request and the time that is left, and get a response
or one of our errors. Nothing here logs or copies a body.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING

from verifier._within import Within
from verifier.config import Settings
from verifier.errors import DeadlineError, RequestError, SuiteError, VerifierError
from verifier.gateway import convert
from verifier.gateway.admission import Admission, Place, Ticket
from verifier.gateway.auth import Auth
from verifier.gateway.quotas import Quota
from verifier.gateway.sight import Sight, note, watched
from verifier.gateway.suites import Source, SuiteStore
from verifier.gateway.turns import Turns
from verifier.gateway.writing import Writing
from verifier.types import Outcome, Result, Suite
from verifier.v1 import verifier_pb2 as pb
from verifier.wire import convert as values

if TYPE_CHECKING:
    from verifier.engine import Engine

__all__ = ["Service"]

# Converting a case costs about 2 us: beyond this many, it is done beside the event loop.
_CASES_INLINE = 2000
# Each call of these is one request. (One of a stream is answered in it; GetInfo is never refused.)
_ONE_REQUEST = frozenset({"Score", "Run", "PutSuite"})
# Of the call that the running task serves, until its request is admitted.
_place: ContextVar[Place | None] = ContextVar("place", default=None)


class Service:
    """The five operations.

    Args:
        engine: Started by the gateway.
        settings: The operator's.
        admission: Shared by all operations.
        suites: Parsed suites.
        auth: Who calls; None asks nobody.
        clock: Monotonic seconds.
        sight: Where requests are reported.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        admission: Admission,
        suites: SuiteStore,
        auth: Auth | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        sight: Sight | None = None,
    ) -> None:
        """Nothing runs yet."""
        self.admission = admission
        self.sight = sight
        self._turns = Turns(lambda: admission.requests)
        self.writing = Writing(admission, lambda: self.settings.write_timeout_s)
        self._engine = engine
        self._suites = suites
        self._auth = auth or Auth()
        self._clock = clock
        self.adjust(settings)
        # A quarter of a message for excerpts leaves room for everything else in it.
        self._excerpt_budget = settings.max_message_bytes // 4
        self._backend = ""
        self._toolchains: dict[str, str] = {}

    def adjust(self, settings: Settings) -> None:
        """Other settings from the next request on."""
        self.settings = settings
        self._defaults = settings.default_limits.to_limits()
        self._ceilings = settings.max_limits.to_limits()

    def started(self) -> None:
        """Read from the engine what does not change while it runs."""
        info = self._engine.info()
        self._backend = info.backend
        self._toolchains = dict(info.toolchains)

    def knock(self, method: str) -> None:
        """A call came in; nothing of its message was read.

        Raises:
            VerifierError: It will not be admitted, whatever it asks for.
        """
        self._turns.came()
        if method not in _ONE_REQUEST:
            return
        try:
            place = self.admission.knock()
        except VerifierError as exc:
            if self.sight is not None:
                self.sight.end(self.sight.begin(method), exc)
            raise
        _place.set(place)
        task = asyncio.current_task()
        if task is not None:  # the call's: its message may never come
            task.add_done_callback(lambda _: place.leave())

    @watched
    async def score(
        self, request: pb.ScoreRequest, left_s: float | None = None
    ) -> pb.ScoreResponse:
        """One response against one suite.

        Args:
            request: As it came.
            left_s: Seconds until the RPC's deadline; None without one.

        Raises:
            VerifierError: Refused, or there is no verdict.
        """
        started = self._clock()
        ticket, client = self._admit(request)
        with ticket:
            # Not before it was admitted: a refusal needs no turn.
            await self._turns.take(request.priority)
            task = convert.score_task(request, defaults=self._defaults, ceilings=self._ceilings)
            request_id = request.request_id
            try:
                suite = await self._suite(request)
                if request.HasField("deadline_s"):
                    left_s = (
                        request.deadline_s if left_s is None else min(request.deadline_s, left_s)
                    )
                if left_s is not None:
                    left_s -= self._clock() - started
                # Thousands may wait in line: what was read of a message is not held beside it.
                ticket.shrink(len(request.response))
                del request
                work = self._engine.score(
                    replace(task, suite=suite, deadline_s=left_s, client_id=client)
                )
                del task
                result = await work
                note(result)
            except SuiteError as exc:
                return self._invalid_suite(request_id, exc)
            return await self._respond(result, suite)

    @watched
    async def run(self, request: pb.RunRequest, left_s: float | None = None) -> pb.RunResponse:
        """One program, one standard input.

        Raises:
            VerifierError: Refused, or it could not be run.
        """
        ticket, client = self._admit(request)
        with ticket:
            task = convert.run_task(
                request, defaults=self._defaults, ceilings=self._ceilings, deadline_s=left_s
            )
            outcome = await self._engine.run(replace(task, client_id=client))
            note(outcome, task.program)
            return values.outcome_to_pb(
                outcome,
                request_id=request.request_id,
                versions=self._versions(task.program.language if task.program is not None else ""),
                excerpt_bytes=request.excerpt_bytes if request.HasField("excerpt_bytes") else None,
            )

    @watched
    async def put_suite(
        self, read: Callable[[], Awaitable[pb.PutSuiteRequest | None]]
    ) -> pb.PutSuiteResponse:
        """An upload in pieces.

        Args:
            read: Gives the next message, None at the end.

        Raises:
            RequestError: It is too big, or empty.
            SuiteError: It cannot be used.
            VerifierError: Refused.
        """
        who = self._auth.now()
        with self._ticket(0, who.client_id(""), who.quota) as ticket:
            pieces: list[bytes] = []
            size = 0
            fmt, fn_name = "auto", None
            first = True
            while (message := await self._piece(read)) is not None:
                if first:
                    fmt = convert.ground_truth_format(message.ground_truth_format)
                    fn_name = message.fn_name or None
                    first = False
                size += len(message.chunk)
                if size > self.settings.max_suite_bytes:
                    ceiling = self.settings.max_suite_bytes
                    raise RequestError(
                        "chunk", f"the suite is over the ceiling, max_suite_bytes = {ceiling}"
                    )
                ticket.grow(len(message.chunk))
                pieces.append(message.chunk)
            if not size:
                raise RequestError("chunk", "empty: there was no ground truth in the stream")
            suite = await self._suites.put(Source(pieces, fmt, fn_name))
            return pb.PutSuiteResponse(digest=suite.digest, cases=len(suite.cases), size_bytes=size)

    async def _piece(
        self, read: Callable[[], Awaitable[pb.PutSuiteRequest | None]]
    ) -> pb.PutSuiteRequest | None:
        seconds = self.settings.receive_timeout_s
        try:
            async with Within(seconds):
                return await read()
        except asyncio.TimeoutError:
            problem = f"the next piece of the suite did not arrive within {seconds:g} s"
            raise DeadlineError(problem) from None

    def info(self) -> pb.GetInfoResponse:
        """What this gateway is."""
        if self.sight is not None:
            self.sight.end(self.sight.begin("GetInfo"))
        info = self._engine.info()
        if self._suites.problem:
            info = replace(info, notes=(*info.notes, self._suites.problem))
        return convert.info_to_pb(info, self.settings)

    def _admit(self, request: pb.ScoreRequest | pb.RunRequest) -> tuple[Ticket, str]:
        """A place, and the client id of whoever calls.

        Raises:
            VerifierError: Refused.
        """
        who = self._auth.now()
        client = who.client_id(request.client_id)
        return self._ticket(request.ByteSize(), client, who.quota), client

    def _ticket(self, size: int, client: str, quota: Quota | None) -> Ticket:
        place = _place.get()
        if place is not None:
            place.leave()
        return self.admission.admit(size, client, quota)

    async def _suite(self, request: pb.ScoreRequest) -> Suite:
        if request.WhichOneof("suite") == "suite_digest":
            return await self._suites.fetch(request.suite_digest)
        fmt = convert.ground_truth_format(request.ground_truth_format)
        return await self._suites.load(Source(request.ground_truth, fmt, request.fn_name or None))

    async def _respond(self, result: Result, suite: Suite) -> pb.ScoreResponse:
        language = result.extraction.language if result.extraction is not None else ""

        def convert_result() -> pb.ScoreResponse:
            return values.result_to_pb(
                result,
                suite_digest=suite.digest,
                versions=self._versions(language),
                excerpt_budget=self._excerpt_budget,
            )

        if len(result.cases) > _CASES_INLINE:
            return await asyncio.to_thread(convert_result)
        return convert_result()

    def _invalid_suite(self, request_id: str, error: SuiteError) -> pb.ScoreResponse:
        result = Result(
            Outcome.INVALID_SUITE, error=str(error), runner=self._backend, request_id=request_id
        )
        note(result)
        return values.result_to_pb(result, versions=self._versions(""))

    def _versions(self, language: str) -> dict[str, str]:
        return convert.versions_of(language, self._toolchains)
