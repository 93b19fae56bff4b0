"""What a supervisor sends to its runner, and the artifact in it, which passed through caches."""

from __future__ import annotations

import contextlib
import socket
from unittest import mock

from verifier.runner.agent import frames, jobs

WORDS = (b'"op" "sizes" [ ] { } , : null true -1 1e999 "a" "../a" "/a"').split()


def target(data: bytes) -> None:
    with contextlib.suppress(jobs.Fault, frames.ProtocolError):
        for name, _, content in jobs.unpack(memoryview(data)):
            assert ".." not in name.split("/")
            assert not name.startswith("/")
            bytes(content)
    mine, theirs = socket.socketpair()
    with (
        mine,
        theirs,
        mock.patch.object(frames, "MAX_BODY", 1 << 20),
        mock.patch.object(frames, "MAX_HEADER", 1 << 20),
        contextlib.suppress(frames.ProtocolError),
    ):
        mine.sendall(data[:100_000])
        mine.close()
        channel = frames.Channel(theirs)
        while (frame := channel.read()) is not None:
            header, body = frame
            frames.split(body, header.get("sizes", ()))


def seeds() -> list[bytes]:
    return [
        b"".join(frames.encode({"op": "run", "sizes": [1, 2]}, b"a", b"bc")) * 2,
        *(b"".join(frames.encode({"sizes": sizes})) for sizes in (None, 1, [-1, 1], ["x"], {})),
        b"".join(frames.encode([])),
        b"".join(frames.encode([["a", 0, -1]])),
        b"".join(frames.encode([[0, 0, 0], None])),
        jobs.pack([("main.py", 0, b"x"), ("a/b", 1, b""), (".code", 0, b"yy")]),
        bytes(8),
        b"",
    ]
