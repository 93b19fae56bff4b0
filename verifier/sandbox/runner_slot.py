"""A slot behind a runner: the supervisor's end of the framed protocol.

How the runner came to be (a child process, a container) is the backend's business; here is one
stream socket to it. A runner that answers late, wrong or not at all is a `SlotError`, and the slot
is not used again.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from verifier.errors import BackendError, SlotError
from verifier.runner.agent import frames
from verifier.sandbox.base import CompileJob, RunJob
from verifier.sandbox.frame_stream import FrameStream
from verifier.sandbox.watchdog import Watchdog
from verifier.types import CompileFacts, Killer, Limits, RunFacts

logger = logging.getLogger(__name__)

# What a healthy runner may take beyond a run's own wall limit: jail set-up and tear-down, a big
# artifact.
GRACE_S = 20.0
CANCEL_S = 5.0
MESSAGE_HEAD = 4096
# What a slot's cgroup is bounded by at the least, above its own idle use: kernel memory that stays
# charged, and a runner in the same group (a container) that has grown (seen: 6 MiB), would make a
# smaller bound impossible to set.
MIN_MEMORY_BYTES = 8 * 1024 * 1024


class ToolchainMissingError(BackendError):
    """The sandbox has no compiler or interpreter for this language."""


def limits_to_wire(limits: Limits) -> dict[str, Any]:
    """The limits as the runner reads them."""
    return {
        "cpu_time_s": limits.cpu_time_s,
        "wall_time_s": limits.wall_time_s,
        "memory_bytes": limits.memory_bytes,
        "output_bytes": limits.output_bytes,
        "processes": limits.processes,
        "file_bytes": limits.file_bytes,
        "open_files": limits.open_files,
    }


# The last one, "gone", is what a runner tells itself.
_KILLERS = tuple(Killer(name) for name in frames.KILLERS[:-1])


def facts_from_wire(head: bytes, body: bytes) -> RunFacts:
    """One run's facts, of their frame.

    Raises:
        ProtocolError: They are no such thing.
    """
    if len(head) != frames.FACTS.size or head[0] != frames.FACTS_MARK:
        raise frames.ProtocolError("facts of another size")
    _, killer, flags, exit_code, signal, *numbers = frames.FACTS.unpack(head)
    cpu_ns, wall_ns, memory, oom_kills, stdout_total, stderr_total, *numbers = numbers
    run_delay_ns, ended_ns, stdout, stderr, value = numbers
    errors = stdout + stderr
    if killer >= len(_KILLERS) or exit_code < -1 or signal < -1 or errors + value != len(body):
        raise frames.ProtocolError("malformed facts")
    return RunFacts(
        exit_code=None if exit_code < 0 else exit_code,
        signal=None if signal < 0 else signal,
        killer=_KILLERS[killer],
        cpu_time_s=cpu_ns / 1e9,
        wall_time_s=wall_ns / 1e9,
        memory_bytes=memory,
        oom_kills=oom_kills,
        stdout=body[:stdout],
        stderr=body[stdout:errors],
        stdout_bytes=stdout_total,
        stderr_bytes=stderr_total,
        returned=body[errors:] if flags & frames.HAS_VALUE and value else None,
        run_delay_s=run_delay_ns / 1e9,
        ended_ns=ended_ns,
        uncompiled=bool(flags & frames.UNCOMPILED),
    )


class RunnerSlot:
    """One runner. `spawn` runs Python programs in a fresh interpreter instead of the warm one.

    Attributes:
        ready: The runner's first frame.
        pid: Of the slot's first process as this host sees it, for sweeps; 0 where it cannot be
            seen.
    """

    def __init__(
        self,
        name: str,
        *,
        on_close: Callable[[], Awaitable[None]],
        set_memory: Callable[[int], Awaitable[None]] | None = None,
        stopped: Callable[[], Awaitable[bool]] | None = None,
        held_back: Callable[[], bool] | None = None,
        spawn: bool = False,
    ) -> None:
        """Make the slot; `connect` has to follow.

        Args:
            name: Unique within the process.
            on_close: Frees what the backend made for it.
            set_memory: Sets the bound of the slot's cgroup, in bytes; None where there is none.
            stopped: Whether the runner is stopped, or its container paused, as far as can be seen
                from outside; None where nothing can.
            held_back: Whether a program was refused something that its own limits allow; its
                answers are then no verdict. None where that cannot be seen.
            spawn: See the class.
        """
        self._stopped = stopped
        self._held_back = held_back
        self._watcher: Callable[[], None] | None = None
        self._trouble = "the runner is gone"
        self._name = name
        self._on_close = on_close
        self._set_memory = set_memory
        self._spawn = spawn
        self._memory_bytes = 0
        self._healthy = False
        self._closed = False
        self._last_artifact: bytes | None = None
        self._program = 0
        self._stream: FrameStream
        self._sock: socket.socket
        self.ready: dict[str, Any] = {}
        self.pid = 0

    @property
    def name(self) -> str:
        """Unique within the process."""
        return self._name

    @property
    def healthy(self) -> bool:
        """Whether the slot may be used again."""
        return self._healthy

    def watch(self, gone: Callable[[], None]) -> None:
        """Call this when the runner dies, also while nothing runs there."""
        self._watcher = gone

    def _gone(self) -> None:
        if self._closed:
            return
        # Answers that have come already are read, and are good.
        self._healthy = False
        if self._watcher is not None:
            self._watcher()

    async def connect(self, sock: socket.socket, timeout_s: float = GRACE_S) -> None:
        """Wait for the runner's first frame.

        Raises:
            SlotError: It did not come.
            BackendError: The runner could not build its jail; the message names the step.
        """
        sock.setblocking(False)  # noqa: FBT003 - its only parameter
        self._sock = sock.dup()  # asyncio's own does not send descriptors
        loop = asyncio.get_running_loop()
        _, self._stream = await loop.create_connection(lambda: FrameStream(self._gone), sock=sock)
        self._healthy = True
        with self._watched(timeout_s):
            header = self._header(await self._next())
        if header["op"] == "refused":
            self._healthy = False
            raise BackendError(f"the jail cannot be built here: {header.get('step')}")
        if (
            header["op"] != "ready"
            or header.get("protocol") != frames.PROTOCOL
            or type(header.get("memory_base")) is not int
        ):
            self._healthy = False
            raise SlotError(f"{self._name}: unexpected first frame {header!r}")
        self.ready = header

    async def compile(self, job: CompileJob) -> CompileFacts:
        """See `Slot.compile`."""
        await self._prepare(job.limits)
        self._last_artifact = None  # the runner clears /program
        header = {
            "op": "compile",
            "harness": job.harness.value,
            "spawn": self._spawn,
            "names": list(job.files),
            "argv": job.argv,
            "outputs": job.outputs,
            "env": job.env,
            "limits": limits_to_wire(job.limits),
            "sizes": [len(data) for data in job.files.values()],
        }
        with self._in_use(job.limits.wall_time_s):
            await self._write(header, *job.files.values())
            frame = await self._next()
            if frame[0][0] != frames.FACTS_MARK:
                answer = self._answer(frame, "missing")
                raise ToolchainMissingError(str(answer.get("message")))
            facts = self._facts(frame)
            answer = self._answer(await self._next(), "compiled")
            self._check_room()
        self._rest(answer)
        ok = answer.get("ok") is True
        message = b"" if ok else (facts.stderr or facts.stdout)[:MESSAGE_HEAD]
        return CompileFacts(
            ok=ok,
            facts=dataclasses.replace(facts, returned=None),
            artifact=facts.returned or b"",
            message=message.decode("utf-8", "replace"),
        )

    async def run(self, job: RunJob) -> AsyncIterator[RunFacts]:
        """See `Slot.run`."""
        await self._prepare(job.limits)
        same = bool(job.artifact) and job.artifact == self._last_artifact
        artifact = b"" if same else job.artifact
        if not same:
            self._program += 1
        blobs: Sequence[bytes] = job.inputs
        if job.extra:
            blobs = [b for one, two in zip(job.inputs, job.extra, strict=True) for b in (one, *two)]
        header = {
            "op": "run",
            "harness": job.harness.value,
            "spawn": self._spawn,
            "program": self._program,
            "argv": job.argv,
            "fn_name": job.fn_name,
            "env": job.env,
            "limits": limits_to_wire(job.limits),
            "sizes": [len(artifact), *map(len, blobs)],
            "extra": 2 if job.extra else 0,
            "peers": len(job.peers),
            "wires": len(job.wires),
            "channel": job.channel,
        }
        self._last_artifact = None
        got = 0
        finished = uncompiled = False
        self._busy()
        dog = self._watchdog(GRACE_S + job.limits.wall_time_s)
        try:
            dog.watch()
            await self._write(header, artifact, *blobs)
            await self._hand_over(job)
            while True:
                frame = self._stream.ready()
                if frame is None:
                    dog.watch()
                    frame = await self._next()
                dog.rest()
                if frame[0][0] != frames.FACTS_MARK:
                    break
                facts = self._facts(frame)
                self._check_room()
                got += 1
                uncompiled = facts.uncompiled
                yield facts
            answer = self._answer(frame, "done")
            finished = True
            if got != len(job.inputs) and not uncompiled:
                self._healthy = False
                raise SlotError(f"{self._name}: {got} answers for {len(job.inputs)} runs")
            self._last_artifact = job.artifact
            self._rest(answer)
        finally:
            dog.close()
            if not finished:
                await self._stop_batch()

    async def close(self) -> None:
        """Kill what runs and free the slot."""
        if self._closed:
            return
        self._closed = True
        self._healthy = False
        if hasattr(self, "_stream"):
            self._stream.abort()
            self._sock.close()
        await self._on_close()

    # ------------------------------------------------------------ plumbing

    def _rest(self, answer: dict[str, Any]) -> None:
        """The answers are good, but something of the run is still charged to the slot."""
        if answer.get("tired") is True:
            self._healthy = False
            logger.warning("%s: a run's memory was not freed; the slot is replaced", self._name)

    async def _prepare(self, limits: Limits) -> None:
        if self._set_memory is None or limits.memory_bytes == self._memory_bytes:
            return
        bound = max(limits.memory_bytes, MIN_MEMORY_BYTES) + self.ready["memory_base"]
        try:
            await self._set_memory(bound)
        except SlotError:
            self._healthy = False  # a fresh one may take it
            raise
        self._memory_bytes = limits.memory_bytes

    async def _stop_batch(self) -> None:
        """The caller no longer wants the batch: kill the run, and read up to the batch's end."""
        if not self._healthy:
            return
        try:
            with self._watched(CANCEL_S):
                await self._write({"op": "cancel"})
                while True:
                    frame = await self._next()
                    if frame[0][0] != frames.FACTS_MARK and self._header(frame)["op"] == "done":
                        break
        except BaseException:
            self._healthy = False
            raise

    def _busy(self) -> None:
        if not self._healthy:
            raise SlotError(f"{self._name}: the slot is dead")

    @contextlib.contextmanager
    def _in_use(self, wall_time_s: float) -> Any:
        """Anything but a clean end leaves the slot unusable."""
        self._busy()
        clean = False
        try:
            with self._watched(GRACE_S + wall_time_s):
                yield
            clean = True
        except ToolchainMissingError:
            clean = True
            raise
        finally:
            if not clean:
                self._healthy = False

    @contextlib.contextmanager
    def _watched(self, timeout_s: float) -> Any:
        """Watch all that is done in this block, as one wait."""
        dog = self._watchdog(timeout_s)
        dog.watch()
        try:
            yield
        finally:
            dog.close()

    def _watchdog(self, timeout_s: float) -> Watchdog:
        """Aborts the connection: the read then ends as if the runner had died."""
        return Watchdog(timeout_s, self._stream.abort, self._stopped, self._seen_stopped)

    def _seen_stopped(self) -> None:
        self._trouble = "the runner is stopped"
        self._stream.abort()

    def _facts(self, frame: tuple[bytes, bytes]) -> RunFacts:
        try:
            return facts_from_wire(*frame)
        except frames.ProtocolError as e:
            raise self._broken(e) from e

    def _header(self, frame: tuple[bytes, bytes]) -> dict[str, Any]:
        """A header that is JSON, of a frame without a body."""
        try:
            header: dict[str, Any] = frames.checked(json.loads(frame[0]))
        except (ValueError, RecursionError, frames.ProtocolError) as e:
            raise self._broken(f"{self._trouble} ({type(e).__name__})") from e
        return header

    def _answer(self, frame: tuple[bytes, bytes], op: str) -> dict[str, Any]:
        """A header that has to be of this kind; of another, its message is the fault."""
        header = self._header(frame)
        if header["op"] != op:
            raise self._broken(header.get("message", header["op"]))
        return header

    def _broken(self, problem: object) -> SlotError:
        self._healthy = False
        return SlotError(f"{self._name}: {problem}")

    def _check_room(self) -> None:
        if self._held_back is not None and self._held_back():
            self._healthy = False
            raise SlotError(f"{self._name}: the slot's own limit of processes was met")

    async def _write(self, header: dict[str, Any], *blobs: bytes) -> None:
        try:
            await self._stream.write(frames.encode(header, *blobs))
        except (ConnectionError, frames.ProtocolError) as e:
            raise self._broken(f"the runner is gone ({e})") from e

    async def _next(self) -> tuple[bytes, bytes]:
        try:
            return await self._stream.read()
        except (ConnectionError, frames.ProtocolError) as e:
            raise self._broken(f"{self._trouble} ({type(e).__name__})") from e

    async def _hand_over(self, job: RunJob) -> None:
        """Send descriptors behind the frame that announced them, and close our copies."""
        fds = [peer.fileno() for peer in job.peers]
        fds += [end.fileno() for wire in job.wires for end in (wire.stdin, wire.stdout)]
        if not fds:
            return
        try:
            while True:
                try:
                    socket.send_fds(self._sock, [b"F"], fds)
                except BlockingIOError:  # noqa: PERF203 - once, as a rule
                    await asyncio.sleep(0.001)
                else:
                    break
        except OSError as e:
            self._healthy = False
            raise SlotError(f"{self._name}: the runner is gone ({e})") from e
        finally:
            for peer in job.peers:
                peer.close()
            for wire in job.wires:
                wire.close()
