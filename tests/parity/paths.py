"""The three ways to a score: offline (the command line), through a gateway, and the fallback.

Each gives what a caller can see of a verdict, by row: times and messages may differ, these not.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verifier.client import Client, ScoreCall, no_retry_sleep
from verifier.config import Settings
from verifier.data import Row
from verifier.engine import Engine, make_sandbox
from verifier.errors import InfraError
from verifier.gateway import Gateway
from verifier.scoring import SandboxScorer
from verifier.types import Outcome, Result

NOBODY = "127.0.0.1:1"  # port 1 of the loopback: nobody listens there
AT_ONCE = 8


@dataclass(frozen=True)
class Verdict:
    """What has to be equal on all paths."""

    outcome: str
    score: float | None
    passed: int
    total: int
    status: str | None
    cases: tuple[str, ...]
    language: str | None
    block: int | None
    trust: str

    @staticmethod
    def of_result(result: Result) -> Verdict:
        found = result.extraction
        return Verdict(
            outcome=result.outcome.value,
            score=result.score,
            passed=result.passed,
            total=result.total,
            status=None if result.status is None else result.status.value,
            cases=tuple(case.status.value for case in result.cases),
            language=None if found is None else found.language,
            block=None if found is None else found.block_index,
            trust=result.trust.value,
        )

    @staticmethod
    def of_row(row: dict[str, Any]) -> Verdict:
        found = row["extraction"] or {}
        return Verdict(
            outcome=row["outcome"],
            score=row["score"],
            passed=row["passed"],
            total=row["total"],
            status=row["status"],
            cases=tuple(case["status"] for case in row["cases"]),
            language=found.get("language"),
            block=found.get("block_index"),
            trust=row["trust"],
        )


Verdicts = dict[str, Verdict]


def offline(
    rows: Path, results: Path, backend: str, *, accept: Iterable[str], image: str
) -> Verdicts:
    """`verifier score`; the results stay in their file."""
    command = [sys.executable, "-m", "verifier.cli", "score", str(rows), "-o", str(results)]
    command += ["--backend", backend]
    command += [part for name in accept for part in ("--accept", name)]
    command += ["--image", image] if backend == "docker" else []
    done = subprocess.run(command, capture_output=True, text=True, timeout=540, check=False)
    # 1: some row has no score, which is what the reports about broken data expect.
    assert done.returncode in (0, 1), done.stderr[-4000:]
    lines = results.read_text("ascii").splitlines()
    return {row["id"]: Verdict.of_row(row) for row in map(json.loads, lines)}


class Served:
    """A gateway on the loopback, with the embedded sandbox, on a thread of its own."""

    def __init__(self, backend: str, *, accept: Iterable[str]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.address = self._do(self._start(backend, frozenset(accept)))

    async def _start(self, backend: str, accept: frozenset[str]) -> str | None:
        engine = Engine(make_sandbox(backend, accept=accept), accept=accept)
        self._gateway = Gateway(engine, Settings(grpc="127.0.0.1:0"))
        return (await self._gateway.start()).grpc

    def close(self) -> None:
        self._do(self._gateway.stop(0))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def gateway(rows: list[Row], backend: str, *, accept: Iterable[str]) -> Verdicts:
    """The client's stream to a real gateway."""
    calls = [
        ScoreCall(
            response=row.response,
            ground_truth=row.ground_truth,
            language=row.language,
            limits=row.limits,
            request_id=row.id,
            data_source=row.data_source,
        )
        for row in rows
    ]
    served = Served(backend, accept=accept)
    try:
        with Client(served.address or "") as client:
            results = client.score_many(calls)
    finally:
        served.close()
    assert [result.request_id for result in results] == [row.id for row in rows]
    assert {result.scorer for result in results} == {"sandbox"}
    return {result.request_id: Verdict.of_result(result) for result in results}


def fallback(rows: list[Row], backend: str, *, accept: Iterable[str]) -> Verdicts:
    """A trainer's scorer whose gateway is dead."""

    async def score_all() -> list[Result]:
        scorer = SandboxScorer(NOBODY, backend=backend, accept=accept)
        free = asyncio.Semaphore(AT_ONCE)

        async def one(row: Row) -> Result:
            options = {"verifier": {"language": row.language, "limits": row.limits}}
            async with free:
                try:
                    return await scorer.ascore(
                        row.response, row.ground_truth, request_id=row.id, extra_info=options
                    )
                except InfraError as error:
                    return Result(Outcome.INFRA_ERROR, error=str(error), request_id=row.id)

        try:
            return await asyncio.gather(*map(one, rows))
        finally:
            await scorer.aclose()

    with no_retry_sleep():
        results = asyncio.run(score_all())
    scored = [result for result in results if result.outcome is Outcome.SCORED]
    assert {result.scorer for result in scored} == {"prime_code"}
    assert all(result.fallback for result in scored)
    return {result.request_id: Verdict.of_result(result) for result in results}
