"""What the RPCs do, without gRPC: admit, convert, ask the engine, convert back.

The servicer and the streams call this with a request and the time that is left, and get a response
or one of our errors. Nothing here logs or copies a body.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from verifier.config import Settings
from verifier.errors import RequestError, SuiteError
from verifier.gateway import convert
from verifier.gateway.admission import Admission
from verifier.gateway.suites import Source, SuiteStore
from verifier.gateway.turns import Turns
from verifier.types import Outcome, Result, Suite
from verifier.v1 import verifier_pb2 as pb
from verifier.wire import convert as values

if TYPE_CHECKING:
    from verifier.engine import Engine

__all__ = ["Service"]

# Converting a case costs about 2 us: beyond this many, it is done beside the event loop.
_CASES_INLINE = 2000


class Service:
    """The five operations.

    Args:
        engine: Started by the gateway.
        settings: The operator's.
        admission: Shared by all operations.
        suites: Parsed suites.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        admission: Admission,
        suites: SuiteStore,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing runs yet."""
        self.admission = admission
        self.turns = Turns()
        self.settings = settings
        self._engine = engine
        self._suites = suites
        self._clock = clock
        self._defaults = settings.default_limits.to_limits()
        self._ceilings = settings.max_limits.to_limits()
        # A quarter of a message for excerpts leaves room for everything else in it.
        self._excerpt_budget = settings.max_message_bytes // 4
        self._backend = ""
        self._toolchains: dict[str, str] = {}

    def started(self) -> None:
        """Read from the engine what does not change while it runs."""
        info = self._engine.info()
        self._backend = info.backend
        self._toolchains = dict(info.toolchains)

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
        with self.admission.admit(request.ByteSize()) as ticket:
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
                work = self._engine.score(replace(task, suite=suite, deadline_s=left_s))
                del task
                result = await work
            except SuiteError as exc:
                return self._invalid_suite(request_id, exc)
            return await self._respond(result, suite)

    async def run(self, request: pb.RunRequest, left_s: float | None = None) -> pb.RunResponse:
        """One program, one standard input.

        Raises:
            VerifierError: Refused, or it could not be run.
        """
        with self.admission.admit(request.ByteSize()):
            task = convert.run_task(
                request, defaults=self._defaults, ceilings=self._ceilings, deadline_s=left_s
            )
            outcome = await self._engine.run(task)
            return values.outcome_to_pb(
                outcome,
                request_id=request.request_id,
                versions=self._versions(task.program.language if task.program is not None else ""),
                excerpt_bytes=request.excerpt_bytes if request.HasField("excerpt_bytes") else None,
            )

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
        with self.admission.admit(0) as ticket:
            pieces: list[bytes] = []
            size = 0
            fmt, fn_name = "auto", None
            first = True
            while (message := await read()) is not None:
                if first:
                    fmt = convert.ground_truth_format(message.ground_truth_format)
                    fn_name = message.fn_name or None
                    first = False
                size += len(message.chunk)
                if size > self.settings.max_suite_bytes:
                    ceiling = self.settings.max_suite_bytes
                    raise RequestError("chunk", f"the suite is over the ceiling of {ceiling} bytes")
                ticket.grow(len(message.chunk))
                pieces.append(message.chunk)
            if not size:
                raise RequestError("chunk", "empty: there was no ground truth in the stream")
            suite = await self._suites.put(Source(pieces, fmt, fn_name))
            return pb.PutSuiteResponse(digest=suite.digest, cases=len(suite.cases), size_bytes=size)

    def info(self) -> pb.GetInfoResponse:
        """What this gateway is."""
        info = self._engine.info()
        if self._suites.problem:
            info = replace(info, notes=(*info.notes, self._suites.problem))
        return convert.info_to_pb(info, self.settings)

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
        return values.result_to_pb(result, versions=self._versions(""))

    def _versions(self, language: str) -> dict[str, str]:
        return convert.versions_of(language, self._toolchains)
