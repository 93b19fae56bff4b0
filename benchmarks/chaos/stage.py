"""A real gateway process under test, and what can be seen of it from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks.chaos.engine import IMAGE, PrivateEngine

if TYPE_CHECKING:
    from typing_extensions import Self

ROOT = Path(__file__).resolve().parents[2]
START_S = 90.0
STOP_S = 60.0
SLOTS = 2
ACCEPT = "memory_limit,cpu_accounting,process_limit"
LABEL = "verifier.run"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Runner:
    """A slot as this host sees it.

    Attributes:
        name: Of the container, or of its first process.
        first: That process.
        pid: Of the runner itself.
    """

    name: str
    first: int
    pid: int


@dataclass(slots=True)
class Stage:
    """A gateway on a fixed port. `with stage:` ends it, by force if it has to.

    Attributes:
        backend: Its backend.
        engine: Of the docker backend.
        folder: A scratch folder, removed by who made it.
        environment: Of the gateway beside this process's.
        cache: Its `cache_dir`; "" for none.
        gateways: Process ids of all that were started.
        seen: Slot processes that were seen.
    """

    backend: str
    folder: Path
    engine: PrivateEngine | None = None
    environment: dict[str, str] = field(default_factory=dict)
    cache: str = ""
    gateways: list[int] = field(default_factory=list)
    seen: set[psutil.Process] = field(default_factory=set)
    port: int = field(default_factory=_free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def target(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """No gateway is left, whatever happened."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            self.process.wait()

    def start(self) -> None:
        """Start a gateway, and wait until it serves."""
        argv = [sys.executable, "-m", "verifier.cli", "serve", "--grpc", self.target]
        argv += ["--backend", self.backend, "--slots", str(SLOTS), "--accept", ACCEPT]
        argv += ["--cache-dir", self.cache]
        environment = {**os.environ, "VERIFIER_COMPILE_SLOTS": "1", **self.environment}
        if self.engine is not None:
            argv += ["--image", IMAGE]
            environment["DOCKER_HOST"] = self.engine.host
        with self.log.open("ab") as log:
            start = log.tell()
            self.process = subprocess.Popen(
                argv, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.gateways.append(self.process.pid)
        deadline = time.monotonic() + START_S
        while b"listening" not in self.log.read_bytes()[start:]:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the gateway does not start: " + self.said())
            time.sleep(0.02)

    @property
    def log(self) -> Path:
        """What the gateways said."""
        return self.folder / "gateway.log"

    def said(self) -> str:
        """The end of it."""
        return self.log.read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        """End it with SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> list[str]:
        """SIGTERM, as an operator would; what is wrong with how it ended."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return ["the gateway did not end"]
        return [f"the gateway ended with {code}"] if code else []

    # ------------------------------------------------------------ what is there

    def runners(self) -> list[Runner]:
        """The slots that could work: their runner lives, and nothing of it is stopped."""
        found = list(self._containers() if self.engine is not None else self._children())
        for runner in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                self.seen.add(psutil.Process(runner.first))
                self.seen.add(psutil.Process(runner.pid))
        return found

    def _children(self) -> list[Runner]:
        assert self.process is not None
        found = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for first in psutil.Process(self.process.pid).children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    if "--lib" in first.cmdline() and (pid := _runner_below(first)):
                        found.append(Runner(str(first.pid), first.pid, pid))
        return found

    def _containers(self) -> list[Runner]:
        assert self.engine is not None
        assert self.process is not None
        found = []
        with contextlib.suppress(Exception), self.engine.client() as client:
            for row in client.api.containers(filters={"label": LABEL, "status": "running"}):
                if not row["Labels"][LABEL].startswith(f"{self.process.pid}-"):
                    continue
                state = client.api.inspect_container(row["Id"])["State"]
                with contextlib.suppress(psutil.NoSuchProcess):
                    first = psutil.Process(state["Pid"])
                    if not state["Paused"] and (pid := _runner_below(first)):
                        found.append(Runner(row["Id"], first.pid, pid))
        return found

    def left_behind(self) -> list[str]:
        """What is still there of any of the gateways; the last one has ended."""
        _, alive = psutil.wait_procs(self.seen, timeout=5)
        found = [f"process {process.pid} ({process.name()})" for process in alive]
        for pid in self.gateways:
            name = f"verifier-{pid}-"
            walked = os.walk("/sys/fs/cgroup")
            found += [
                f"cgroup {top}/{each}" for top, below, _ in walked for each in below
                if each.startswith(name)
            ]  # fmt: skip
            found += [f"folder {path}" for path in Path(tempfile.gettempdir()).glob(f"{name}*")]
        if self.engine is not None:
            with self.engine.client() as client:
                rows = client.api.containers(all=True)
            found += [f"container {row['Id'][:12]} ({row['State']})" for row in rows]
        return found


def _runner_below(first: psutil.Process) -> int:
    """The runner of a slot whose three processes stand and are not stopped; else 0."""
    own = [first, *first.children()[:1]]
    own += own[1].children()[:1] if len(own) > 1 else []
    if len(own) < 3 or any(p.status() == psutil.STATUS_STOPPED for p in own):
        return 0
    return own[1].pid
