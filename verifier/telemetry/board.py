"""What the live page and `verifier top` show: the last minutes, the last failures, the clients.

Everything is bounded: 300 seconds of history, so many failures of each verdict, so many clients,
the least recently seen of them going first. Recording adds to the bucket of the running second;
all that is read out of it is made when somebody looks.
"""

from __future__ import annotations

import itertools
import math
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from verifier.telemetry.histogram import PAGE_LATENCY_S, quantile
from verifier.telemetry.state import GatewayState
from verifier.types import CaseResult, Outcome, Result, Status

__all__ = ["HISTORY_S", "Board", "Failure"]

HISTORY_S = 300
# What "now" means in the numbers that are not curves.
WINDOW_S = 60
FAILURES_EACH = 40
MAX_CLIENTS = 256
SHOWN_CLIENTS = 20
EXCERPT_BYTES = 2000
_SUMMARY_CHARS = 160

Json = dict[str, Any]


@dataclass(slots=True)
class _Second:
    at: int
    responses: int = 0
    cases: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    latency: list[int] = field(default_factory=lambda: [0] * (len(PAGE_LATENCY_S) + 1))
    queued: int = 0
    busy: int = 0


@dataclass(slots=True)
class _Client:
    seen: float
    responses: int = 0
    accepted: int = 0
    faults: int = 0
    cases: int = 0
    cpu_time_s: float = 0.0
    # Exponential, over a minute: responses a second.
    rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """One response that was not accepted. Texts are excerpts, as the program wrote them."""

    number: int
    at: float
    verdict: str
    request_id: str
    client: str
    language: str
    passed: int
    total: int
    seconds: float
    case: int | None = None
    cpu_time_s: float = 0.0
    wall_time_s: float = 0.0
    memory_bytes: int = 0
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    stdout: bytes = b""
    stderr: bytes = b""
    excerpts: bool = True

    def row(self) -> Json:
        """For the list: no more than a line of text."""
        text = _line(self.message) or _line(_text(self.stderr))
        return {
            "number": self.number,
            "at": self.at,
            "verdict": self.verdict,
            "request_id": self.request_id,
            "client": self.client,
            "language": self.language,
            "passed": self.passed,
            "total": self.total,
            "case": self.case,
            "summary": text[:_SUMMARY_CHARS],
        }

    def detail(self) -> Json:
        """All of it."""
        return {
            **self.row(),
            "latency_ms": round(self.seconds * 1e3, 3),
            "cpu_ms": round(self.cpu_time_s * 1e3, 3),
            "wall_ms": round(self.wall_time_s * 1e3, 3),
            "memory_bytes": self.memory_bytes,
            "exit_code": self.exit_code,
            "signal": self.signal,
            "message": self.message,
            "stdout": _text(self.stdout),
            "stderr": _text(self.stderr),
            "excerpts": self.excerpts,
        }


class Board:
    """See the module. Belongs to one event loop.

    Args:
        excerpts: Keep what failed programs wrote.
        clock: Seconds since the epoch.
    """

    def __init__(self, *, excerpts: bool = True, clock: Callable[[], float] = time.time) -> None:
        """Nothing happened yet."""
        self._excerpts = excerpts
        self._clock = clock
        self._seconds: deque[_Second] = deque(maxlen=HISTORY_S)
        self._numbers = itertools.count(1)
        self._failures: dict[str, deque[Failure]] = {}
        self._clients: dict[str, _Client] = {}
        self._verdicts: Counter[str] = Counter()
        self._cases = 0
        self._cpu_time_s = 0.0
        self.since = clock()

    # ------------------------------------------------------------ recording

    def scored(self, result: Result, client: str, request_id: str, seconds: float) -> None:
        """A response has its answer."""
        scored = result.outcome is Outcome.SCORED and result.status is not None
        verdict = result.status._value_ if scored and result.status else result.outcome._value_
        cases = 0 if result.cached else len(result.cases)
        self._count(verdict, client, seconds, cases, result.timing.cpu_time_s)
        if verdict != "ACCEPTED":
            self._keep(self._failure(result, verdict, client, request_id, seconds))

    def ran(self, status: Status, client: str, seconds: float, cpu_time_s: float) -> None:
        """A program was run without judging: not among the failures, it is nobody's answer."""
        self._count(status._value_, client, seconds, 1, cpu_time_s)

    def refused(
        self, verdict: str, client: str, request_id: str, seconds: float, message: str
    ) -> None:
        """A request ended without a result: refused, or a fault of ours."""
        self._count(verdict, client, seconds, 0, 0.0)
        self._keep(
            Failure(
                next(self._numbers),
                self._clock(),
                verdict,
                request_id,
                client,
                "",
                0,
                0,
                seconds,
                message=message[:EXCERPT_BYTES],
            )
        )

    def tick(self, state: GatewayState) -> None:
        """Once a second: what has no event."""
        second = self._now()
        second.queued, second.busy = state.queued, state.slots_busy

    def _now(self) -> _Second:
        at = int(self._clock())
        last = self._seconds[-1] if self._seconds else None
        # A clock that is set back goes on with the newest bucket.
        if last is not None and last.at >= at:
            return last
        self._seconds.append(_Second(at))
        return self._seconds[-1]

    def _count(
        self, verdict: str, client: str, seconds: float, cases: int, cpu_time_s: float
    ) -> None:
        second = self._now()
        second.responses += 1
        second.cases += cases
        second.verdicts[verdict] += 1
        second.latency[bisect_left(PAGE_LATENCY_S, seconds)] += 1
        self._verdicts[verdict] += 1
        self._cases += cases
        self._cpu_time_s += cpu_time_s
        now = self._clock()
        entry = self._clients.get(client)
        if entry is None:
            entry = self._client(client, now)
        entry.rate = entry.rate * math.exp((entry.seen - now) / WINDOW_S) + 1 / WINDOW_S
        entry.seen = now
        entry.responses += 1
        entry.cases += cases
        entry.cpu_time_s += cpu_time_s
        if verdict == "ACCEPTED":
            entry.accepted += 1
        elif verdict in ("INFRA_ERROR", "REFUSED"):
            entry.faults += 1

    def _client(self, client: str, now: float) -> _Client:
        if len(self._clients) >= MAX_CLIENTS:
            del self._clients[min(self._clients, key=lambda name: self._clients[name].seen)]
        entry = self._clients[client] = _Client(now)
        return entry

    def _keep(self, failure: Failure) -> None:
        ring = self._failures.get(failure.verdict)
        if ring is None:
            # One for each verdict: a flood of wrong answers does not push out a fault.
            ring = self._failures[failure.verdict] = deque(maxlen=FAILURES_EACH)
        ring.append(failure)

    def _failure(
        self, result: Result, verdict: str, client: str, request_id: str, seconds: float
    ) -> Failure:
        case = next(
            (c for c in result.cases if c.status._value_ == verdict), CaseResult(-1, Status.SKIPPED)
        )
        message = result.error or case.message
        if not message and result.compile is not None and not result.compile.ok:
            message = result.compile.message
        if verdict == "NO_CODE" and result.extraction is not None:
            message = result.extraction.reason
        keep = self._excerpts
        return Failure(
            next(self._numbers),
            self._clock(),
            verdict,
            request_id,
            client,
            "" if result.extraction is None else result.extraction.language,
            result.passed,
            result.total or len(result.cases),
            seconds,
            case=None if case.index < 0 else case.index,
            cpu_time_s=case.cpu_time_s,
            wall_time_s=case.wall_time_s,
            memory_bytes=case.memory_bytes,
            exit_code=case.exit_code,
            signal=case.signal,
            # A fault's message is ours; every other one may quote the program.
            message=message[:EXCERPT_BYTES] if keep or result.error else "",
            stdout=case.stdout[:EXCERPT_BYTES] if keep else b"",
            stderr=case.stderr[:EXCERPT_BYTES] if keep else b"",
            excerpts=keep,
        )

    # ------------------------------------------------------------ reading

    def failures(self, after: int = 0, limit: int = 400) -> list[Json]:
        """Rows of the kept failures with a later number, newest first."""
        kept = [f for ring in self._failures.values() for f in ring if f.number > after]
        kept.sort(key=lambda failure: -failure.number)
        return [failure.row() for failure in kept[:limit]]

    def failure(self, number: int) -> Json | None:
        """One of them, with its excerpts; None when it is not kept any more."""
        for ring in self._failures.values():
            for failure in ring:
                if failure.number == number:
                    return failure.detail()
        return None

    @property
    def last_failure(self) -> int:
        """The newest one's number; 0 when there was none."""
        return max((ring[-1].number for ring in self._failures.values()), default=0)

    def summary(self, state: GatewayState) -> Json:
        """Everything but the curves and the failures."""
        now = int(self._clock())
        recent = [second for second in self._seconds if now - WINDOW_S <= second.at < now]
        # The running second is not over, and a gateway that just started has not had a minute.
        span = min(WINDOW_S, max(now - int(self.since), 1))
        verdicts = sum((second.verdicts for second in recent), Counter[str]())
        latency = [sum(column) for column in zip(*(s.latency for s in recent), strict=True)]
        return {
            "now": self._clock(),
            "since": self.since,
            "backend": state.backend,
            "state": "draining" if state.draining else "ready" if state.ready else "starting",
            "load": {
                "queued": state.queued,
                "running": state.running,
                "held_requests": state.held_requests,
                "max_requests": state.max_requests,
                "held_bytes": state.held_bytes,
                "max_bytes": state.max_bytes,
                "slots_total": state.slots_total,
                "slots_idle": state.slots_idle,
                "slots_busy": state.slots_busy,
                "slots_replacing": state.slots_replacing,
                "slots_replaced": state.slots_replaced,
                "slot_faults": state.slot_faults,
            },
            "totals": {
                "responses": self._verdicts.total(),
                "cases": self._cases,
                "cpu_s": round(self._cpu_time_s, 3),
                "verdicts": dict(self._verdicts),
            },
            "window": {
                "seconds": span,
                "responses_per_s": round(sum(s.responses for s in recent) / span, 3),
                "cases_per_s": round(sum(s.cases for s in recent) / span, 3),
                "verdicts": dict(verdicts),
                "latency_ms": {
                    f"p{round(share * 100)}": _ms(quantile(share, PAGE_LATENCY_S, latency))
                    for share in (0.5, 0.9, 0.99)
                },
                "latency_counts": latency or [0] * (len(PAGE_LATENCY_S) + 1),
            },
            "latency_bounds_ms": [bound * 1e3 for bound in PAGE_LATENCY_S],
            "clients": self._top_clients(),
        }

    def history(self) -> Json:
        """Curves: one number a second, the oldest first, up to the last second that is over."""
        end = int(self._clock())
        by_second = {second.at: second for second in self._seconds}
        nothing = _Second(0)
        seconds = [by_second.get(at, nothing) for at in range(end - HISTORY_S, end)]
        return {"end": end, **_curves(seconds)}

    def point(self) -> Json:
        """The last second that is over."""
        end = int(self._clock())
        last = next((s for s in reversed(self._seconds) if s.at == end - 1), _Second(0))
        return {"end": end, **{name: curve[0] for name, curve in _curves([last]).items()}}

    def _top_clients(self) -> list[Json]:
        now = self._clock()

        def rate(entry: _Client) -> float:
            return entry.rate * math.exp((entry.seen - now) / WINDOW_S)

        shown = sorted(self._clients.items(), key=lambda item: -rate(item[1]))[:SHOWN_CLIENTS]
        return [
            {
                "client": name,
                "responses": entry.responses,
                "accepted": entry.accepted,
                "faults": entry.faults,
                "cases": entry.cases,
                "cpu_s": round(entry.cpu_time_s, 3),
                "per_s": round(rate(entry), 3),
                "idle_s": round(max(now - entry.seen, 0.0), 1),
            }
            for name, entry in shown
        ]


def _curves(seconds: Iterable[_Second]) -> Json:
    names = ("responses", "cases", "queued", "busy")
    return {name: [getattr(second, name) for second in seconds] for name in names}


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e3, 2)


def _line(text: str) -> str:
    """The line of a message that says most: a compiler's first error, or an interpreter's last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "error:" in line]
    return (telling or lines[-1:] or [""])[0]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
