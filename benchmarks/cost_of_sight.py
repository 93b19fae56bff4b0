"""What it costs to see: CPU time of the event loop for a response that is watched.

    python benchmarks/cost_of_sight.py

For responses of 1, 10 and 100 cases: metrics, metrics and the page, both and an access line, in us
of the loop's thread beside the same call unwatched. The line is written by another thread.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from verifier.gateway.sight import Sight, note, watched
from verifier.telemetry import logs
from verifier.telemetry.board import Board
from verifier.telemetry.metrics import ServerMetrics
from verifier.telemetry.state import GatewayState
from verifier.types import CaseResult, Extraction, Outcome, Result, Status, Timing

ROUNDS, CALLS = 12, 1000


@dataclass
class Request:
    """What a request is known by."""

    request_id: str = "step-17/4"
    client_id: str = "trainer"


class Service:
    """An operation that does nothing."""

    sight: Sight | None = None

    @watched
    async def score(self, request: Request, result: Result) -> Result:
        """The answer that it was given."""
        del request
        note(result)
        return result


def response(cases: int, wrong: int | None) -> Result:
    """A scored response; its case `wrong` failed."""
    statuses = [
        Status.WRONG_ANSWER if index == wrong else Status.ACCEPTED for index in range(cases)
    ]
    return Result(
        Outcome.SCORED,
        score=0.5,
        status=Status.ACCEPTED if wrong is None else Status.WRONG_ANSWER,
        passed=statuses.count(Status.ACCEPTED),
        total=cases,
        cases=tuple(
            CaseResult(i, s, cpu_time_s=0.003, wall_time_s=0.004, memory_bytes=9 << 20)
            for i, s in enumerate(statuses)
        ),
        extraction=Extraction("python", 0, 1, "the only block"),
        timing=Timing(queue_s=0.01, cpu_time_s=0.003 * cases),
    )


async def microseconds(service: Service, result: Result) -> float:
    """Of one call, in the best of the rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.thread_time()
        for _ in range(CALLS):
            await service.score(Request, result)
        best = min(best, (time.thread_time() - started) / CALLS)
        await asyncio.sleep(0.05)  # lets the log's thread write
    return best * 1e6


def _nowhere() -> TextIO:
    return Path("/dev/null").open("w", encoding="utf-8")


async def main() -> None:
    """Measure and print."""
    service = Service()
    print(f"{'':24}{'metrics':>10}{'page':>10}{'line':>10}   us a response")
    with _nowhere() as nowhere:
        for cases, wrong in ((1, None), (10, None), (10, 3), (100, None)):
            result = response(cases, wrong)
            row = []
            service.sight = None
            bare = await microseconds(service, result)
            metrics = ServerMetrics(GatewayState)
            for sight in (Sight(metrics), Sight(metrics, Board())):
                service.sight = sight
                row.append(await microseconds(service, result) - bare)
            with logs.configure("json", "info", nowhere):
                row.append(await microseconds(service, result) - bare)
            name = f"{cases} cases, " + ("accepted" if wrong is None else "one wrong")
            print(f"{name:24}" + "".join(f"{value:10.1f}" for value in row))


if __name__ == "__main__":
    asyncio.run(main())
