"""How soon a cancelled call's program is dead, and its slot free.

    python -m benchmarks.cancellation [--backend namespaces] [--runs 50]

A gateway with one slot in this process; a program without an end is started over gRPC, its call is
cancelled, and the clock runs until the program's process is gone, and until the slot is idle.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time

import grpc.aio
import psutil

from verifier.config import load_settings
from verifier.engine import Engine, engine_of, make_sandbox
from verifier.gateway import Gateway
from verifier.v1 import verifier_pb2 as pb
from verifier.v1 import verifier_pb2_grpc as rpc

NAME = "endless-bench"
PROGRAM = f"import ctypes\nctypes.CDLL(None).prctl(15, {NAME.encode()!r})\nwhile True: pass"
STEP_S = 0.001


def find() -> psutil.Process | None:
    """The program's process."""
    return next((p for p in psutil.process_iter(["name"]) if p.info["name"] == NAME), None)


async def one(stub: rpc.VerifierStub, engine: Engine) -> tuple[float, float]:
    """Seconds until the process is gone, and until the slot is idle."""
    request = pb.RunRequest(source=pb.Source(language="python", source=PROGRAM.encode()))
    call = stub.Run(request)
    while (process := find()) is None:  # noqa: ASYNC110 - it is in no loop of ours
        await asyncio.sleep(STEP_S)
    start = time.perf_counter()
    call.cancel()
    dead = idle = 0.0
    while not dead or not idle:
        if not dead and not process.is_running():
            dead = time.perf_counter() - start
        if not idle and engine.load().slots_idle == 1:
            idle = time.perf_counter() - start
        await asyncio.sleep(STEP_S)
    return dead, idle


async def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="namespaces")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--accept", default="")
    given = parser.parse_args()
    flags = {"backend": given.backend, "slots": 1, "grpc": "127.0.0.1:0", "accept": given.accept}
    settings = load_settings(None, flags, env={}).settings
    engine = engine_of(settings, make_sandbox(settings.backend, accept=settings.accept))
    gateway = Gateway(engine, settings)
    bound = await gateway.start()
    try:
        async with grpc.aio.insecure_channel(bound.grpc) as channel:
            stub = rpc.VerifierStub(channel)
            found = [await one(stub, engine) for _ in range(given.runs)]
    finally:
        await gateway.stop(0)
    print(f"{given.backend}, {given.runs} runs, ms after the client's cancel  median   p95   max")
    for what, values in zip(("process gone", "slot idle"), zip(*found, strict=True), strict=True):
        ms = sorted(1000 * value for value in values)
        p95 = ms[int(0.95 * (len(ms) - 1))]
        print(f"{what:58}{statistics.median(ms):6.1f} {p95:5.1f} {ms[-1]:5.1f}")


if __name__ == "__main__":
    asyncio.run(main())
