"""What a runner sends to its supervisor: the jail's side is not trusted."""

from __future__ import annotations

import asyncio
import contextlib
from unittest import mock

from tests.fuzz.common import broken
from verifier.errors import InfraError
from verifier.limits import DEFAULT_LIMITS
from verifier.runner.agent import frames
from verifier.sandbox.base import CompileJob, RunJob
from verifier.sandbox.frame_stream import FrameStream
from verifier.sandbox.runner_slot import RunnerSlot
from verifier.types import Harness


class Transport(asyncio.Transport):
    """Takes what is sent, and forgets it."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def write(self, data: object) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def abort(self) -> None:
        pass


WORDS = (
    b'"op" "done" "compiled" "missing" "ok" "tired" "message" \x01 [ ] { } , : null true -1 1e999'
).split()


def target(data: bytes) -> None:
    with mock.patch.object(frames, "MAX_BODY", 1 << 20):
        asyncio.run(_supervise(data[1:], with_compile=data[:1] > b"\x7f"))


async def _supervise(data: bytes, *, with_compile: bool) -> None:
    slot = RunnerSlot("fuzzed", on_close=_nothing)
    slot.ready = {"memory_base": 0}
    stream = slot._stream = FrameStream(slot._gone)
    stream.connection_made(Transport())
    feed(stream, data)
    stream.eof_received()
    slot._healthy = True
    with contextlib.suppress(InfraError):
        if with_compile:
            job = CompileJob(Harness.EXEC, {"a.c": b""}, ("cc",), ("a",), DEFAULT_LIMITS)
            compiled = await slot.compile(job)
            assert isinstance(compiled.ok, bool)
            return
        run = RunJob(Harness.EXEC, b"", ("true",), (b"", b""), DEFAULT_LIMITS)
        async for facts in slot.run(run):
            assert isinstance(facts.stdout, bytes)


async def _nothing() -> None:
    pass


def feed(stream: FrameStream, data: bytes) -> None:
    """As the event loop does."""
    while data and stream._ended is None:
        room = stream.get_buffer(-1)
        size = min(len(room), len(data))
        room[:size] = data[:size]
        data = data[size:]
        stream.buffer_updated(size)


def seeds() -> list[bytes]:
    facts: dict[str, object] = {
        **dict.fromkeys(("cpu_ns", "wall_ns", "memory", "stdout_total", "stderr_total"), 1),
        **dict.fromkeys(("exit_code", "oom_kills", "run_delay_ns", "ended_ns"), 0),
        "signal": None,
        "killer": "none",
        "value": False,
        "uncompiled": False,
    }

    def stream(*items: tuple[object, ...]) -> bytes:
        return b"".join(b"".join(frames.encode(*item)) for item in items)

    def run(*blobs: bytes, **changes: object) -> tuple[object, ...]:
        return frames.facts_header({**facts, **changes}, blobs), *blobs

    head, *blobs = run(b"o", b"e", b"")
    assert isinstance(head, bytes)
    odd = [head[:-1], head + b"\0", head[:1] + b"\xff" + head[2:], head[:3] + b"\x80" + head[4:]]
    compiled = {"op": "compiled", "ok": True, "tired": False}
    artifact = run(b"", b"", b"a", value=True)
    return [
        b"\0" + stream(run(b"o", b"e", b""), run(b"o", b"e", b""), ({"op": "done"},)),
        b"\0" + stream(run(b"o" * 200_000, b"e", b""), run(b"", b"", b"v", value=True)),
        *(b"\0" + stream((other, *blobs), ({"op": "done"},)) for other in odd),
        *(b"\x80" + stream(artifact, (other,)) for other in broken(compiled)),
        b"\0" + stream(run(b"", b"", b"", uncompiled=True), ({"op": "done"},)),
        b"\0" + stream(({"op": "fault", "message": "x"},)),
        b"\0" + stream((b"",)),
        b"\0" + stream(([],)),
        b"\x80" + stream(artifact, (compiled,)),
        b"\x80" + stream(artifact, artifact),
        b"\x80" + stream(({"op": "missing", "message": "x"},)),
    ]
