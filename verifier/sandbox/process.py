"""The `process` backend: plain child processes under rlimits. It isolates nothing.

A program sees the host's files, network and processes, runs as the caller, and may outlive its run.
It is there for hosts that allow no namespaces at all and for debugging, and it refuses to start
unless it is asked for by its name and by `allow_unsafe`. Memory and CPU of the process tree are
sampled with psutil.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from verifier.errors import ConfigError
from verifier.languages import RECIPES
from verifier.runner.agent import harness, jobs
from verifier.runner.build import runner_zipapp
from verifier.sandbox.base import CompileJob, Guarantee, GuaranteeName, RunJob, Slot, Wire
from verifier.sandbox.namespaces.backend import ENVIRONMENT, INTERPRETER
from verifier.sandbox.runner_slot import ToolchainMissingError
from verifier.types import CompileFacts, Harness, Killer, Limits, RunFacts

SAMPLE_S = 0.02
STDERR_KEEP = 16 * 1024
VALUE, INPUT, CODE, PEER = harness.VALUE, harness.INPUT, harness.CODE, harness.PEER
_numbers = itertools.count()


class ProcessSandbox:
    """See the module."""

    name = "process"

    def __init__(self, *, allow_unsafe: bool = False) -> None:
        """Refuse, unless told so by name."""
        if not allow_unsafe:
            raise ConfigError(
                "backend process isolates nothing: programs could read this host's files and kill "
                "its processes. To use it all the same: --backend process --allow-unsafe"
            )

    async def start(self) -> None:
        """Nothing to check: nothing is promised."""

    async def open_slot(self, cpu: int | None = None) -> Slot:
        """A folder of its own; bound to no core."""
        del cpu
        return ProcessSlot(f"process{next(_numbers)}")

    async def close(self) -> None:
        """Nothing is kept."""

    async def guarantees(self) -> tuple[Guarantee, ...]:
        """None holds."""
        return tuple(
            Guarantee(
                name,
                holds=False,
                mechanism="not given by plain processes",
                remedy="use --backend namespaces or docker",
            )
            for name in GuaranteeName
        )

    async def toolchains(self) -> dict[str, str]:
        """What is on the caller's PATH, by name only."""
        return {
            name: "host"
            for name, recipe in RECIPES.items()
            if all(map(shutil.which, recipe.programs))
        }

    async def packages(self) -> dict[str, dict[str, str]]:
        """Not looked for."""
        return {}


@dataclass(slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    killer: Killer = Killer.NONE
    memory: int = 0
    cpu: float = 0.0


class ProcessSlot:
    """One run at a time, in a folder that is removed with the slot."""

    def __init__(self, name: str) -> None:
        """Make the folder."""
        self.name = name
        self.healthy = True
        self._folder = Path(tempfile.mkdtemp(prefix="verifier-process-"))
        self._agent = str(runner_zipapp())

    async def compile(self, job: CompileJob) -> CompileFacts:
        """See `Slot.compile`."""
        work = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            for name, data in job.files.items():
                (work / name).write_bytes(data)
            if job.harness is not Harness.EXEC:
                source = next(iter(job.files.values()))
                argv = [*INTERPRETER, self._agent, "--harness", "compile", "-"]
                facts = await self._one(argv, work, source, job.limits, {VALUE: b""})
                artifact = jobs.pack([("main.py", 0, source), (".code", 0, facts.returned or b"")])
            else:
                program = shutil.which(job.argv[0])
                if program is None:
                    raise ToolchainMissingError(f"there is no {job.argv[0]} on this host")
                facts = await self._one([program, *job.argv[1:]], work, b"", job.limits, {})
                artifact = _pack_outputs(work, job.outputs)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        ok = facts.exit_code == 0 and facts.killer is Killer.NONE and bool(artifact)
        message = "" if ok else (facts.stderr or facts.stdout)[:4096].decode("utf-8", "replace")
        return CompileFacts(ok, facts, artifact if ok else b"", message=message)

    async def run(self, job: RunJob) -> AsyncIterator[RunFacts]:
        """See `Slot.run`."""
        program = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            code = b""
            for name, mode, data in jobs.unpack(memoryview(job.artifact)) if job.artifact else ():
                if name == ".code":
                    code = bytes(data)
                    continue
                (program / name).parent.mkdir(parents=True, exist_ok=True)
                (program / name).write_bytes(data)
                (program / name).chmod(0o755 if mode else 0o644)
            for index, data in enumerate(job.inputs):
                work = Path(tempfile.mkdtemp(dir=self._folder))
                wire = job.wires[index] if job.wires else None
                try:
                    if job.harness is Harness.EXEC:
                        argv = [
                            a.replace("/program", str(program), 1)
                            if a.startswith("/program")
                            else a
                            for a in job.argv
                        ]
                        files = {VALUE: b""} if job.channel else {}
                        if job.extra:
                            files[INPUT], files[CODE] = job.extra[index]
                        yield await self._one(argv, work, data, job.limits, files, wire)
                    else:
                        argv = [
                            *INTERPRETER,
                            self._agent,
                            "--harness",
                            job.harness.value,
                            job.fn_name or "-",
                        ]
                        plain = job.harness is Harness.PYTHON
                        extra = {CODE: code} if plain else {VALUE: b"", INPUT: data, CODE: code}
                        given = data if plain else b""
                        yield await self._one(argv, work, given, job.limits, extra, wire)
                finally:
                    shutil.rmtree(work, ignore_errors=True)
        finally:
            for left in job.wires:
                left.close()
            shutil.rmtree(program, ignore_errors=True)

    async def close(self) -> None:
        """Remove the folder."""
        self.healthy = False
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _one(
        self,
        argv: list[str],
        work: Path,
        stdin: bytes,
        limits: Limits,
        extra: dict[int, bytes],
        wire: Wire | None = None,
    ) -> RunFacts:
        """One process. `extra` are files by their numbers in a jail; here they have others."""
        with contextlib.ExitStack() as stack:

            def file(data: bytes = b"") -> IO[bytes]:
                f = stack.enter_context(tempfile.TemporaryFile(dir=self._folder))
                f.write(data)
                f.seek(0)
                return f

            given, out, err = file(stdin), file(), file()
            files = {fd: file(data) for fd, data in extra.items()}
            started = time.monotonic()
            if "--harness" in argv[:-1]:
                argv = [
                    *argv,
                    *(
                        str(files[n].fileno()) if n in files else "-1"
                        for n in (VALUE, INPUT, CODE, PEER)
                    ),
                ]
            else:
                names = {
                    f"/proc/self/fd/{n}": f"/proc/self/fd/{f.fileno()}" for n, f in files.items()
                }
                argv = [names.get(a, a) for a in argv]
            streams: tuple[IO[bytes] | io.FileIO, IO[bytes] | io.FileIO] = given, out
            if wire is not None:
                streams = wire.stdin, wire.stdout
            running = _Running(self._spawn(argv, work, limits, streams, err, files))
            try:
                await self._watch(running, limits, started, out, err)
            finally:
                _kill_tree(running.process)
            ended = time.monotonic_ns()
            if wire is not None:
                wire.close()
            wall = ended / 1e9 - started
            code = running.process.returncode
            out.seek(0)
            err.seek(0)
            stdout = out.read(limits.output_bytes)
            total_out, total_err = os.fstat(out.fileno()).st_size, os.fstat(err.fileno()).st_size
            if running.killer is Killer.NONE and max(total_out, total_err) > limits.output_bytes:
                running.killer = Killer.OUTPUT
            value = None
            if VALUE in files:
                files[VALUE].seek(0)
                value = files[VALUE].read() or None
            return RunFacts(
                exit_code=code if code >= 0 else None,
                signal=-code if code < 0 else None,
                killer=running.killer,
                cpu_time_s=running.cpu,
                wall_time_s=wall,
                memory_bytes=running.memory,
                stdout=stdout,
                stderr=err.read(STDERR_KEEP),
                stdout_bytes=total_out,
                stderr_bytes=total_err,
                returned=value,
                ended_ns=ended,
            )

    @staticmethod
    def _spawn(
        argv: list[str],
        work: Path,
        limits: Limits,
        streams: tuple[IO[bytes] | io.FileIO, IO[bytes] | io.FileIO],
        err: IO[bytes],
        files: Mapping[int, IO[bytes]],
    ) -> subprocess.Popen[bytes]:
        def prepare() -> None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            seconds = int(limits.cpu_time_s) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            resource.setrlimit(resource.RLIMIT_NOFILE, (limits.open_files, limits.open_files))
            size = max(limits.file_bytes, limits.output_bytes + 1)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        environment = dict(ENVIRONMENT, HOME=str(work), TMPDIR=str(work))
        return subprocess.Popen(
            argv,
            stdin=streams[0],
            stdout=streams[1],
            stderr=err,
            cwd=work,
            env=environment,
            start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509 - the unsafe tier, said so
            pass_fds=[f.fileno() for f in files.values()],
        )

    @staticmethod
    async def _watch(
        running: _Running, limits: Limits, started: float, out: IO[bytes], err: IO[bytes]
    ) -> None:
        process = running.process
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(process.pid)
            while process.poll() is None:
                cpu, memory = 0.0, 0
                for member in [root, *root.children(recursive=True)]:
                    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                        times = member.cpu_times()
                        cpu += (
                            times.user + times.system + times.children_user + times.children_system
                        )
                        memory += member.memory_info().rss
                running.cpu, running.memory = max(running.cpu, cpu), max(running.memory, memory)
                if cpu >= limits.cpu_time_s:
                    running.killer = Killer.CPU
                elif memory > limits.memory_bytes:
                    running.killer = Killer.MEMORY
                elif time.monotonic() - started >= limits.wall_time_s:
                    running.killer = Killer.WALL
                elif (
                    max(os.fstat(out.fileno()).st_size, os.fstat(err.fileno()).st_size)
                    > limits.output_bytes
                ):
                    running.killer = Killer.OUTPUT
                else:
                    await asyncio.sleep(SAMPLE_S)
                    continue
                return


def _pack_outputs(work: Path, patterns: Sequence[str]) -> bytes:
    found = [
        p
        for pattern in patterns
        for p in sorted(work.glob(pattern))
        if p.is_file() and not p.is_symlink()
    ]
    packed: bytes = jobs.pack(
        [(str(p.relative_to(work)), int(os.access(p, os.X_OK)), p.read_bytes()) for p in found]
    )
    return packed


def _kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Best effort: a daemon that left the session and the tree gets away (hence `unsafe`)."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for member in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
