"""Ten thousand requests at once: what the gateway holds, refuses, and gets done.

    python -m benchmarks.admission_burst [--requests 10000] [--max-queue 2000] [--mib 64]
                                         [--response-bytes 4000] [--backend namespaces]
                                         [--accept NAME,...]

Starts `verifier serve` with a small queue, and sends all requests as calls of their own, at once,
each with another program. A refused one waits for what the refusal's RetryInfo says (and full
jitter on top), and comes again until it is answered. Prints how many were refused, whether each
refusal said when to come back, and the most memory that the gateway had, beside the bound that its
settings state.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import grpc.aio
import psutil
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from verifier.v1 import verifier_pb2 as pb
from verifier.v1 import verifier_pb2_grpc as rpc

MIB = 1024 * 1024
CHANNELS = 20
# What one waiting request costs beside its program (the setting's description), and what a call
# costs that is open, whether it was refused a moment ago or waits: gRPC's and asyncio's objects.
WAITING_BYTES = 7 * 1024
CALL_BYTES = 40 * 1024
BASE_BYTES = 32 * MIB
MAX_JITTER_S = 30.0


@dataclass
class Seen:
    """What came of the requests."""

    attempts: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    without_retry_info: int = 0
    right: int = 0
    wrong: int = 0
    late_first_s: float = 0.0


def request_of(number: int, size: int) -> pb.ScoreRequest:
    """A request with a program of its own."""
    text = ("I think. " * (1 + size // 9))[:size]
    truth = {"inputs": [f"{number}\n"], "outputs": [f"{number + 1}\n"]}
    return pb.ScoreRequest(
        request_id=str(number),
        response=f"{text}\n```python\n# {number}\nprint(int(input()) + 1)\n```".encode(),
        ground_truth=json.dumps(truth).encode(),
    )


def retry_after_s(error: grpc.aio.AioRpcError) -> float | None:
    """What the refusal's RetryInfo says."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type] # of its stubs alone
    for detail in status.details if status is not None else ():
        info = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            return float(info.retry_delay.ToNanoseconds()) / 1e9
    return None


async def until_done(stub: rpc.VerifierStub, request: pb.ScoreRequest, seen: Seen) -> None:
    """One request, with its retries."""
    began = time.monotonic()
    refusals = 0
    while True:
        seen.attempts += 1
        try:
            answer = await stub.Score(request)
        except grpc.aio.AioRpcError as error:
            if not refusals:
                seen.late_first_s = max(seen.late_first_s, time.monotonic() - began)
            refusals += 1
            seen.codes[error.code().name] += 1
            if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            seen.refused += 1
            after = retry_after_s(error)
            seen.without_retry_info += after is None
            jitter_s = random.random() * min(MAX_JITTER_S, 2.0**refusals)  # noqa: S311 - no secret
            await asyncio.sleep((after or 0.5) + jitter_s)
            continue
        seen.right += answer.score == 1.0
        seen.wrong += answer.score != 1.0
        return


async def watch(pid: int, most: list[int]) -> None:
    """Keep the most resident memory that the process had."""
    process = psutil.Process(pid)
    while True:
        most[0] = max(most[0], process.memory_info().rss)
        await asyncio.sleep(0.05)


async def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--max-queue", type=int, default=2000)
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--response-bytes", type=int, default=4000)
    parser.add_argument("--backend", default="namespaces")
    parser.add_argument("--accept", default="")
    given = parser.parse_args()
    gateway = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "verifier.cli", "serve", "--grpc", "127.0.0.1:0"),
        *("--backend", given.backend, "--cache-dir", ""),
        *(("--accept", given.accept) if given.accept else ()),
        stdout=asyncio.subprocess.PIPE,
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "VERIFIER_MAX_QUEUE": str(given.max_queue),
            "VERIFIER_MAX_QUEUE_BYTES": str(given.mib * MIB),
        },
    )
    try:
        if gateway.stdout is None:
            raise RuntimeError("no output")
        address = (await gateway.stdout.readline()).decode().split()[-1]
        channels = [
            grpc.aio.insecure_channel(address, options=(("grpc.use_local_subchannel_pool", 1),))
            for _ in range(CHANNELS)
        ]
        stubs = [rpc.VerifierStub(channel) for channel in channels]
        await stubs[0].Score(request_of(-1, 10))
        most, seen = [0], Seen()
        watching = asyncio.create_task(watch(gateway.pid, most))
        await asyncio.sleep(0.2)
        idle = most[0]
        requests = [request_of(n, given.response_bytes) for n in range(given.requests)]
        size = max(request.ByteSize() for request in requests)
        began = time.monotonic()
        await asyncio.gather(
            *(until_done(stubs[n % CHANNELS], r, seen) for n, r in enumerate(requests))
        )
        took = time.monotonic() - began
        watching.cancel()
        for channel in channels:
            await channel.close(None)
    finally:
        if gateway.returncode is None:
            gateway.terminate()
        await gateway.wait()
    held = min(given.mib * MIB, given.max_queue * size)
    bound = idle + BASE_BYTES + held + given.max_queue * WAITING_BYTES + given.requests * CALL_BYTES
    rows = {
        "requests at once": given.requests,
        "answered, right": seen.right,
        "answered, wrong": seen.wrong,
        "calls in all": seen.attempts,
        "refused calls (RESOURCE_EXHAUSTED)": seen.refused,
        "of these without RetryInfo": seen.without_retry_info,
        "other errors": sum(seen.codes.values()) - seen.refused,
        "first refusals came within, s": round(seen.late_first_s, 2),
        "seconds until all were answered": round(took, 1),
        "gateway's memory before, MiB": idle // MIB,
        "its most, MiB": most[0] // MIB,
        "bound by its settings, MiB": bound // MIB,
    }
    for name, value in rows.items():
        print(f"{name:40}{value:>12}")
    if most[0] > bound or seen.right != given.requests or seen.without_retry_info:
        raise SystemExit("not as it should be")


if __name__ == "__main__":
    asyncio.run(main())
