"""The burst of an RL step on 1 to 1,000 hosts, by four ways of choosing a host.

    python -m benchmarks.scale [--hosts 1,10,100,1000] [--responses 100000] [--slots 2] [--seed 1]
                               [--fails-every-s 7200] [--json FILE] [--markdown docs/scale.md]

Prints two tables, without failures and with them: makespan, p50 and p99 of a response, bytes of
suites that were sent, and what was done again; before them what the model was fitted to. The same
seed gives the same tables, on every machine. `--markdown` writes between the marks of that page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.bench.report import write_section
from benchmarks.bench.values import number, percentile
from benchmarks.scale.model import Capacity, Figure, measured
from benchmarks.scale.policies import POLICIES
from benchmarks.scale.simulate import Cluster, simulate
from benchmarks.scale.work import Burst, Job

WRITER = "benchmarks/scale"
HOUR_S = 3600
TARGETS = (1_000_000, 100_000_000)
# Of a steady load: below it a queue stays short, and one host in five may be away.
UTILIZATION = 0.6
# Responses for each host at most: 100,000 keep one busy for five hours and show nothing new.
PER_HOST = 2000


@dataclass(frozen=True, slots=True)
class Row:
    """One simulated burst.

    Attributes:
        hosts: How many.
        responses: Of the burst.
        policy: How a host is chosen.
        failing: Whether hosts fail.
        makespan_s: Until the last answer.
        ideal_s: All slot seconds over all slots: no makespan is below it, nor below the longest.
        p50_s: From a response's arrival to its answer.
        p99_s: The same.
        sent_bytes: Of suites.
        failures: Of hosts.
        sent_again: Responses, for a failure.
        redone: Of the slot seconds used, the share whose results were lost.
    """

    hosts: int
    responses: int
    policy: str
    failing: bool
    makespan_s: float
    ideal_s: float
    p50_s: float
    p99_s: float
    sent_bytes: int
    failures: int
    sent_again: int
    redone: float


def row(cluster: Cluster, jobs: Sequence[Job], policy: str, seed: int) -> Row:
    """One burst, simulated.

    Raises:
        RuntimeError: A response was not answered exactly once.
    """
    found = simulate(cluster, jobs, policy, seed)
    if set(found.answers) != {1}:
        raise RuntimeError("a response was not answered once: the simulation is wrong")
    return Row(
        cluster.hosts,
        len(jobs),
        policy,
        cluster.fails_every_s is not None,
        found.makespan_s,
        sum(job.slot_s for job in jobs) / (cluster.hosts * cluster.slots),
        percentile(found.response_s, 50),
        percentile(found.response_s, 99),
        found.sent_bytes,
        found.failures,
        found.sent_again,
        found.lost_s / found.busy_s,
    )


def rows(options: argparse.Namespace, capacity: Capacity) -> list[Row]:
    """All bursts of both tables; where hosts are as many, the jobs are the same."""
    found = []
    for fails_every_s in (None, options.fails_every_s):
        for hosts in options.hosts:
            burst = Burst(min(options.responses, PER_HOST * hosts))
            jobs = burst.jobs(capacity, options.clients, options.seed)
            cluster = Cluster(hosts, options.slots, options.clients, fails_every_s=fails_every_s)
            # With one host there is nothing to choose.
            for policy in POLICIES if hosts > 1 else list(POLICIES)[:1]:
                found.append(row(cluster, jobs, policy, options.seed))
                print(line(found[-1]), file=sys.stderr, flush=True)
    return found


def line(found: Row) -> str:
    """One row of a table."""
    policy = found.policy if found.hosts > 1 else "any"
    cells = [f"{found.hosts:,}", f"{found.responses:,}", policy]
    cells += map(number, (found.makespan_s, found.p50_s, found.p99_s))
    cells += [number(found.sent_bytes / 1e9)]
    if found.failing:
        cells += [str(found.failures), f"{found.sent_again:,}", f"{100 * found.redone:.2f}"]
    return "| " + " | ".join(cells) + " |"


def table(found: Sequence[Row]) -> str:
    """Of one kind: all with failures, or all without."""
    heads = ["hosts", "responses", "policy", "makespan, s", "p50, s", "p99, s", "suites sent, GB"]
    if found[0].failing:
        heads += ["failures", "sent again", "redone, %"]
    rule = "|" + "---|" * len(heads)
    return "\n".join(["| " + " | ".join(heads) + " |", rule, *map(line, found)]) + "\n"


def fitted(capacity: Capacity, figures: Sequence[Figure]) -> str:
    """The fit, and how far each figure is from it."""
    response_ms, case_ms = 1000 * capacity.response_s, 1000 * capacity.case_s
    fit = f"{response_ms:.2f} ms a response and {case_ms:.2f} ms a case"
    lines = [
        f"Fitted: {fit}, plus the CPU time of the programs.",
        "",
        "| figure | cases | programs' CPU, ms | measured, slot ms | model, slot ms | error, % |",
        "|---|---|---|---|---|---|",
    ]
    for figure in figures:
        model_s = capacity.slot_s(figure.cases, figure.cpu_s)
        lines.append(
            f"| {figure.name} | {figure.cases} | {1000 * figure.cpu_s:.0f} "
            f"| {1000 * figure.slot_s:.1f} | {1000 * model_s:.1f} "
            f"| {100 * (model_s / figure.slot_s - 1):+.1f} |"
        )
    return "\n".join(lines) + "\n"


def deployments(capacity: Capacity, mean_s: float, slots: int) -> str:
    """Slots and hosts for each of `TARGETS`, for plain work and for the burst's."""
    heads = ["responses an hour", "a second", "work", "slot s a response", "slots busy"]
    heads += ["slots to deploy", f"hosts of {slots}"]
    lines = [
        "| " + " | ".join(heads) + " |",
        "|---|---|---|---|---|---|---|",
    ]
    plain_s = capacity.slot_s(Burst().cases, 0.0)
    for target in TARGETS:
        for name, slot_s in (("ten quick cases", plain_s), ("the burst's", mean_s)):
            rate = target / HOUR_S
            deployed = capacity.slots_for(rate, slot_s, UTILIZATION)
            lines.append(
                f"| {target:,} | {number(rate)} | {name} | {slot_s:.3f} "
                f"| {number(rate * slot_s)} | {deployed:,} | {-(-deployed // slots):,} |"
            )
    return "\n".join(lines) + "\n"


def parser() -> argparse.ArgumentParser:
    """Of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--hosts",
        type=lambda text: [int(part) for part in text.split(",")],
        default="1,10,100,1000",
    )
    made.add_argument("--responses", type=int, default=100_000)
    made.add_argument("--slots", type=int, default=2)
    made.add_argument("--clients", type=int, default=16)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--fails-every-s", type=float, default=7200.0)
    made.add_argument("--json", type=Path)
    made.add_argument("--markdown", type=Path)
    return made


def main(argv: Sequence[str] | None = None) -> None:
    """See the module."""
    options = parser().parse_args(argv)
    capacity, figures = measured()
    found = rows(options, capacity)
    most = max(found, key=lambda one: one.responses)
    mean_s = most.ideal_s * options.slots * most.hosts / most.responses
    parts = [
        fitted(capacity, figures),
        deployments(capacity, mean_s, options.slots),
        f"Hosts that do not fail; a mean of {mean_s:.3f} slot seconds a response:\n",
        table([one for one in found if not one.failing]),
        f"Each host fails every {options.fails_every_s:g} s on average:\n",
        table([one for one in found if one.failing]),
    ]
    section = "\n".join(parts)
    print(section)
    if options.markdown is not None:
        write_section(options.markdown, section, WRITER)
    if options.json is not None:
        answer = {
            "seed": options.seed,
            "capacity": asdict(capacity),
            "figures": [asdict(figure) for figure in figures],
            "burst": asdict(Burst(options.responses)),
            "cluster": {
                "slots": options.slots,
                "clients": options.clients,
                "fails_every_s": options.fails_every_s,
            },
            "slot_s_mean": mean_s,
            "rows": [asdict(one) for one in found],
        }
        options.json.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
