"""What a long queue costs, and what it does to a request of higher priority.

    python benchmarks/queued_requests.py [--queued 10000] [--response-bytes 2000] [--probes 200]
                                         [--truth-bytes 2000] [--backend namespaces] [--json FILE]

Starts a gateway of its own, fills it over many streams with responses of ten cases of about 10 ms
each, and sends requests of a higher priority over another connection meanwhile. Prints the memory
of the gateway's process over its idle memory for each queued request, and the latency of the others
in cases of the queued programs. Every queued response is another program; every eight of them have
another suite.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import grpc.aio

from verifier.client import AsyncClient
from verifier.types import Result
from verifier.v1 import verifier_pb2 as pb
from verifier.v1 import verifier_pb2_grpc as rpc

MIB = 1024 * 1024
PER_STREAM = 256
CASES = 10
GROUP = 8
# All is read when memory has not grown for so many half seconds.
STILL = 6


def rss_bytes(pid: int) -> int:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def queued_request(number: int, response_bytes: int, truth_bytes: int) -> pb.ScoreRequest:
    """One that waits."""
    program = f"# {number}\nn = len(input())\nfor _ in range(120000):\n    n += 1\nprint(n)\n"
    pad = "x" * (truth_bytes // CASES)
    suite = {
        "inputs": [f"{number // GROUP} {i} {pad}\n" for i in range(CASES)],
        "outputs": [f"{pad}\n" for _ in range(CASES)],
    }
    text = ("I think. " * (1 + response_bytes // 9))[:response_bytes]
    return pb.ScoreRequest(
        request_id=str(number),
        client_id="offline",
        response=f"{text}\n```python\n{program}```".encode(),
        ground_truth=json.dumps(suite).encode(),
    )


async def fill(
    address: str, first: int, count: int, sent: list[int], args: argparse.Namespace
) -> None:
    """Keep one stream's requests in the gateway until cancelled."""
    async with grpc.aio.insecure_channel(
        address, options=(("grpc.use_local_subchannel_pool", 1),)
    ) as channel:

        async def requests() -> AsyncIterator[pb.ScoreRequest]:
            for number in range(first, first + count):
                yield queued_request(number, args.response_bytes, args.truth_bytes)
                sent.append(number)
            await asyncio.Event().wait()

        async for _ in rpc.VerifierStub(channel).ScoreStream(requests()):
            pass


async def measure(args: argparse.Namespace) -> dict[str, object]:
    """Fill a gateway and probe it."""
    env = dict(os.environ, VERIFIER_MAX_QUEUE=str(args.queued + 1000))
    gateway = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "verifier", "serve", "--grpc", "127.0.0.1:0"),
        *("--backend", args.backend, *(f"--accept={name}" for name in args.accept)),
        env=env,
        stdout=asyncio.subprocess.PIPE,
    )
    assert gateway.stdout is not None
    fillers: list[asyncio.Task[None]] = []
    try:
        address = (await gateway.stdout.readline()).decode().split()[-1]
        async with AsyncClient(address, client_id="trainer") as client:
            alone = [await timed(client, number) for number in range(args.probes)]
            idle = rss_bytes(gateway.pid)
            sent: list[int] = []
            for first in range(0, args.queued, PER_STREAM):
                count = min(PER_STREAM, args.queued - first)
                fillers.append(asyncio.create_task(fill(address, first, count, sent, args)))
            most = idle
            still = 0
            while len(sent) < args.queued or still < STILL:
                await asyncio.sleep(0.5)
                now = rss_bytes(gateway.pid)
                still = still + 1 if now < most + MIB / 4 else 0
                most = max(most, now)
            probes = [await timed(client, -1 - number) for number in range(args.probes)]
            most = max(most, rss_bytes(gateway.pid))
            case_s = await one_case(client)
    finally:
        for filler in fillers:
            filler.cancel()
        await asyncio.gather(*fillers, return_exceptions=True)
        gateway.terminate()
        await gateway.wait()
    late = sorted(latency for latency, _ in probes)
    late_queue = sorted(result.timing.queue_s for _, result in probes)
    at = min(len(late) - 1, int(0.99 * len(late)))
    p99_s = late[at]
    return {
        "queued": args.queued,
        "idle_mib": idle / MIB,
        "over_idle_mib": (most - idle) / MIB,
        "bytes_each": (most - idle) / args.queued,
        "alone_p50_ms": statistics.median(latency for latency, _ in alone) * 1e3,
        "p50_ms": statistics.median(late) * 1e3,
        "p99_ms": p99_s * 1e3,
        "max_ms": late[-1] * 1e3,
        "waited_p99_ms": late_queue[at] * 1e3,
        "case_ms": case_s * 1e3,
        "p99_in_cases": p99_s / case_s,
    }


async def timed(client: AsyncClient, number: int) -> tuple[float, Result]:
    """Latency of one request of higher priority, for a program that nobody has seen."""
    probe = f"```python\n# {number}\nprint(input())\n```"
    truth = {"inputs": ["1\n"], "outputs": ["1\n"]}
    loop = asyncio.get_running_loop()
    began = loop.time()
    result = await client.score(probe, truth, priority=10)
    if result.score != 1.0:
        raise RuntimeError(f"a probe was not scored as it should be: {result}")
    return loop.time() - began, result


async def one_case(client: AsyncClient) -> float:
    """Wall seconds of one case of a queued program, while the others run."""
    request = queued_request(0, 100, 100)
    result = await client.score(
        request.response, request.ground_truth, priority=10, request_id="case"
    )
    return statistics.median(case.wall_time_s for case in result.cases)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--queued", type=int, default=10_000)
    parser.add_argument("--response-bytes", type=int, default=2000)
    parser.add_argument("--truth-bytes", type=int, default=2000)
    parser.add_argument("--probes", type=int, default=200)
    parser.add_argument("--backend", default="namespaces")
    parser.add_argument("--accept", action="append", default=[])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = asyncio.run(measure(args))
    for name, value in found.items():
        print(f"{name:<16} {value:.2f}" if isinstance(value, float) else f"{name:<16} {value}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
