"""Rows a second through actors that do nothing: as single tasks of actors, and as a Ray Data set.

    python -m benchmarks.ray_rows --rows 4000        # Ray Data wants pandas and pyarrow

What `verifier score --engine ray` was decided by (docs/cli.md): the first is what it does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pickle
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ray

from verifier.data import Row
from verifier.types import CaseResult, Outcome, Result, Status

_CASES = 10
_RESULT = pickle.dumps(
    Result(
        Outcome.SCORED,
        score=1.0,
        status=Status.ACCEPTED,
        passed=_CASES,
        total=_CASES,
        cases=tuple(CaseResult(i, Status.ACCEPTED) for i in range(_CASES)),
    )
)


def rows(count: int) -> Iterator[bytes]:
    """Pickled rows of ten small cases and a program of 400 characters."""
    truth = {"inputs": ["1\n"] * _CASES, "outputs": ["2\n"] * _CASES}
    for n in range(count):
        yield pickle.dumps(Row(n + 1, f"p{n}", "s", "```python\nprint(1)\n```" * 20, truth))


class Single:
    """An actor that takes a row."""

    async def score(self, row: bytes) -> bytes:
        """Read it, and answer."""
        pickle.loads(row)  # noqa: S301 - our own
        return _RESULT


class Blocks:
    """An actor that takes a block."""

    def __call__(self, block: dict[str, Any]) -> dict[str, Any]:
        """Read its rows, and answer."""
        for row in block["row"]:
            pickle.loads(row)  # noqa: S301 - our own
        return {"result": [_RESULT] * len(block["row"])}


def as_tasks(count: int, in_flight: int) -> float:
    """Two actors, each row a task; returns when the first result was there."""

    async def run() -> float:
        actors = [ray.remote(Single).options(max_concurrency=1000).remote() for _ in range(2)]
        free, began = asyncio.Semaphore(in_flight), time.monotonic()
        first: list[float] = []
        tasks = set()

        async def one(n: int, row: bytes) -> None:
            pickle.loads(await actors[n % 2].score.remote(row))  # noqa: S301 - our own
            first.append(time.monotonic() - began)
            free.release()

        for n, row in enumerate(rows(count)):
            await free.acquire()
            tasks.add(task := asyncio.create_task(one(n, row)))
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
        for actor in actors:
            ray.kill(actor)
        return min(first)

    return asyncio.run(run())


def as_data(count: int, block: int) -> float:
    """Two actors of a Ray Data set, in order; returns when the first result was there."""
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    began, first = time.monotonic(), None
    made = ray.data.from_items(
        [{"row": row} for row in rows(count)], override_num_blocks=max(1, count // block)
    )
    for one in made.map_batches(Blocks, batch_size=block, concurrency=2).iter_rows():
        pickle.loads(one["result"])  # noqa: S301 - our own
        first = first or time.monotonic() - began
    return first or 0.0


def measure(name: str, count: int, run: Callable[[], float]) -> None:
    """Print a line: rows a second, when the first was there, the driver's CPU."""
    began, cpu = time.monotonic(), time.process_time()
    first = run()
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    print(
        f"{name}: {count / seconds:.0f} rows/s, the first after {first:.2f} s, "
        f"{1000 * cpu / count:.2f} ms of the driver's core a row",
        flush=True,
    )


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=4000)
    count = parser.parse_args().rows
    path = str(Path(__file__).parents[1])
    ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": f"{path}:{os.environ.get('PYTHONPATH', '')}"}},
    )
    for in_flight in (8, 64):
        measure(f"tasks, {in_flight} in flight", count, lambda n=in_flight: as_tasks(count, n))
    for block in (8, 64):
        measure(f"Ray Data, blocks of {block}", count, lambda n=block: as_data(count, n))
    ray.shutdown()


if __name__ == "__main__":
    main()
