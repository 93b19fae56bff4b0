"""One batch through one gateway, through two, and through two of which one is killed midway.

    python benchmarks/two_gateways.py [--count 400] [--backend namespaces] [--slots 1]
                                      [--hedge-after-s S] [--accept a,b] [--json FILE]

Real gateways, each `verifier serve` in a process of its own with its own sandbox, and one client.
Half of the responses are right and half are wrong, so every score is known beforehand. The gateway
is killed with SIGKILL once half of the batch was sent. Prints how many were answered, sent again,
lost (no score), wrong, and answered twice. Exits with 1 unless the last three are 0.

On one machine two gateways share the cores: their throughput says what the client costs, not what a
second machine gives.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.bench import machine
from benchmarks.bench.gateways import Gateway
from benchmarks.bench.work import PROGRAM, TRUTH, distinct, fenced
from verifier.client import AsyncClient, ClientCounts, ScoreCall
from verifier.types import Outcome, Result

WRONG = "print(-1)\n"
LOOK_S = 0.005


@dataclass(frozen=True, slots=True)
class Row:
    """How one batch went.

    Attributes:
        name: What was done.
        answered: Responses with a score.
        sent_again: Requests for a response that had been sent before.
        hedged: Second requests for a late one.
        lost: Responses without a score.
        wrong: Scores that are not the known ones.
        twice: Answers beyond one for a response.
        seconds: For the batch.
    """

    name: str
    answered: int
    sent_again: int
    hedged: int
    lost: int
    wrong: int
    twice: int
    seconds: float

    @property
    def ok(self) -> bool:
        """Nothing is missing, wrong or double."""
        return not (self.lost or self.wrong or self.twice)


def batch(count: int) -> tuple[list[ScoreCall], list[float]]:
    """Responses, and their scores."""
    calls, scores = [], []
    for index in range(count):
        right = index % 2 == 0
        response = fenced(distinct(PROGRAM if right else WRONG))
        calls.append(ScoreCall(response, TRUTH, request_id=f"r{index}", no_cache=True))
        scores.append(1.0 if right else 0.0)
    return calls, scores


async def score(
    name: str, gateways: list[Gateway], count: int, *, kill: Gateway | None, **options: Any
) -> Row:
    """One batch through these gateways."""
    calls, scores = batch(count)
    async with AsyncClient([gateway.target for gateway in gateways], **options) as client:
        killer = asyncio.create_task(_kill_midway(client, kill, count))
        began = time.perf_counter()
        results = await client.score_many(calls)
        seconds = time.perf_counter() - began
        killer.cancel()
        return row(name, results, scores, client.counts(), seconds)


async def _kill_midway(client: AsyncClient, victim: Gateway | None, count: int) -> None:
    while victim is not None:
        if client.counts().sent >= count // 2:
            os.kill(victim.pid, signal.SIGKILL)
            return
        await asyncio.sleep(LOOK_S)


def row(
    name: str, results: list[Result], scores: list[float], counts: ClientCounts, seconds: float
) -> Row:
    """What came of it."""
    scored = [result.outcome is Outcome.SCORED for result in results]
    wrong = sum(
        there and result.score != score
        for result, score, there in zip(results, scores, scored, strict=True)
    )
    return Row(
        name,
        answered=sum(scored),
        sent_again=counts.sent_again,
        hedged=counts.hedged,
        lost=len(scores) - sum(scored),
        wrong=wrong,
        twice=max(0, counts.answered - len(scores)),
        seconds=seconds,
    )


async def measure(options: argparse.Namespace) -> list[Row]:
    """The three batches."""
    rows = []
    settings: dict[str, Any] = {"hedge_after_s": options.hedge_after_s}
    plan: list[tuple[str, int, bool]] = [
        ("one gateway", 1, False),
        ("two gateways", 2, False),
        ("two, one killed midway", 2, True),
    ]
    for name, count, kill in plan:
        async with contextlib.AsyncExitStack() as stack:
            gateways = [
                await stack.enter_async_context(
                    Gateway(options.backend, slots=options.slots, accept=options.accept)
                )
                for _ in range(count)
            ]
            victim = gateways[0] if kill else None
            rows.append(await score(name, gateways, options.count, kill=victim, **settings))
            print(line(rows[-1]), flush=True)
    return rows


def line(found: Row) -> str:
    """For people."""
    return (
        f"{found.name:<24} answered {found.answered:5}  sent again {found.sent_again:4}  "
        f"hedged {found.hedged}  "
        f"lost {found.lost}  wrong {found.wrong}  twice {found.twice}  "
        f"{found.seconds:6.2f} s  {found.answered / found.seconds:6.1f} responses/s"
    )


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--backend", default="namespaces")
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--hedge-after-s", type=float, default=None)
    parser.add_argument("--accept", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = asyncio.run(measure(options))
    if options.json is not None:
        found = {"machine": machine.describe(), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    sys.exit(0 if all(found.ok for found in rows) else 1)


if __name__ == "__main__":
    main()
