"""The framed protocol between a slot's supervisor (host side) and its runner (jail side).

A frame is two big-endian 32-bit lengths, a header and a body of bytes. Lengths of the blobs inside
a body stand in the header. The supervisor sends one frame per batch of cases, not one per case; the
runner answers with one frame per run, and a last one. Any byte that arrives while a batch runs
cancels it.

A header is a JSON object with an "op". That of a run's facts, which are sent most, is a `FACTS`.
"""

import json
import struct
import time

LENGTHS = struct.Struct(">II")
MAX_HEADER = 64 * 1024 * 1024
MAX_BODY = 2 * 1024 * 1024 * 1024

PROTOCOL = 2

# Byte order aside: mark, killer, flags, exit code, signal (each -1 for none); CPU and wall time in
# nanoseconds, bytes of memory, out-of-memory kills, bytes of stdout and of stderr, nanoseconds in
# the kernel's run queue, the end on the monotonic clock; lengths of stdout, stderr and the value.
FACTS = struct.Struct(">BBBhh8q3I")
FACTS_MARK = 1  # no JSON begins with it
HAS_VALUE, UNCOMPILED = 1, 2
KILLERS = ("none", "cpu", "wall", "output", "memory", "cancel", "gone")

# How much, and for how long, the runner keeps to send it at once.
TOGETHER_BYTES = 32 * 1024
TOGETHER_S = 0.005


class ProtocolError(Exception):
    """The other side sent something that is not a frame."""


def encode(header, *blobs):
    """One frame as a list of buffers, of a header as object or as bytes.

    Small blobs are joined, as each buffer is sent by itself. Big ones are not copied.
    """
    if isinstance(header, bytes):
        head = header
    else:
        head = json.dumps(header, separators=(",", ":")).encode()
    small = [LENGTHS.pack(len(head), sum(map(len, blobs))), head]
    buffers = []
    for blob in blobs:
        if len(blob) <= TOGETHER_BYTES:
            small.append(blob)
        else:
            buffers += [b"".join(small), blob]
            small = []
    if small:
        buffers.append(b"".join(small))
    return [buffer for buffer in buffers if len(buffer)]


def facts_header(facts, blobs):
    """The header of a run's facts, as bytes; `blobs` are stdout, stderr and the value."""
    exit_code, signal = facts["exit_code"], facts["signal"]
    return FACTS.pack(
        FACTS_MARK,
        KILLERS.index(facts["killer"]),
        (HAS_VALUE if facts["value"] else 0) | (UNCOMPILED if facts["uncompiled"] else 0),
        -1 if exit_code is None else exit_code,
        -1 if signal is None else signal,
        facts["cpu_ns"],
        facts["wall_ns"],
        facts["memory"],
        facts["oom_kills"],
        facts["stdout_total"],
        facts["stderr_total"],
        facts["run_delay_ns"],
        facts["ended_ns"],
        *map(len, blobs),
    )


def lengths(prefix):
    """The two lengths of a frame's first eight bytes, checked."""
    if len(prefix) != LENGTHS.size:
        raise ProtocolError("%d bytes in place of a frame's lengths" % len(prefix))
    head, body = LENGTHS.unpack(prefix)
    if head > MAX_HEADER or body > MAX_BODY:
        raise ProtocolError("frame of %d + %d bytes" % (head, body))
    return head, body


def checked(header):
    """A decoded header: an object that says what the frame is."""
    if not isinstance(header, dict) or not isinstance(header.get("op"), str):
        raise ProtocolError("a header without an op")
    return header


def split(body, sizes):
    """The blobs of a body, as memoryviews."""
    view, at, out = memoryview(body), 0, []
    if not isinstance(sizes, list) or any(type(s) is not int or s < 0 for s in sizes):
        raise ProtocolError("sizes that are none")
    for size in sizes:
        out.append(view[at : at + size])
        at += size
    if at != len(view):
        raise ProtocolError("blobs of %d bytes in a body of %d" % (at, len(view)))
    return out


class Channel:
    """Blocking frames over a stream socket: the runner's end."""

    def __init__(self, sock):
        self.sock = sock
        self.unsent = bytearray()
        self.sent_at = 0.0

    def fileno(self):
        return self.sock.fileno()

    def read(self):
        """(header, body), or None when the supervisor is gone."""
        prefix = self._exactly(LENGTHS.size)
        if prefix is None:
            return None
        head_len, body_len = lengths(prefix)
        head = self._exactly(head_len)
        body = self._exactly(body_len) if head is not None else None
        if body is None:
            return None
        try:
            return checked(json.loads(bytes(head))), body
        except (ValueError, RecursionError):
            raise ProtocolError("a header that is no JSON") from None

    def write(self, header, *blobs):
        """Send a frame, and before it what `write_soon` has kept."""
        buffers = encode(header, *blobs)
        if sum(map(len, buffers)) <= TOGETHER_BYTES:
            self.unsent += b"".join(buffers)
            buffers = []
        for buffer in (self.unsent, *buffers):
            if buffer:
                self.sock.sendall(buffer)
        self.unsent = bytearray()
        self.sent_at = time.monotonic()

    def write_soon(self, header, *blobs):
        """Keep a small frame for the next one, unless the last was sent some milliseconds ago.

        A frame that is sent wakes the supervisor, which costs more than the frame. The last one of
        a batch has to be a `write`.
        """
        size = len(self.unsent) + sum(map(len, blobs))
        if size > TOGETHER_BYTES or time.monotonic() - self.sent_at > TOGETHER_S:
            self.write(header, *blobs)
        else:
            self.unsent += b"".join(encode(header, *blobs))

    def _exactly(self, size):
        data = bytearray(size)
        view, at = memoryview(data), 0
        while at < size:
            try:
                got = self.sock.recv_into(view[at:])
            except ConnectionResetError:
                return None
            if got == 0:
                return None
            at += got
        return data
