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
from verifier.sandbox.runner_slot import RunnerSlot
from verifier.types import Harness


class Writer:
    """Takes what is sent, and forgets it."""

    def __init__(self) -> None:
        self.transport = self

    def write(self, data: bytes) -> None:
        pass

    async def drain(self) -> None:
        pass

    def abort(self) -> None:
        pass


WORDS = (
    b'"op" "facts" "done" "compiled" "missing" "ok" "sizes" "killer" "exit_code" "message"'
    b" [ ] { } , : null true -1 1e999"
).split()


def target(data: bytes) -> None:
    with mock.patch.object(frames, "MAX_BODY", 1 << 20):
        asyncio.run(_supervise(data[1:], with_compile=data[:1] > b"\x7f"))


async def _supervise(data: bytes, *, with_compile: bool) -> None:
    slot = RunnerSlot("fuzzed", on_close=_nothing)
    slot.ready = {"memory_base": 0}
    slot._healthy = True
    slot._writer = Writer()  # type: ignore[assignment]
    slot._reader = asyncio.StreamReader()
    slot._reader.feed_data(data)
    slot._reader.feed_eof()
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


def seeds() -> list[bytes]:
    facts = {
        "op": "facts",
        "exit_code": 0,
        "signal": None,
        "killer": "none",
        "cpu_ns": 1,
        "wall_ns": 1,
        "memory": 1,
        "oom_kills": 0,
        "stdout_total": 1,
        "stderr_total": 1,
        "value": False,
        "run_delay_ns": 0,
        "ended_ns": 0,
        "sizes": [1, 1, 0],
    }

    def stream(*items: tuple[object, ...]) -> bytes:
        return b"".join(b"".join(frames.encode(*item)) for item in items)

    compiled = {**facts, "op": "compiled", "ok": True, "sizes": [0, 0, 1]}
    return [
        b"\0" + stream((facts, b"o", b"e"), (facts, b"o", b"e"), ({"op": "done"},)),
        *(b"\0" + stream((other, b"o", b"e"), (facts, b"o", b"e")) for other in broken(facts)),
        *(b"\x80" + stream((other, b"a")) for other in broken(compiled)),
        b"\0" + stream(({"op": "fault", "message": "x"},)),
        b"\0" + stream(({"op": "facts"},)),
        b"\0" + stream(([],)),
        b"\x80" + stream((compiled, b"a")),
        b"\x80" + stream(({"op": "missing", "message": "x"},)),
    ]
