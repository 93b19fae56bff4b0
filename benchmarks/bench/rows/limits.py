"""Time limits: none too many under load, and little spent on a program that never ends."""

from __future__ import annotations

import collections
import json
from typing import Any

import grpc.aio

from benchmarks.bench.lab import Lab
from benchmarks.bench.values import Check, NotMeasuredError, Row, Series
from benchmarks.bench.work import CASES, ONE_CASE, TRUTH, distinct, fenced, python_call
from verifier.types import LimitOverrides
from verifier.v1 import verifier_pb2 as pb
from verifier.v1 import verifier_pb2_grpc as rpc

CPU_S, LIMIT_S, REPEATS = 0.4, 3.0, 10
BURN = f"""import time
while time.process_time() < {CPU_S}:
    pass
print(sum(map(int, input().split())))
"""
HITS, LIMITS_SPENT = 2, 2.2
ENDLESS = "while True:\n    pass\n"


async def time_limits(lab: Lab) -> list[Row]:
    """Programs that need a part of their limit, all sent at once, again and again."""
    programs, repeats = lab.options.sizes.programs, lab.options.sizes.repeats
    checks, seconds = [], []
    for turn, backend in enumerate(lab.options.backends):
        # Eight seconds each on two cores: the second backend is not worth ten of them.
        times = repeats if turn == 0 or lab.options.long else 1
        try:
            client = await lab.client(backend)
        except NotMeasuredError as reason:
            checks.append(Check(backend, "", None, str(reason)))
            continue
        found: collections.Counter[str] = collections.Counter()
        took = []
        for _ in range(times):
            calls = [
                python_call(ONE_CASE, source=BURN, limits=LimitOverrides(cpu_time_s=LIMIT_S))
                for _ in range(programs)
            ]
            results = await client.score_many(calls)
            found.update(result.status.value if result.status else "none" for result in results)
            took.append(max(result.timing.total_s for result in results))
        seconds.append(Series(backend, "s", tuple(took)))
        others = found.copy()
        del others["ACCEPTED"]
        value = f"{sum(others.values())} of {programs * times} in {times} repeats"
        if others:
            checks.append(Check(backend, f"{value}: {_counts(others)}", ok=False))
        elif times < REPEATS:
            checks.append(
                Check(backend, "", None, f"{value}, and {REPEATS} are asked for (--long)")
            )
        else:
            checks.append(Check(backend, value, ok=True))
    return [
        Row(
            key="time-limits",
            work=f"{programs} programs of {CPU_S} s CPU at once, {LIMIT_S:g} s limit",
            target=f"0 false time limits; {REPEATS} repeats",
            checks=tuple(checks),
            series=tuple(seconds),
            notes=("seconds until the last of a repeat is scored",),
        )
    ]


async def endless(lab: Lab) -> list[Row]:
    """CPU spent on a program that hits its limit in every case, over the wire as anyone may."""
    limit_s = lab.options.sizes.endless_limit_s
    request = pb.ScoreRequest(
        response=fenced(distinct(ENDLESS)).encode(),
        ground_truth=json.dumps(TRUTH).encode(),
        limits=pb.Limits(cpu_time_s=limit_s),
        score_policy=pb.ScorePolicy(max_time_limit_hits=HITS),
        no_cache=True,
    )
    facts: dict[str, object] = {}
    try:
        gateway = await lab.gateway("namespaces")
        async with grpc.aio.insecure_channel(gateway.target) as channel:
            call = rpc.VerifierStub(channel).Score
            answer, seen = await gateway.cpu_of(_answer(call, request, 60 * limit_s))
        # The slots' own accounts, as far as the answer has them; whatever is more.
        told = sum(case.cpu_time_s for case in answer.cases)
        spent = max(seen, told)
        statuses = collections.Counter(pb.Status.Name(case.status)[7:] for case in answer.cases)
        facts = {
            "limit_s": limit_s,
            "statuses": dict(statuses),
            "cpu_seen_s": seen,
            "cpu_told_s": told,
            "wall_s": answer.timing.total_s,
        }
        took = f"{spent / limit_s:.2f} limits of CPU"
        check = Check("", f"{took} ({_counts(statuses)})", spent <= LIMITS_SPENT * limit_s)
    except NotMeasuredError as reason:
        check = Check("", "", None, str(reason))
    except grpc.aio.AioRpcError as error:
        check = Check("", "", None, f"{error.code().name}: {error.details()}")
    return [
        Row(
            key="endless",
            work=f"a program endless on all of {CASES} cases, limit 10 s, "
            f"`max_time_limit_hits` {HITS}",
            target=f"<= {LIMITS_SPENT} limits of CPU time",
            checks=(check,),
            # An engine's containers are no children of the gateway: so it is namespaces' alone.
            notes=(f"namespaces; a limit of {limit_s:g} s; CPU of the gateway and all it started",),
            facts=facts,
        )
    ]


async def _answer(call: Any, request: pb.ScoreRequest, timeout_s: float) -> pb.ScoreResponse:
    answer: pb.ScoreResponse = await call(request, timeout=timeout_s)
    return answer


def _counts(found: collections.Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(found.items()))
