"""The request that the running code belongs to: what its pieces learn, put together at its end.

A request is known in several places: the RPC's metadata where it comes in, its ids where it is
read, the result where the engine gave it. Each says what it knows to the current request, which
is a context variable, so that none of them has to hand it on; whoever opened it reports it once,
at its end. Where nobody opened one, nothing is kept and nothing is spent.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

from verifier.types import Program, Result, RunOutcome

__all__ = ["CURRENT", "INCOMING", "Incoming", "Seen", "note"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """What is known of an RPC before its first message was read.

    Attributes:
        method: As in the contract ("ScoreStream").
        carrier: `traceparent` and `tracestate`, where the caller sent them.
    """

    method: str
    carrier: Mapping[str, str]


@dataclass(slots=True)
class Seen:
    """One request, as far as it is known.

    Attributes:
        method: The RPC, or method and path of HTTP.
        request_id: The caller's, or one of ours ("") where it gave none.
        client_id: The caller's.
        answer: What the engine gave; None while there is none.
        language: Of a program that was run as it is; a `Result` knows its own.
        started: `time.perf_counter()`.
        started_ns: Since the epoch, for traces.
        span: An OpenTelemetry span, where requests are traced.
    """

    method: str
    request_id: str = ""
    client_id: str = ""
    answer: Result | RunOutcome | None = None
    language: str = ""
    started: float = field(default_factory=time.perf_counter)
    started_ns: int = 0
    span: object = None


CURRENT: ContextVar[Seen | None] = ContextVar("verifier_request", default=None)
INCOMING: ContextVar[Incoming | None] = ContextVar("verifier_incoming", default=None)


def note(answer: Result | RunOutcome, program: Program | None = None) -> None:
    """Tell the current request what the engine answered, and of which program."""
    seen = CURRENT.get()
    if seen is not None:
        seen.answer = answer
        seen.language = "" if program is None else program.language
