"""The burst of an RL step: what arrives when, and how long each takes.

Responses come in groups of one prompt, so of one suite; they arrive in any order, since rollouts
end when they end. A program that halts takes CPU time from a Pareto distribution, the same for each
of its cases; some never halt, and cost as many time limits as the score policy counts.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from benchmarks.scale.model import Capacity

MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Suite:
    """A ground truth.

    Attributes:
        number: Which.
        size_bytes: On the wire.
    """

    number: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Job:
    """One response.

    Attributes:
        due_s: When it is there to be scored, from the start.
        slot_s: How long it holds a slot.
        suite: What it is scored against; None costs nothing to send.
        client: Which client has it.
    """

    due_s: float
    slot_s: float
    suite: Suite | None = None
    client: int = 0


@dataclass(frozen=True, slots=True)
class Burst:
    """One step. All of these are assumptions, not measurements.

    Attributes:
        responses: How many.
        seconds: Within which they arrive, uniformly.
        group: Responses of one suite.
        cases: Of a suite.
        shortest_s: CPU time of the quickest case.
        tail: The exponent of the Pareto distribution: the smaller, the heavier.
        time_limit_s: CPU time that a case may take.
        limit_hits: Time limits after which the rest is skipped (`max_time_limit_hits` in training).
        endless: Share of programs that never halt.
        suite_bytes: Median size of a suite.
        suite_spread: Standard deviation of the sizes' logarithm (log-normal).
    """

    responses: int = 100_000
    seconds: float = 5.0
    group: int = 16
    cases: int = 10
    shortest_s: float = 0.005
    tail: float = 1.5
    time_limit_s: float = 5.0
    limit_hits: int = 2
    endless: float = 0.02
    suite_bytes: int = MB // 2
    suite_spread: float = 1.2

    def cpu_s(self, rng: random.Random) -> float:
        """CPU time of all cases of one response."""
        most = self.time_limit_s * self.limit_hits
        if rng.random() < self.endless:
            return most
        case_s = self.shortest_s * rng.paretovariate(self.tail)
        return min(most, case_s * self.cases)

    def jobs(self, capacity: Capacity, clients: int, seed: int) -> list[Job]:
        """The responses by their arrival; a group belongs to one client."""
        rng = random.Random(seed)  # noqa: S311 - a simulation
        spread = self.suite_spread
        suites = [
            Suite(number, round(self.suite_bytes * rng.lognormvariate(0.0, spread)))
            for number in range(-(-self.responses // self.group))
        ]
        jobs = [
            Job(
                rng.uniform(0.0, self.seconds),
                capacity.slot_s(self.cases, self.cpu_s(rng)),
                suites[index // self.group],
                index // self.group % clients,
            )
            for index in range(self.responses)
        ]
        return sorted(jobs, key=lambda job: job.due_s)
