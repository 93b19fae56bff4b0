"""One and two gateways, measured, and what the model says of them.

    python -m benchmarks.scale.measure [--count 400] [--backend namespaces] [--slots 1]
                                       [--accept a,b] [--rows FILE] [--json FILE]

Measures with `benchmarks/two_gateways.py`: real gateways, one batch, nothing killed. Or takes what
that wrote with --json (`--rows FILE`; then --count and --slots have to be that run's). Each is held
against the simulation of the same batch: once with the constants fitted to docs/performance.md, and
once with the work of a response taken from the measured one-gateway batch, so that only the step
from one gateway to two is predicted. On one machine with two cores the second gateway takes cores
from the client and the first: the error has that in it. The machine has to be quiet.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import two_gateways
from benchmarks.bench import machine
from benchmarks.bench.gateways import Gateway
from benchmarks.bench.work import CASES
from benchmarks.scale.model import measured
from benchmarks.scale.simulate import Cluster, simulate
from benchmarks.scale.work import Job

# What one client of ours has in flight by default.
IN_FLIGHT = 128


@dataclass(frozen=True, slots=True)
class Compared:
    """One batch.

    Attributes:
        gateways: How many.
        basis: Where the work of a response is from.
        measured_s: For the batch.
        model_s: The same by the model.
    """

    gateways: int
    basis: str
    measured_s: float
    model_s: float

    @property
    def error(self) -> float:
        """Relative to what was measured; above 0 where the model is too slow."""
        return self.model_s / self.measured_s - 1


def predicted_s(gateways: int, slots: int, count: int, slot_s: float) -> float:
    """The time of a batch that is there at once, by two choices as the client chooses."""
    cluster = Cluster(gateways, slots, clients=1, max_in_flight=IN_FLIGHT)
    return simulate(cluster, [Job(0.0, slot_s)] * count, "two choices").makespan_s


def compare(one_s: float, two_s: float, count: int, slots: int) -> list[Compared]:
    """Both batches on both bases; the one that a basis was taken from is left out.

    Args:
        one_s: What the batch took through one gateway.
        two_s: Through two.
        count: Responses of it, ten cases each.
        slots: Of each gateway.
    """
    fitted_s = measured()[0].slot_s(CASES, 0.0)
    from_one_s = one_s * slots / count
    return [
        Compared(1, "docs/performance.md", one_s, predicted_s(1, slots, count, fitted_s)),
        Compared(2, "docs/performance.md", two_s, predicted_s(2, slots, count, fitted_s)),
        Compared(2, "one gateway", two_s, predicted_s(2, slots, count, from_one_s)),
    ]


async def batch_s(options: argparse.Namespace, gateways: int) -> float:
    """What the batch takes through so many gateways of their own.

    Raises:
        RuntimeError: A response was lost, scored wrongly or answered twice.
    """
    async with contextlib.AsyncExitStack() as stack:
        started = [
            await stack.enter_async_context(
                Gateway(options.backend, slots=options.slots, accept=options.accept)
            )
            for _ in range(gateways)
        ]
        name = f"{gateways} gateways"
        found = await two_gateways.score(name, started, options.count, kill=None)
    if not found.ok:
        raise RuntimeError(f"not a measurement: {two_gateways.line(found)}")
    return found.seconds


def table(found: Sequence[Compared]) -> str:
    """For people."""
    lines = ["| gateways | basis | measured, s | model, s | error, % |", "|---|---|---|---|---|"]
    lines += [
        f"| {one.gateways} | {one.basis} | {one.measured_s:.2f} | {one.model_s:.2f} "
        f"| {100 * one.error:+.1f} |"
        for one in found
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale.measure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--backend", default="namespaces")
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--accept", default="")
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    # The machine of rows that were measured before is in their own file.
    described: object = None
    if options.rows is None:
        described = machine.describe()
        times = [asyncio.run(batch_s(options, gateways)) for gateways in (1, 2)]
    else:
        rows = json.loads(options.rows.read_text(encoding="utf-8"))["rows"]
        seconds = {row["name"]: row["seconds"] for row in rows}
        times = [seconds["one gateway"], seconds["two gateways"]]
    found = compare(times[0], times[1], options.count, options.slots)
    print(table(found))
    if options.json is not None:
        batches = [{**asdict(one), "error": one.error} for one in found]
        answer = {"machine": described, "count": options.count, "batches": batches}
        options.json.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
