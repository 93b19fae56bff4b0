"""Mixed work through the runners of docker-compose.yml, and what becomes of memory, files and time.

    python benchmarks/soak_compose.py [--count 20000] [--seconds S] [--runners 3]
                                      [--project NAME] [--out docs/soak_compose]
                                      [--without "c++, new"]

Starts a project of its own and takes it down. Asks for `count` cases (Python right, wrong and
crashing, C++ compiled anew and seen before, asserts, endless loops with short limits, memory hogs),
each with a verdict that is known beforehand, or for so many seconds. Every so often it looks, from
the host, at the resident memory, the processes and the descriptors of the gateway and of the
runners, and at the number of containers. Without programs that are compiled anew the cache of
compiled ones does not fill, which the gateway's memory shows else. Writes OUT.json and OUT.svg.
Descriptors are counted as root only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verifier.client import AsyncClient
from verifier.errors import VerifierError
from verifier.types import LimitOverrides, Outcome, Status

ROOT = Path(__file__).resolve().parent.parent
CASES = 4
IN_FLIGHT = 24
SAMPLES = 60
SUMS = {
    "inputs": [f"{i} {i + 1}\n" for i in range(CASES)],
    "outputs": [f"{2 * i + 1}\n" for i in range(CASES)],
}
ASSERTS = {
    "test": "def check(f):\n" + "".join(f"    assert f({i}) == {i + 1}\n" for i in range(CASES)),
    "entry_point": "after",
}
ONE = {"inputs": ["1 2\n"], "outputs": ["3\n"]}
SHORT = LimitOverrides(cpu_time_s=0.1, wall_time_s=5.0)
CPP = (
    "#include <iostream>\nint main() {{ long a, b; std::cin >> a >> b; std::cout << a + b; }} // {}"
)
HOG = "b = bytearray(4 << 30)\nfor i in range(0, len(b), 4096): b[i] = 1"
ADD = "print(sum(map(int, input().split())))"


@dataclass(frozen=True, slots=True)
class Work:
    """A kind of request: how often, what, and the one right answer."""

    name: str
    share: float
    source: str
    language: str = "python"
    truth: Any = field(default_factory=lambda: SUMS)
    limits: LimitOverrides = field(default_factory=LimitOverrides)
    status: Status = Status.ACCEPTED
    cases: int = CASES


KINDS = (
    Work("right", 0.406, ADD),
    Work("wrong", 0.15, "print(-1)", status=Status.WRONG_ANSWER),
    Work("crash", 0.08, "raise SystemExit(3)", status=Status.RUNTIME_ERROR),
    Work("asserts", 0.12, "def after(n):\n    return n + 1", truth=ASSERTS, cases=1),
    Work("c++, seen before", 0.15, CPP.format("same"), "cpp"),
    Work("c++, new", 0.04, CPP, "cpp"),
    Work(
        "endless",
        0.05,
        "while True: pass",
        truth=ONE,
        limits=SHORT,
        status=Status.TIME_LIMIT,
        cases=1,
    ),
    Work("hog", 0.004, HOG, truth=ONE, status=Status.MEMORY_LIMIT, cases=1),
)


class Project:
    """The compose project that is measured."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self.env = {
            **os.environ,
            "COMPOSE_PROJECT_NAME": name,
            "VERIFIER_GRPC_PORT": str(port),
            "VERIFIER_HTTP_PORT": str(port + 1),
        }

    def compose(self, *words: str) -> None:
        """Run a command of docker-compose's that has to succeed."""
        subprocess.run(
            ["docker-compose", *words], cwd=ROOT, env=self.env, check=True, capture_output=True
        )

    def ids(self) -> dict[str, list[str]]:
        """Running containers of each service."""
        form = '{{.ID}} {{.Label "com.docker.compose.service"}}'
        found: dict[str, list[str]] = {}
        label = f"label=com.docker.compose.project={self.name}"
        for line in _said("docker", "ps", "--filter", label, "--format", form).splitlines():
            container, service = line.split()
            found.setdefault(service, []).append(container)
        return found


def _said(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def weigh(containers: list[str]) -> tuple[float, int, int]:
    """Resident MiB, processes and descriptors (-1: not ours to see) of some containers."""
    kib = processes = descriptors = 0
    for container in containers:
        rows = [
            line.split()
            for line in _said("docker", "top", container, "-eo", "pid,rss").splitlines()[1:]
        ]
        kib += sum(int(rss) for _, rss in rows)
        processes += len(rows)
        for pid, _ in rows:
            try:
                descriptors += sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
            except PermissionError:  # noqa: PERF203 - a handful
                descriptors = -1
            except FileNotFoundError:
                processes -= 1
    return kib / 1024, processes, descriptors


class Soak:
    """The work, the answers, and a sample every so often."""

    def __init__(
        self, client: AsyncClient, project: Project, count: int, seconds: float, kinds: list[Work]
    ) -> None:
        self.client, self.project, self.count, self.seconds = client, project, count, seconds
        self.kinds, self.shares = kinds, [kind.share for kind in kinds]
        self.random = random.Random(7)  # noqa: S311 - a mix that can be repeated
        self.started = time.monotonic()
        self.asked = self.cases = self.requests = 0
        self.wrong: list[str] = []
        self.infra = 0
        self.times: list[float] = []
        self.all_times: list[float] = []
        self.samples: list[dict[str, float]] = []

    async def run(self) -> None:
        """All of it."""
        await self.sample()
        await asyncio.gather(*(self.ask_on() for _ in range(IN_FLIGHT)))
        # At rest again.
        self.times = self.times or [0.0]
        await self.sample()

    async def ask_on(self) -> None:
        """One request after the other, until all cases were asked for."""
        while self.asked < self.count and self.elapsed() < self.seconds:
            (kind,) = self.random.choices(self.kinds, self.shares)
            self.asked += kind.cases
            await self.ask(kind)
            done = max(self.cases / self.count, self.elapsed() / self.seconds)
            if done >= len(self.samples) / SAMPLES:
                await self.sample()

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    async def ask(self, kind: Work) -> None:
        """One request, its time, and whether the answer is right."""
        number, before = self.requests, time.monotonic()
        self.requests += 1
        source = kind.source.format(number) if kind.name == "c++, new" else kind.source
        try:
            result = await self.client.score(
                f"```{kind.language}\n{source}\n```", kind.truth, limits=kind.limits, no_cache=True
            )
        except VerifierError as error:
            self.infra += 1
            print(f"{kind.name}: {error}", flush=True)
            return
        finally:
            self.cases += kind.cases
        self.times.append(time.monotonic() - before)
        if result.outcome is Outcome.INFRA_ERROR:
            self.infra += 1
            print(f"{kind.name}: {result.error}", flush=True)
        elif result.status is not kind.status:
            self.wrong.append(f"{kind.name}: {result.status} {result.cases[:1]}")
            print(self.wrong[-1], flush=True)

    async def sample(self) -> None:
        """Look at everything, from outside."""
        number = len(self.samples)
        times, self.times = sorted(self.times), []
        self.all_times += times
        self.samples.append({})  # nobody else takes this one meanwhile
        ids = await asyncio.to_thread(self.project.ids)
        gateway = await asyncio.to_thread(weigh, ids.get("gateway", []))
        runners = await asyncio.to_thread(weigh, ids.get("runner", []) + ids.get("helper", []))
        self.samples[number] = {
            "seconds": round(self.elapsed(), 1),
            "cases": self.cases,
            "p50_ms": _percentile(times, 0.50),
            "p99_ms": _percentile(times, 0.99),
            "gateway_rss_mib": round(gateway[0], 1),
            "gateway_processes": gateway[1],
            "gateway_descriptors": gateway[2],
            "runners_rss_mib": round(runners[0], 1),
            "runners_processes": runners[1],
            "runners_descriptors": runners[2],
            "containers": sum(map(len, ids.values())),
        }
        print(json.dumps(self.samples[number]), flush=True)


def _percentile(times: list[float], share: float) -> float:
    return round(1000 * times[min(int(len(times) * share), len(times) - 1)], 1) if times else 0.0


PANELS = (
    ("gateway, resident MiB", "gateway_rss_mib"),
    ("runners and helpers, resident MiB", "runners_rss_mib"),
    ("gateway, descriptors", "gateway_descriptors"),
    ("runners and helpers, processes", "runners_processes"),
    ("containers", "containers"),
    ("p99 of a request, ms", "p99_ms"),
)


def plot(samples: list[dict[str, float]]) -> str:
    """Six panels over the cases, from zero, as SVG."""
    width, height, gap = 340, 150, 30
    frame = 'fill="none" stroke="#d0d7de"'
    total = max(sample["cases"] for sample in samples) or 1
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="11" ',
        f'viewBox="0 0 {2 * (width + gap)} {3 * (height + gap) + 10}">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for number, (title, key) in enumerate(PANELS):
        left, top = gap / 2 + (number % 2) * (width + gap), 20 + (number // 2) * (height + gap)
        rows = [(s["cases"], s[key]) for s in samples if key != "p99_ms" or s[key] > 0]
        most = max([value for _, value in rows] + [1]) * 1.15
        points = " ".join(
            f"{left + width * cases / total:.1f},{top + height * (1 - value / most):.1f}"
            for cases, value in rows
        )
        last = rows[-1][1] if rows else 0
        parts += [
            f'<text x="{left}" y="{top - 5}">{title}: last {last:g}, most {most / 1.15:g}</text>',
            f'<rect x="{left}" y="{top}" width="{width}" height="{height}" {frame}/>',
            f'<polyline points="{points}" fill="none" stroke="#0969da" stroke-width="1.5"/>',
        ]
    parts.append(f'<text x="15" y="{3 * (height + gap) + 4}">0 to {total:g} cases</text></svg>')
    return "\n".join(parts) + "\n"


async def main() -> int:
    """Run it; 0 when no answer was wrong or missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--runners", type=int, default=3)
    parser.add_argument("--project", default=f"verifier-soak-{os.getpid()}")
    parser.add_argument("--port", type=int, default=50_850)
    names = [kind.name for kind in KINDS]
    parser.add_argument("--without", action="append", default=[], choices=names)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "soak_compose")
    args = parser.parse_args()
    project = Project(args.project, args.port)
    scale = [f"{role}={args.runners}" for role in ("runner", "helper")]
    try:
        project.compose("up", "--detach", "--scale", scale[0], "--scale", scale[1])
        async with AsyncClient(f"127.0.0.1:{args.port}", timeout_s=300.0) as client:
            await wait(client, args.runners)
            kinds = [kind for kind in KINDS if kind.name not in args.without]
            soak = Soak(client, project, args.count, args.seconds, kinds)
            await soak.run()
    finally:
        project.compose("down", "--volumes", "--timeout", "5")
    seconds = soak.samples[-1]["seconds"]
    summary = {
        "cases": soak.cases,
        "requests": soak.requests,
        "seconds": seconds,
        "cases_per_s": round(soak.cases / seconds, 1),
        "wrong": len(soak.wrong),
        "without_verdict": soak.infra,
        "p50_ms": _percentile(sorted(soak.all_times), 0.5),
        "p99_ms": _percentile(sorted(soak.all_times), 0.99),
        "shares": {kind.name: kind.share for kind in kinds},
        "samples": soak.samples,
    }
    args.out.with_suffix(".json").write_text(json.dumps(summary, indent=1) + "\n")
    args.out.with_suffix(".svg").write_text(plot(soak.samples))
    print(json.dumps({k: v for k, v in summary.items() if k != "samples"}))
    return int(bool(soak.wrong or soak.infra))


async def wait(client: AsyncClient, runners: int) -> None:
    """Until the gateway takes work and has all its runners."""
    while True:
        try:
            answer = await client.score(f"```python\n{ADD}\n```", ONE)
        except VerifierError:
            await asyncio.sleep(0.2)
            continue
        if answer.score == 1.0 and (await client.info()).slots == runners:
            return
        await asyncio.sleep(0.2)


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
