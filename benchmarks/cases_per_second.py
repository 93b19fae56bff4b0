"""Cases per second of each backend beside the two floors, interleaved in one run.

    python benchmarks/cases_per_second.py [--backends namespaces,docker,docker:crun] [--rounds 5]
                                          [--seconds 2] [--json FILE]

A case is one run of a small Python program that reads a line and prints a sum, judged, ten cases a
response: through the engine in this process, and (`+grpc`) through a gateway in a process of its
own. The docker backend may name a runtime behind a colon. The floors, per core: fork of a warm
interpreter that runs the same code and ends, and exec of a fresh one. Neither isolates anything.
Ratios within one run are what counts; the machine's speed of the day is in all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from verifier.client import AsyncClient
from verifier.engine import Engine, make_sandbox
from verifier.testcases import load_suite
from verifier.types import Result, ScoreTask

PYTHON = "/usr/bin/python3"
PROGRAM = "a, b = map(int, input().split())\nprint(a + b)\n"
CASES = 10
TRUTH = {"inputs": ["2 3\n"] * CASES, "outputs": ["5\n"] * CASES}
RESPONSE = f"```python\n{PROGRAM}```"
# Runs under the same interpreter as the sandbox; prints how many a second one process does.
FLOOR = r"""
import os, sys, time
for name in ("bisect collections dataclasses datetime decimal fractions functools heapq itertools "
             "json math queue random re statistics string threading typing").split():
    __import__(name)
import gc
gc.collect(); gc.freeze()
code = compile(PROGRAM, "main.py", "exec")
def fork_one():
    stdin, give = os.pipe(); take, stdout = os.pipe()
    os.write(give, b"2 3\n"); os.close(give)
    pid = os.fork()
    if pid == 0:
        os.dup2(stdin, 0); os.dup2(stdout, 1)
        exec(code, {"__name__": "__main__"})
        sys.stdout.flush()
        os._exit(0)
    os.close(stdin); os.close(stdout)
    assert os.read(take, 100) == b"5\n"
    os.close(take); os.waitpid(pid, 0)
def exec_one():
    stdin, give = os.pipe(); take, stdout = os.pipe()
    os.write(give, b"2 3\n"); os.close(give)
    pid = os.posix_spawn(sys.executable, [sys.executable, "-s", "-c", PROGRAM], {},
        file_actions=[(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1)])
    os.close(stdin); os.close(stdout)
    assert os.read(take, 100) == b"5\n"
    os.close(take); os.waitpid(pid, 0)
one = {"fork": fork_one, "exec": exec_one}[KIND]
end, n = time.monotonic() + SECONDS, 0
start = time.monotonic()
while time.monotonic() < end:
    one(); n += 1
print(n / (time.monotonic() - start))
"""


def floor(kind: str, seconds: float, workers: int) -> float:
    """Runs a second, summed over as many processes as there are slots."""
    source = f"PROGRAM = {PROGRAM!r}\nKIND = {kind!r}\nSECONDS = {seconds}\n" + FLOOR
    running = [
        subprocess.Popen(
            [PYTHON, "-s", "-c", source],
            env={"PYTHONHASHSEED": "0"},  # PYTHONUNBUFFERED of the caller's would change the work
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(workers)
    ]
    return sum(float(p.communicate()[0]) for p in running)


def by_engine(engine: Engine) -> Callable[[], Awaitable[Result]]:
    """Scores one response in this process."""
    suite = load_suite(TRUTH)
    return lambda: engine.score(ScoreTask(RESPONSE, suite))


def by_gateway(client: AsyncClient) -> Callable[[], Awaitable[Result]]:
    """Scores one response over gRPC."""
    return lambda: client.score(RESPONSE, TRUTH)


@contextlib.asynccontextmanager
async def gateway(backend: str, options: argparse.Namespace) -> AsyncIterator[AsyncClient]:
    """A client of a gateway that runs as `verifier serve`, as it would beside a job."""
    accept = [part for name in options.accept for part in ("--accept", name)]
    name, _, runtime = backend.partition(":")
    argv = ["serve", "--grpc", "127.0.0.1:0", "--backend", name, "--slots", str(options.slots)]
    argv += ["--runtime", runtime] if runtime else []
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "verifier.cli", *argv, *accept, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        async with AsyncClient(line.rpartition(" ")[2].strip()) as client:
            yield client
    finally:
        process.terminate()
        await process.communicate()


async def cases(score: Callable[[], Awaitable[Result]], seconds: float, workers: int) -> float:
    """Judged cases a second, with two responses waiting for each slot."""
    end, done = time.monotonic() + seconds, 0

    async def client() -> None:
        nonlocal done
        while time.monotonic() < end:
            result = await score()
            assert result.score == 1.0, result
            done += result.total

    start = time.monotonic()
    await asyncio.gather(*(client() for _ in range(3 * workers)))
    return done / (time.monotonic() - start)


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backends", default="namespaces,docker")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--slots", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--accept", action="append", default=[])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    ours = {}
    got: dict[str, list[float]] = {"bare fork": [], "bare exec": []}
    async with contextlib.AsyncExitStack() as stack:
        for name in options.backends.split(","):
            backend, _, runtime = name.partition(":")
            sandbox = make_sandbox(backend, accept=options.accept, runtime=runtime or None)
            engine = Engine(sandbox, slots=options.slots)
            stack.push_async_callback(engine.close)
            await engine.start()
            ours[name] = by_engine(engine)
            client = await stack.enter_async_context(gateway(name, options))
            ours[f"{name}+grpc"] = by_gateway(client)
        got.update((name, []) for name in ours)
        for _ in range(options.rounds):
            got["bare fork"].append(
                await asyncio.to_thread(floor, "fork", options.seconds, options.slots)
            )
            for name, score in ours.items():
                got[name].append(await cases(score, options.seconds, options.slots))
            got["bare exec"].append(
                await asyncio.to_thread(floor, "exec", options.seconds, options.slots)
            )
    report(got, options)


def report(got: dict[str, list[float]], options: argparse.Namespace) -> None:
    """The table, and the same as JSON."""
    print(
        f"{platform.platform()}, {multiprocessing.cpu_count()} cores, {options.slots} slots, "
        f"{options.rounds} rounds of {options.seconds} s, python {platform.python_version()}"
    )
    fork, fresh = statistics.median(got["bare fork"]), statistics.median(got["bare exec"])
    print(f"{'':17}{'cases/s':>10}{'min':>9}{'max':>9}{'x bare fork':>13}{'x bare exec':>13}")
    for name, values in got.items():
        middle = statistics.median(values)
        print(
            f"{name:17}{middle:10.0f}{min(values):9.0f}{max(values):9.0f}"
            f"{middle / fork:13.2f}{middle / fresh:13.2f}"
        )
    if options.json:
        options.json.write_text(json.dumps({"cases_per_s": got, "python": sys.version}, indent=1))


if __name__ == "__main__":
    asyncio.run(main())
