#!/usr/bin/env python3
"""The whole path on this machine: a gateway, a sandbox, real programs, a table of verdicts.

`scripts/demo` makes the venv and calls this. Everything goes through the public command line:
`verifier doctor` says what this host can guarantee, `verifier serve` runs the gateway on loopback
on a free port, `verifier score --server` sends examples/responses.jsonl through gRPC.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
ROWS = HERE / "responses.jsonl"
IMAGE = "verifier-sandbox:latest"
VERIFIER = [sys.executable, "-m", "verifier.cli"]
LISTENING = "grpc listening on "
MEBIBYTE = 1024 * 1024
STOP_S = 45  # the gateway's own grace is 30 s

# Off a terminal (a log, a pipe) there is no width to fit into.
out = Console(highlight=False, width=None if sys.stdout.isatty() else 130)


@dataclass(frozen=True)
class Line:
    """A row with its result."""

    row: dict[str, Any]
    result: dict[str, Any]

    @property
    def note(self) -> str:
        """What a reader should know about this line: "" when it is as it must be."""
        if self.result["outcome"] != "SCORED":
            return str(self.result["error"])
        wanted = self.row["extra_info"]
        if (self.result["status"], self.result["passed"]) == (
            wanted["expected_status"],
            wanted["expected_passed"],
        ):
            return ""
        return f"expected {wanted['expected_status']}, {wanted['expected_passed']} passed"


def main() -> int:
    """Run the demo; 0 when every verdict is as it must be."""
    parser = argparse.ArgumentParser(description="Score the examples through a gateway.")
    parser.add_argument("--backend", choices=["namespaces", "docker"], default="namespaces")
    backend = parser.parse_args().backend
    if backend == "docker" and not have_image():
        return 3
    found = json.loads(run([*VERIFIER, "doctor", "--json", "--backend", backend]))
    if found["problem"]:
        out.print(f"The {backend} sandbox cannot be used here: {found['problem']}", style="red")
        return 3
    accept = show_guarantees(found)
    with (
        tempfile.TemporaryDirectory(prefix="verifier-demo-") as folder,
        gateway(backend, accept, Path(folder)) as address,
    ):
        out.print(f"Gateway: gRPC on {address}, backend {backend}\n")
        results = Path(folder) / "results.jsonl"
        score = [*VERIFIER, "score", str(ROWS), "-o", str(results), "--server", address]
        done = subprocess.run(score, stdout=subprocess.DEVNULL, check=False)
        if done.returncode not in {0, 1}:
            return done.returncode
        lines = [
            Line(row, result)
            for row, result in zip(read(ROWS), read(results), strict=True)
            if row["id"] == result["id"]
        ]
    show(lines)
    return summarize(lines, found)


def run(command: list[str]) -> str:
    """Standard output of a command, whatever its exit code (`doctor` exits with 3 for findings)."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout


def read(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSON Lines file."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def have_image() -> bool:
    """The sandbox image is there, or can be built now."""
    import docker
    import docker.errors

    try:
        client = docker.from_env()
        client.ping()
    except docker.errors.DockerException as error:
        out.print(f"No Docker engine answers: {error}", style="red")
        out.print("  start one (as root: dockerd), or run: scripts/demo", style="cyan")
        return False
    with contextlib.closing(client):
        with contextlib.suppress(docker.errors.ImageNotFound):
            client.images.get(IMAGE)
            return True
        out.print(f"Building the image {IMAGE}; this takes a minute or two ...")
    build = HERE.parent / "sandbox_images" / "build"
    return subprocess.run([str(build), "--tag", IMAGE], check=False).returncode == 0


def show_guarantees(found: dict[str, Any]) -> list[str]:
    """Print what this host cannot guarantee; the names, to be accepted for the demo alone."""
    absent = [guarantee for guarantee in found["guarantees"] if not guarantee["holds"]]
    missing = [guarantee for guarantee in absent if guarantee["required"]]
    for guarantee in absent:
        if not guarantee["required"]:
            out.print(f"Optional, and not had: {guarantee['name']}: {guarantee['mechanism']}")
    if not missing:
        out.print("This host gives every required guarantee.", style="green")
        return []
    out.print("This host cannot give these; accepted for this demo alone:", style="yellow")
    for guarantee in missing:
        out.print(f"  {guarantee['name']}: {guarantee['mechanism']}", markup=False)
        if guarantee["remedy"]:
            out.print(f"    to have it: {guarantee['remedy']}", markup=False)
    return [guarantee["name"] for guarantee in missing]


@contextlib.contextmanager
def gateway(backend: str, accept: list[str], folder: Path) -> Iterator[str]:
    """A gateway on a free port of loopback, stopped at the end. Yields its address."""
    command = [*VERIFIER, "serve", "--grpc", "127.0.0.1:0", "--backend", backend]
    for name in accept:
        command += ["--accept", name]
    log = folder / "gateway.log"
    with log.open("w", encoding="utf-8") as errors:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        yield wait_for_address(server, log)
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.communicate(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.communicate()
            out.print("The gateway did not stop by itself and was killed.", style="red")


def wait_for_address(server: subprocess.Popen[str], log: Path) -> str:
    """The address that the gateway prints once it serves."""
    assert server.stdout is not None
    for line in server.stdout:
        if line.startswith(LISTENING):
            return line.removeprefix(LISTENING).strip()
    out.print("The gateway did not start:", style="red")
    out.print(log.read_text(encoding="utf-8"), markup=False)
    raise SystemExit(3)


def show(lines: list[Line]) -> None:
    """The table."""
    table = Table(box=None, pad_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for name in ("passed", "CPU ms", "peak MB"):
        table.add_column(name, justify="right")
    table.add_column("")
    for line in lines:
        result = line.result
        scored = result["outcome"] == "SCORED"
        verdict = result["status"] if scored else result["outcome"]
        style = "green" if verdict == "ACCEPTED" else "" if scored else "bold red"
        peak = max((case["memory_bytes"] for case in result["cases"]), default=0)
        cpu = result["timing"]["cpu_time_s"] * 1000
        table.add_row(
            result["id"],
            f"[{style}]{verdict}[/]" if style else verdict,
            f"{result['passed']}/{result['total']}" if scored else "-",
            f"{cpu:.0f}" if cpu else "-",
            f"{peak / MEBIBYTE:.1f}" if peak else "-",
            line.note.replace("[", r"\["),
        )
    out.print(table)


def summarize(lines: list[Line], found: dict[str, Any]) -> int:
    """Totals, and the exit code: 0 when every verdict is as it must be."""
    scored = [line for line in lines if line.result["outcome"] == "SCORED"]
    counts: dict[str, int] = {}
    for line in scored:
        counts[line.result["status"]] = counts.get(line.result["status"], 0) + 1
    mean = sum(line.result["score"] for line in scored) / max(1, len(scored))
    cpu = sum(line.result["timing"]["cpu_time_s"] for line in scored)
    cases = sum(line.result["total"] for line in scored)
    out.print()
    out.print(f"{len(scored)} of {len(lines)} responses scored, {cases} cases, {cpu:.1f} s of CPU")
    out.print(f"mean score {mean:.3f}:", ", ".join(f"{n} {name}" for name, n in counts.items()))
    absent = [line for line in lines if lacks_toolchain(line, found)]
    if absent:
        out.print(
            f"{len(absent)} responses are in C++, and this host has no C++ compiler "
            "(apt-get install g++)",
            style="yellow",
        )
    wrong = [line for line in lines if line.note and line not in absent]
    if not wrong:
        out.print("Every verdict is as it must be.", style="bold green")
        return 0
    out.print(f"{len(wrong)} verdicts are not as they must be (last column).", style="bold red")
    if found["missing"]:
        out.print("This host lacks guarantees that some verdicts need (above).", style="yellow")
    return 1


def lacks_toolchain(line: Line, found: dict[str, Any]) -> bool:
    """No verdict, because this host has no compiler for the program's language."""
    return "```cpp" in line.row["response"].lower().replace("c++", "cpp") and (
        "cpp" not in found["toolchains"]
    )


if __name__ == "__main__":
    sys.exit(main())
