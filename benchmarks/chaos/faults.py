"""What is broken, and how it is put right again where nobody else would do it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import docker.errors

from benchmarks.chaos.stage import Runner, Stage

FAKETIME = next(map(str, Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), "")
BOTH = ("namespaces", "docker")
# An engine that is restarted by its supervisor is away for so long.
AWAY_S = 1.0
PAUSES = 20
DISK = "16m"
# Both ways, by more than any limit or deadline of a run.
STEPS = ("+3600", "-7200", "+0", "+86400", "-3600")


@contextlib.contextmanager
def nothing(stage: Stage) -> Iterator[None]:
    """No preparation."""
    del stage
    yield


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind.

    Attributes:
        name: In the table.
        backends: Where it can be.
        inject: Breaks something, given how often it did so before; the slots that it hit.
        undo: Ends what would not end by itself.
        prepared: What the stage needs before its gateway starts.
        missing: Why it cannot be here; "" where it can.
    """

    name: str
    backends: tuple[str, ...]
    inject: Callable[[Stage, int], list[Runner]]
    undo: Callable[[Stage], None] = lambda _stage: None
    prepared: Callable[[Stage], contextlib.AbstractContextManager[None]] = nothing
    missing: Callable[[], str] = lambda: ""


def _victim(stage: Stage, number: int) -> Runner:
    deadline = time.monotonic() + 30
    while not (runners := stage.runners()):
        assert time.monotonic() < deadline, "no slot to hit"
        time.sleep(0.02)
    return sorted(runners, key=lambda runner: runner.first)[number % len(runners)]


def _kill_runner(stage: Stage, number: int) -> list[Runner]:
    victim = _victim(stage, number)
    os.kill(victim.pid, signal.SIGKILL)
    return [victim]


def _kill_container(stage: Stage, number: int) -> list[Runner]:
    victim = _victim(stage, number)
    assert stage.engine is not None
    with stage.engine.client() as client:
        client.api.kill(victim.name, "SIGKILL")
    return [victim]


def _kill_all_runners(stage: Stage, number: int) -> list[Runner]:
    del number
    victims = stage.runners()
    for victim in victims:
        os.kill(victim.pid, signal.SIGKILL)
    return victims


def _restart_engine(stage: Stage, number: int) -> list[Runner]:
    del number
    assert stage.engine is not None
    victims = stage.runners()
    stage.engine.kill()
    time.sleep(AWAY_S)
    stage.engine.start()
    return victims


def _restart_gateway(stage: Stage, number: int) -> list[Runner]:
    del number
    victims = stage.runners()
    stage.kill()
    stage.start()
    return victims


def _pause(stage: Stage, number: int) -> list[Runner]:
    if stage.engine is None:
        victim = _victim(stage, number)
        os.kill(victim.pid, signal.SIGSTOP)
        return [victim]
    for attempt in range(PAUSES):
        victim = _victim(stage, number + attempt)
        with stage.engine.client() as client:
            try:
                client.api.pause(victim.name)
            except docker.errors.APIError:  # a busy machine: "unable to freeze"
                time.sleep(0.2)
            else:
                return [victim]
    raise AssertionError("the engine cannot pause a container")


# ---------------------------------------------------------------- what runs out


@contextlib.contextmanager
def _small_disk(stage: Stage) -> Iterator[None]:
    folder = stage.folder / "cache"
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "chaos", str(folder)], check=True
    )
    stage.cache = str(folder)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(stage: Stage, number: int) -> list[Runner]:
    del number
    with contextlib.suppress(OSError), Path(stage.cache, "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    free = os.statvfs(stage.cache).f_bavail
    assert free == 0, f"{free} blocks are free"
    return []


def _make_room(stage: Stage) -> None:
    Path(stage.cache, "filler").unlink()


def _no_more_processes(stage: Stage, number: int) -> list[Runner]:
    victim = _victim(stage, number)
    for line in Path(f"/proc/{_zygote(victim)}/cgroup").read_text().splitlines():
        _, names, own = line.split(":", 2)
        if names in ("pids", ""):
            group = Path("/sys/fs/cgroup", names, own.lstrip("/"))
            if (group / "pids.current").exists():
                members = {int(pid) for pid in (group / "cgroup.procs").read_text().split()}
                own = members & {victim.first, victim.pid, _zygote(victim)}
                # In turn: no program can be started, and those can that start no other.
                (group / "pids.max").write_text(str(len(own) + 2 * (number % 2)))
                return [victim]
    raise AssertionError("no pids group")


def _zygote(victim: Runner) -> int:
    children = Path(f"/proc/{victim.pid}/task/{victim.pid}/children").read_text().split()
    return int(children[0])


# ---------------------------------------------------------------- the clock


@contextlib.contextmanager
def _false_clock(stage: Stage) -> Iterator[None]:
    _set_clock(stage, "+0")
    stage.environment.update(
        LD_PRELOAD=FAKETIME,
        FAKETIME_TIMESTAMP_FILE=str(stage.folder / "clock"),
        FAKETIME_NO_CACHE="1",
        DONT_FAKE_MONOTONIC="1",
        FAKETIME_DONT_RESET="1",
    )
    yield


def _set_clock(stage: Stage, offset: str) -> None:
    new = stage.folder / "clock.new"
    new.write_text(offset + "\n")
    new.replace(stage.folder / "clock")


def _step(stage: Stage, number: int) -> list[Runner]:
    _set_clock(stage, STEPS[number % len(STEPS)])
    return []


def _no_faketime() -> str:
    return "" if FAKETIME else "libfaketime is not installed"


FAULTS = {
    "runner": Fault("kill -9 of a runner", BOTH, _kill_runner),
    "runners": Fault("kill -9 of all runners at once", BOTH, _kill_all_runners),
    "container": Fault("kill -9 of a container", ("docker",), _kill_container),
    "engine": Fault("kill -9 of the Docker engine, restart", ("docker",), _restart_engine),
    "gateway": Fault("kill -9 of the gateway, restart", BOTH, _restart_gateway),
    "pause": Fault("a slot is stopped (SIGSTOP, docker pause)", BOTH, _pause),
    "disk": Fault("the disk is full", BOTH, _fill, undo=_make_room, prepared=_small_disk),
    "pids": Fault("a slot's pids limit is reached", BOTH, _no_more_processes),
    "clock": Fault(
        "the clock steps by hours", BOTH, _step, prepared=_false_clock, missing=_no_faketime
    ),
}


def one_after_the_other(names: Sequence[str]) -> Fault:
    """All of these on one gateway: its first repeat injects the first one, and so on."""
    faults = [FAULTS[name] for name in names]
    last: list[Fault] = []

    def inject(stage: Stage, number: int) -> list[Runner]:
        last[:] = [faults[number % len(faults)]]
        return last[0].inject(stage, number)

    def undo(stage: Stage) -> None:
        last[0].undo(stage)

    @contextlib.contextmanager
    def prepared(stage: Stage) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for fault in faults:
                stack.enter_context(fault.prepared(stage))
            yield

    backends = tuple(name for name in BOTH if all(name in fault.backends for fault in faults))
    return Fault(
        ", ".join(names), backends, inject, undo, prepared,
        lambda: next(filter(None, (fault.missing() for fault in faults)), ""),
    )  # fmt: skip
