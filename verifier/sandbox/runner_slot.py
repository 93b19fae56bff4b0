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
from verifier.types import CompileFacts, Killer, Limits, RunFacts

logger = logging.getLogger(__name__)

# What a healthy runner may take beyond a run's own wall limit: jail set-up and tear-down, a big
# artifact.
GRACE_S = 20.0
CANCEL_S = 5.0
# How often a slot that is silent is looked at from outside; stopped so often in a row is stopped.
LOOK_S = 1.0
LOOKS = 2
MESSAGE_HEAD = 4096
# Standard output, standard error, and a value or an artifact.
_BLOBS = 3
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


_COUNTS = (
    "cpu_ns",
    "wall_ns",
    "memory",
    "oom_kills",
    "stdout_total",
    "stderr_total",
    "run_delay_ns",
    "ended_ns",
)


def facts_from_wire(header: dict[str, Any], blobs: Sequence[bytes]) -> RunFacts:
    """One run's facts.

    Raises:
        ProtocolError: They are no such thing.
    """
    try:
        if any(type(header[name]) is not int for name in _COUNTS) or any(
            type(header[name]) not in (int, type(None)) for name in ("exit_code", "signal")
        ):
            raise frames.ProtocolError("facts of the wrong type")
        return _facts(header, blobs)
    except (LookupError, ValueError, ArithmeticError) as e:
        raise frames.ProtocolError(f"malformed facts: {e!r}") from None


def _facts(header: dict[str, Any], blobs: Sequence[bytes]) -> RunFacts:
    return RunFacts(
        exit_code=header["exit_code"],
        signal=header["signal"],
        killer=Killer(header["killer"]),
        cpu_time_s=header["cpu_ns"] / 1e9,
        wall_time_s=header["wall_ns"] / 1e9,
        memory_bytes=header["memory"],
        oom_kills=header["oom_kills"],
        stdout=blobs[0],
        stderr=blobs[1],
        stdout_bytes=header["stdout_total"],
        stderr_bytes=header["stderr_total"],
        returned=blobs[2] if header["value"] and blobs[2] else None,
        run_delay_s=header["run_delay_ns"] / 1e9,
        ended_ns=header["ended_ns"],
        uncompiled=header.get("uncompiled") is True,
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
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
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
        reader = self._reader = _Reader(self._gone)
        transport, protocol = await loop.create_connection(
            lambda: asyncio.StreamReaderProtocol(reader), sock=sock
        )
        self._writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        # `drain` then means sent, and a descriptor goes where it belongs in the stream.
        self._writer.transport.set_write_buffer_limits(high=0)
        self._healthy = True
        with self._watchdog(timeout_s):
            header, _ = await self._read()
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
            answer, blobs = await self._read()
            if answer["op"] == "missing":
                raise ToolchainMissingError(str(answer.get("message")))
            facts = self._facts(answer, "compiled", blobs)
            self._check_room()
        self._rest(answer)
        ok = answer.get("ok") is True
        facts = dataclasses.replace(facts, returned=None)
        message = b"" if ok else (blobs[1] or blobs[0])[:MESSAGE_HEAD]
        return CompileFacts(
            ok=ok,
            facts=facts,
            artifact=blobs[2],
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
        try:
            with self._watchdog(GRACE_S + job.limits.wall_time_s):
                await self._write(header, artifact, *blobs)
                await self._hand_over(job)
            while True:
                with self._watchdog(GRACE_S + job.limits.wall_time_s):
                    answer, blobs = await self._read()
                if answer["op"] == "done":
                    finished = True
                    break
                facts = self._facts(answer, "facts", blobs)
                self._check_room()
                got += 1
                uncompiled = facts.uncompiled
                yield facts
            if got != len(job.inputs) and not uncompiled:
                self._healthy = False
                raise SlotError(f"{self._name}: {got} answers for {len(job.inputs)} runs")
            self._last_artifact = job.artifact
            self._rest(answer)
        finally:
            if not finished:
                await self._stop_batch()

    async def close(self) -> None:
        """Kill what runs and free the slot."""
        if self._closed:
            return
        self._closed = True
        self._healthy = False
        if hasattr(self, "_writer"):
            self._writer.transport.abort()
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
            with self._watchdog(CANCEL_S):
                await self._write({"op": "cancel"})
                while True:
                    header, _ = await self._read()
                    if header["op"] == "done":
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
            with self._watchdog(GRACE_S + wall_time_s):
                yield
            clean = True
        except ToolchainMissingError:
            clean = True
            raise
        finally:
            if not clean:
                self._healthy = False

    @contextlib.contextmanager
    def _watchdog(self, timeout_s: float) -> Any:
        """Abort the connection when the runner takes too long, or is seen to be stopped.

        The read then ends as if it had died.
        """
        loop = asyncio.get_running_loop()
        handle = loop.call_later(timeout_s, self._writer.transport.abort)
        looking: list[asyncio.Task[None]] = []
        look = None
        if self._stopped is not None:
            stopped = self._stopped
            look = loop.call_later(
                LOOK_S, lambda: looking.append(loop.create_task(self._look(stopped)))
            )
        try:
            yield
        finally:
            handle.cancel()
            if look is not None:
                look.cancel()
            for task in looking:
                task.cancel()

    async def _look(self, stopped: Callable[[], Awaitable[bool]]) -> None:
        seen = 0
        while seen < LOOKS:
            seen = seen + 1 if await stopped() else 0
            await asyncio.sleep(LOOK_S)
        self._trouble = "the runner is stopped"
        self._writer.transport.abort()

    def _facts(self, header: dict[str, Any], op: str, blobs: Sequence[bytes]) -> RunFacts:
        """The facts in a frame that has to be of this kind, with three blobs."""
        try:
            if header["op"] == op and len(blobs) == _BLOBS:
                return facts_from_wire(header, blobs)
            problem = header.get("message", header["op"])
        except frames.ProtocolError as e:
            problem = e
        self._healthy = False
        raise SlotError(f"{self._name}: {problem}")

    def _check_room(self) -> None:
        if self._held_back is not None and self._held_back():
            self._healthy = False
            raise SlotError(f"{self._name}: the slot's own limit of processes was met")

    async def _write(self, header: dict[str, Any], *blobs: bytes) -> None:
        try:
            for buffer in frames.encode(header, *blobs):
                self._writer.write(buffer)
            await self._writer.drain()
        except (ConnectionError, OSError) as e:
            self._healthy = False
            raise SlotError(f"{self._name}: the runner is gone ({e})") from e

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

    async def _read(self) -> tuple[dict[str, Any], list[bytes]]:
        try:
            head, body = frames.lengths(await self._reader.readexactly(frames.LENGTHS.size))
            header = json.loads(await self._reader.readexactly(head))
            data = await self._reader.readexactly(body) if body else b""
            return frames.checked(header), _split(data, header.get("sizes", []))
        except (
            asyncio.IncompleteReadError,
            ConnectionError,
            OSError,
            ValueError,
            RecursionError,
            frames.ProtocolError,
        ) as e:
            self._healthy = False
            raise SlotError(f"{self._name}: {self._trouble} ({type(e).__name__})") from e


class _Reader(asyncio.StreamReader):
    """Says at once when the other side is gone, whether anybody reads or not."""

    def __init__(self, gone: Callable[[], None]) -> None:
        super().__init__()
        self._tell = gone

    def feed_eof(self) -> None:
        super().feed_eof()
        self._tell()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self._tell()


def _split(body: bytes, sizes: object) -> list[bytes]:
    """The blobs of a frame."""
    return [bytes(blob) for blob in frames.split(body, sizes)]
