"""A program's side of the protocol that answers anything: drawn at random, or as a test says."""

from __future__ import annotations

import builtins
import contextlib
import json
import random
import socket
import struct
import threading

LENGTH = struct.Struct(">I")
BUILTINS = [name for name in dir(builtins) if not name.startswith("_")]
ERRORS = [
    name
    for name in BUILTINS
    if isinstance(getattr(builtins, name), type)
    and issubclass(getattr(builtins, name), BaseException)
]
SCALARS = [None, True, False, 0, 1, -1, 7, 1e308, "", "a", "s3", ["n", "nan"], ["n", "inf"]]
SPECIAL = [
    ["D", "NaN"],
    ["D", "sNaN"],
    ["D", "1e999999"],
    ["F", 1, 3],
    ["F", 1, 0],
    ["r", 0, 99, 1],
]
SPECIAL += [
    ["b", "AAAA"],
    ["c", "nan", "0"],
    ["T", [2020, 1, 1, 0, 0, 0, 0], None],
    ["e", [0, 0, 0]],
]
MALFORMED = [["h", "x"], ["h", []], ["zz"], [], {}, ["d", [1]], ["l", ["h", 0]], ["F", 1], ["T", 5]]
FRAMES = [["value"], ["value", 1], ["value", 1, 2, 3], ["zz", 1], ["names", {}], [], {"a": 1}, 5]
FRAMES += [["raise"], ["raise", 5, 5], ["raise", [], ""], ["raise", [["a"]], ""], ["back"]]


class RandomAnswers:
    """What it answers to one message: a list of messages, None for leaving."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def value(self, depth=0):
        draw = self.draw
        if depth < 3 and draw.random() < 0.35:
            return [
                draw.choice("ltsfq"),
                *[self.value(depth + 1) for _ in range(draw.randrange(3))],
            ]
        if depth < 3 and draw.random() < 0.1:
            return ["d", *[[self.value(depth + 1), self.value(depth + 1)] for _ in range(2)]]
        handle = ["h", draw.randrange(4), *draw.choice([(), (), ("test",)])]
        return draw.choice(draw.choice([SCALARS, SCALARS, SPECIAL, [handle], MALFORMED]))

    def names(self, wanted):
        found = {}
        for name in {*wanted, *self.draw.sample(BUILTINS, 8), "__builtins__", "check", "math"}:
            found[name] = self.draw.choice(
                [
                    ["object", self.draw.randrange(4)],
                    ["value", self.value()],
                    ["module", self.draw.choice(["os", "math", "unittest.mock", "sys"])],
                    ["exception", [name, self.draw.choice(ERRORS)]],
                ]
            )
        if self.draw.random() < 0.8:
            found["f"] = ["object", 0]
        return ["names", found]

    def __call__(self, message):
        draw = self.draw
        kind = draw.random()
        if message[0] == "names" and kind < 0.9:
            return [self.names(message[1])]
        if message[0] == "operator" and message[2] == "next" and kind < 0.5:
            return [["raise", ["StopIteration"], ""]]
        if kind < 0.65:
            changes = draw.choice(
                [{}, {}, {"0": self.value()}, {"0": ["l", 1]}, {"-1": 3}, {"x": 1}]
            )
            return [["value", self.value(), changes]]
        if kind < 0.8:
            names = [draw.choice(["X", "f", *ERRORS]), draw.choice(ERRORS)]
            return [["raise", names, draw.choice(["", "text", 5, None])]]
        if kind < 0.87:
            number, given = draw.choice([0, -1, "a", 99]), draw.choice([[], [1], [self.value()], 5])
            return [["back", number, given], *self(message)]
        if kind < 0.93:
            return [draw.choice(FRAMES)]
        return [None] if kind < 0.96 else [["value", self.value(), {}]] * 3


@contextlib.contextmanager
def program(answer):
    """A socket whose other end answers."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=_serve, args=(theirs, answer))
    thread.start()
    try:
        yield ours
    finally:
        ours.shutdown(socket.SHUT_RDWR)  # also of copies of it
        ours.close()
        thread.join()


def _serve(sock, answer):
    with sock, contextlib.suppress(EOFError, OSError):
        while True:
            message = json.loads(_exactly(sock, LENGTH.unpack(_exactly(sock, 4))[0]))
            if message[0] in ("back", "back_raise"):
                continue
            for reply in answer(message):
                if reply is None:
                    return
                data = json.dumps(reply).encode()
                sock.sendall(LENGTH.pack(len(data)) + data)


def _exactly(sock, size):
    data = b""
    while len(data) < size:
        got = sock.recv(size - len(data))
        if not got:
            raise EOFError
        data += got
    return data
