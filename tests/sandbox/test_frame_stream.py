"""Frames cut out of what a socket gives, and the clock over the waits for them."""

from __future__ import annotations

import asyncio
import socket

import pytest

from verifier.runner.agent import frames
from verifier.sandbox import frame_stream
from verifier.sandbox.frame_stream import FrameStream
from verifier.sandbox.watchdog import LOOK_S, LOOKS, Watchdog

BIG = frame_stream._BUFFER_BYTES * 3 + 17
FRAMES = [(b"{}", b""), (b"\x01abc", b"out"), (b"{}", b"x" * BIG), (b"h" * BIG, b""), (b"{}", b"y")]


def packed(*items: tuple[bytes, bytes]) -> bytes:
    return b"".join(frames.LENGTHS.pack(len(head), len(body)) + head + body for head, body in items)


async def connected():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)  # noqa: FBT003 - its only parameter
    gone = []
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(lambda: FrameStream(lambda: gone.append(1)), sock=ours)
    theirs.setblocking(False)  # noqa: FBT003 - its only parameter
    return stream, theirs, gone


@pytest.mark.parametrize("step", [1, 7, 1000, 1 << 30])
async def test_frames_come_whole_however_they_are_cut(step):
    stream, theirs, gone = await connected()
    # Byte by byte only what is small: the large ones take the same way in steps of a thousand.
    sent = [f for f in FRAMES if step > 1 or len(f[0]) + len(f[1]) < 100]
    data, loop = packed(*sent), asyncio.get_running_loop()

    async def send():
        for at in range(0, len(data), step):
            await loop.sock_sendall(theirs, data[at : at + step])
        theirs.close()

    sending = asyncio.create_task(send())
    assert [await stream.read() for _ in sent] == sent
    await sending
    with pytest.raises(ConnectionError):
        await stream.read()
    assert stream.ended
    assert gone == [1]
    # What a large frame needed was given back.
    assert len(stream._buffer) == frame_stream._BUFFER_BYTES


async def test_what_came_before_the_end_is_read():
    stream, theirs, gone = await connected()
    await asyncio.get_running_loop().sock_sendall(theirs, packed(*FRAMES[:2]) + b"\0\0")
    theirs.close()
    while not gone:
        await asyncio.sleep(0)
    assert not stream.ended
    assert [stream.ready(), stream.ready(), stream.ready()] == [*FRAMES[:2], None]
    assert stream.ended


@pytest.mark.parametrize(
    "data", [packed((b"", b"body")), frames.LENGTHS.pack(frames.MAX_HEADER + 1, 0)]
)
async def test_what_is_no_frame_ends_the_connection(data):
    stream, theirs, gone = await connected()
    await asyncio.get_running_loop().sock_sendall(theirs, packed(FRAMES[1]) + data)
    assert await stream.read() == FRAMES[1]
    with pytest.raises(frames.ProtocolError):
        await stream.read()
    assert gone == [1]
    assert await asyncio.get_running_loop().sock_recv(theirs, 1) == b""
    theirs.close()


async def test_nothing_is_read_far_ahead():
    stream, theirs, _ = await connected()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    frame = b"{}", b"z" * (frame_stream.AHEAD_BYTES // 4)
    sending = asyncio.create_task(
        asyncio.get_running_loop().sock_sendall(theirs, packed(*[frame] * 40))
    )
    while stream._transport.is_reading():
        await asyncio.sleep(0)
    assert not sending.done()
    assert stream._ahead <= frame_stream.AHEAD_BYTES + 2 * len(frame[1])
    assert [await stream.read() for _ in range(40)] == [frame] * 40
    await sending
    stream.abort()
    theirs.close()


async def test_a_write_ends_when_all_is_sent():
    stream, theirs, _ = await connected()
    loop = asyncio.get_running_loop()
    writing = asyncio.create_task(stream.write([b"a" * (8 << 20), b"b"]))
    got = await loop.sock_recv(theirs, 1 << 20)
    assert not writing.done()
    while not writing.done():
        got += await loop.sock_recv(theirs, 1 << 20)
    theirs.setblocking(True)  # noqa: FBT003 - its only parameter
    while len(got) < (8 << 20) + 1:
        got += theirs.recv(1 << 20)
    assert got == b"a" * (8 << 20) + b"b"
    stream.abort()
    theirs.close()


async def test_a_write_to_one_who_is_gone_fails():
    stream, theirs, gone = await connected()
    writing = asyncio.create_task(stream.write([b"a" * (8 << 20)]))
    await asyncio.get_running_loop().sock_recv(theirs, 1)
    theirs.close()
    with pytest.raises(ConnectionError):
        await writing
    assert gone == [1]


class Clock:
    """A loop's time and its timers, which a test moves on."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        self.due = []
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "time", lambda: self.now)
        monkeypatch.setattr(loop, "call_later", self.call_later)

    def call_later(self, seconds, callback):
        handle = asyncio.TimerHandle(self.now + seconds, callback, (), asyncio.get_running_loop())
        self.due.append(handle)
        return handle

    def to(self, seconds):
        """This long after the beginning."""
        while ready := [h for h in self.due if h.when() <= 100 + seconds and not h.cancelled()]:
            first = min(ready, key=lambda h: h.when())
            self.due.remove(first)
            self.now = first.when()
            first._run()
        self.now = 100 + seconds


async def test_only_what_waits_is_late(monkeypatch):
    clock, late = Clock(monkeypatch), []
    dog = Watchdog(10, lambda: late.append(clock.now))
    dog.watch()
    clock.to(9)
    dog.rest()
    clock.to(50)  # whoever reads takes their time
    dog.watch()
    clock.to(55)
    dog.watch()  # an answer came: the next wait has its own ten seconds
    clock.to(64)
    assert late == []
    clock.to(66)
    assert late == [165]
    dog.close()


async def test_one_that_is_closed_is_never_late(monkeypatch):
    clock, late = Clock(monkeypatch), []
    dog = Watchdog(10, lambda: late.append(clock.now))
    dog.watch()
    dog.close()
    clock.to(99)
    assert late == []


@pytest.mark.parametrize("answers", [[True] * LOOKS, [True, False, True, True]])
async def test_one_that_is_stopped_is_seen(monkeypatch, answers):
    clock, seen, asked = Clock(monkeypatch), asyncio.Event(), []

    async def stopped():
        asked.append(1)
        return answers[len(asked) - 1]

    async def sleep(seconds):
        assert seconds == LOOK_S

    monkeypatch.setattr("verifier.sandbox.watchdog.asyncio.sleep", sleep)
    dog = Watchdog(1e6, lambda: None, stopped, seen.set)
    dog.watch()
    clock.to(LOOK_S * 0.9)
    assert dog._looking is None
    clock.to(LOOK_S * 1.1)
    await seen.wait()
    assert len(asked) == len(answers)
    dog.close()


async def test_an_answer_ends_the_look(monkeypatch):
    clock, seen, asked = Clock(monkeypatch), [], asyncio.Event()

    async def stopped():
        asked.set()
        await asyncio.Event().wait()

    dog = Watchdog(1e6, lambda: None, stopped, lambda: seen.append(1))
    dog.watch()
    clock.to(LOOK_S * 1.5)
    await asked.wait()
    looking = dog._looking
    dog.rest()
    await asyncio.gather(looking, return_exceptions=True)
    assert looking.cancelled()
    assert seen == []
    dog.close()
