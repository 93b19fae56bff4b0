"""What the two sides of a test share: messages over a socket, and exceptions as plain data."""

import builtins
import json
import socket
import struct

from . import plain

LENGTH = struct.Struct(">I")


class Gone(BaseException):
    """The program's process is not there any more.

    No `except Exception` of a test may hide that.
    """


class Link:
    """Messages over the socket between the sides: a list whose first item says what it is."""

    def __init__(self, fd):
        self.sock = socket.socket(fileno=fd)

    def send(self, message):
        data = json.dumps(message, separators=(",", ":")).encode()
        if len(data) > plain.MAX_BYTES + 4096:
            raise plain.NotPlain("the value is too large")
        try:
            self.sock.sendall(LENGTH.pack(len(data)) + data)
        except OSError:
            raise Gone from None

    def receive(self):
        (size,) = LENGTH.unpack(self.exactly(LENGTH.size))
        if size > plain.MAX_BYTES + 4096:
            raise Gone
        return json.loads(bytes(self.exactly(size)))

    def exactly(self, size):
        data, at = bytearray(size), 0
        view = memoryview(data)
        while at < size:
            try:
                got = self.sock.recv_into(view[at:])
            except OSError:
                got = 0
            if got == 0:
                raise Gone
            at += got
        return data


def describe(error):
    """An exception as data: its ancestry by name, its text, its arguments and its attributes.

    The latter two are there as far as they are plain.
    """
    try:
        text = str(error)[:2000]
    except BaseException:
        text = ""
    arguments, attributes = None, {}
    try:
        arguments = [plain.Encoder().encode(a, 0) for a in error.args]
        for name, value in vars(error).items():
            attributes[name] = plain.Encoder().encode(value, 0)
    except Exception:
        pass
    return [ancestry(type(error)), text, arguments, attributes]


def ancestry(kind):
    """Names from the class itself up to the first built-in one."""
    names = []
    for base in kind.__mro__:
        names.append(base.__name__)
        if base.__module__ == "builtins":
            break
    return names


def builtin_exception(names):
    """The built-in exception at the end of an ancestry."""
    found = getattr(builtins, names[-1] if names else "", None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else Exception


def harmless(kind):
    """What may be raised on the test side in place of `kind`.

    SystemExit and the like are the program's business; StopIteration would end a loop of the test's
    early, as if all had been looked at (`all(map(check, cases))`).
    """
    if issubclass(kind, Exception) and not issubclass(kind, (StopIteration, StopAsyncIteration)):
        return kind
    return RuntimeError


def rebuild(described, introduced=None, stops=True):
    """An exception like the one that `describe` was asked about on the other side.

    `stops`: it may be a StopIteration.
    """
    names, text, arguments, attributes = described
    kind = next((introduced[n] for n in names if introduced and n in introduced), None)
    if kind is None:
        kind = builtin_exception(names)
        if not (stops and kind is StopIteration):
            kind = harmless(kind)
    try:
        error = kind(*plain.decode(["l", *arguments], None))
        if str(error) != text:
            error = kind(text)
    except Exception:
        try:
            error = kind(text)
        except Exception:
            return RuntimeError("%s: %s" % (names[:1], text))
    for name, value in attributes.items():
        if name.isidentifier() and name[:1] != "_" and not hasattr(error, name):
            try:
                setattr(error, name, plain.decode(value, None))
            except Exception:
                pass
    return error
