"""Tests and program in two jails, joined by a socket: expected values never are in the program's process.

The test side runs the tests' source in a namespace where the program's names are stand-ins. Calling one
sends plain data (plain.py) to the program side, which calls the real thing and answers with plain data, or
with a handle for an object of its own classes. A handle can be asked for attributes, called, iterated; it is
equal to itself alone, so nothing the program defines decides a comparison. Functions that a test passes in
are called back. Lists and other containers that a call changed are changed on the test side too.

The record that a test came to its end is written by the test side to a channel that only it has.
"""

import builtins
import importlib
import json
import socket
import struct
import sys
import traceback
import types

from . import plain, pytest_shim

LENGTH = struct.Struct(">I")
# Modules that tests use and expect the solution to have imported.
MODULES = "math collections itertools functools re string random heapq bisect copy json datetime decimal fractions typing".split()


class Gone(Exception):
    """The program's process is not there any more."""


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


# ---------------------------------------------------------------- the program's side


class Program:
    """Serves the program's functions. Nothing here is secret: whatever it says is only an answer."""

    def __init__(self, link, namespace):
        self.link, self.namespace = link, namespace
        self.objects, self.ids = [], {}

    def serve(self):
        """Until the test side is gone."""
        while True:
            try:
                message = self.link.receive()
            except Gone:
                return
            self.link.send(self.answer(message))

    def answer(self, message):
        kind, *rest = message
        try:
            return getattr(self, "do_" + kind)(*rest)
        except SystemExit:
            raise
        except BaseException as e:
            return ["raise", *describe(e)]

    def do_names(self, names):
        """What the program defines of these: name -> how it crosses."""
        return [
            "names",
            {n: self.introduce(self.namespace[n]) for n in names if n in self.namespace},
        ]

    def introduce(self, value):
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__]
        if isinstance(value, type) and issubclass(value, BaseException):
            return ["exception", ancestry(value)]
        try:
            return ["value", plain.Encoder().encode(value, 0)]
        except Exception:
            return ["object", self.keep(value)]

    def do_call(self, target, arguments, keywords):
        function = self.resolve(target)
        given = [plain.decode(a, self.stand_in) for a in arguments]
        named = {k: plain.decode(v, self.stand_in) for k, v in keywords.items()}
        value = function(*given, **named)
        return ["value", self.encode(value), self.changes(arguments, given)]

    def changes(self, arguments, given):
        """Containers that the call changed: position -> new content."""
        changed = {}
        for index, (before, value) in enumerate(zip(arguments, given)):
            if isinstance(value, (list, dict, set, bytearray)) or type(value).__name__ == "deque":
                after = self.encode(value)
                if after != before:
                    changed[index] = after
        return changed

    def do_get(self, target, name):
        return ["value", self.encode(getattr(self.resolve(target), name)), {}]

    def do_set(self, target, name, value):
        setattr(self.resolve(target), name, plain.decode(value, self.stand_in))
        return ["value", None, {}]

    def do_operator(self, target, name, arguments):
        given = [plain.decode(a, self.stand_in) for a in arguments]
        return ["value", self.encode(OPERATORS[name](self.resolve(target), *given)), {}]

    def resolve(self, target):
        return self.namespace[target] if isinstance(target, str) else self.objects[target]

    def encode(self, value):
        return plain.Encoder(self.keep).encode(value, 0)

    def keep(self, value):
        if id(value) not in self.ids:
            self.ids[id(value)] = len(self.objects)
            self.objects.append(value)
        return self.ids[id(value)]

    def stand_in(self, number, side="program"):
        """An object of ours coming back, or a function of the test's."""
        if side == "program":
            return self.objects[number]

        def call_back(*arguments):
            self.link.send(["back", number, [self.encode(a) for a in arguments]])
            while True:
                message = self.link.receive()
                if message[0] == "back":
                    return plain.decode(message[1], self.stand_in)
                if message[0] == "back_raise":
                    raise rebuild(*message[1:])
                self.link.send(self.answer(message))

        return call_back


def describe(error):
    """An exception as data: its ancestry by name, and its text."""
    try:
        text = str(error)[:2000]
    except BaseException:
        text = ""
    return [ancestry(type(error)), text]


def ancestry(kind):
    """Names from the class itself up to the first built-in one."""
    names = []
    for base in kind.__mro__:
        names.append(base.__name__)
        if base.__module__ == "builtins":
            break
    return names


OPERATORS = {
    "len": len,
    "iter": iter,
    "next": next,
    "str": str,
    "repr": repr,
    "bool": bool,
    "item": lambda o, k: o[k],
    "set_item": lambda o, k, v: o.__setitem__(k, v),
    "contains": lambda o, x: x in o,
    "enter": lambda o: o.__enter__(),
    "exit": lambda o: o.__exit__(None, None, None),
}


# ---------------------------------------------------------------- the tests' side


class TestEncoder(plain.Encoder):
    """Also carries the program's objects back to it, and the tests' functions as callbacks."""

    def __init__(self, tests):
        super().__init__()
        self.tests = tests

    def by_handle(self, value):
        if type(value) is Object:
            return ["h", object.__getattribute__(value, "_number")]
        if callable(value):
            self.tests.callbacks.append(value)
            return ["h", len(self.tests.callbacks) - 1, "test"]
        return super().by_handle(value)


class Tests:
    """Runs a test's source against stand-ins."""

    def __init__(self, link):
        self.link = link
        self.stand_ins, self.callbacks, self.exceptions = {}, [], {}

    def request(self, *message):
        self.link.send(list(message))
        while True:
            kind, *rest = self.link.receive()
            if kind == "back":
                self.link.send(self.call_back(*rest))
            elif kind == "raise":
                raise rebuild(rest[0], rest[1], self.exceptions)
            else:
                return rest

    def call(self, target, arguments, keywords):
        encoded = [self.encode(a) for a in arguments]
        value, changes = self.request(
            "call", target, encoded, {k: self.encode(v) for k, v in keywords.items()}
        )
        for index, content in changes.items():
            replace(arguments[int(index)], plain.decode(content, self.stand_in))
        return plain.decode(value, self.stand_in)

    def call_back(self, number, arguments):
        try:
            function = self.callbacks[number]
            return [
                "back",
                self.encode(function(*[plain.decode(a, self.stand_in) for a in arguments])),
            ]
        except Exception as e:
            return ["back_raise", *describe(e)]

    def encode(self, value):
        return TestEncoder(self).encode(value, 0)

    def stand_in(self, number, side="program"):
        if number not in self.stand_ins:
            self.stand_ins[number] = Object(self, number)
        return self.stand_ins[number]

    def names(self, wanted):
        """Stand-ins for what the program defines of `wanted`."""
        (found,) = self.request("names", sorted(wanted))
        return {name: self.introduced(name, *how) for name, how in found.items()}

    def introduced(self, name, kind, value):
        if kind == "module":
            root = value.partition(".")[0]
            if root in getattr(sys, "stdlib_module_names", MODULES) or root == "numpy":
                return importlib.import_module(value)
            return None
        if kind == "exception":
            if name not in self.exceptions:
                self.exceptions[name] = type(name, (builtin_exception(value),), {})
            return self.exceptions[name]
        if kind == "value":
            return plain.decode(value, None)
        return self.stand_in(value)


def replace(container, content):
    """Give a container of the test's the content that the program's copy has now."""
    if isinstance(container, (list, bytearray)):
        container[:] = content
    else:
        container.clear()
        (container.extend if hasattr(container, "extend") else container.update)(content)


class Object:
    """An object that lives in the program's process."""

    __slots__ = ("_number", "_tests")

    def __init__(self, tests, number):
        object.__setattr__(self, "_tests", tests)
        object.__setattr__(self, "_number", number)

    def __call__(self, *arguments, **keywords):
        return self._tests.call(self._number, list(arguments), keywords)

    def __getattr__(self, name):
        value, _ = self._tests.request("get", self._number, name)
        return plain.decode(value, self._tests.stand_in)

    def __setattr__(self, name, value):
        self._tests.request("set", self._number, name, self._tests.encode(value))

    def _operator(self, name, *arguments):
        value, _ = self._tests.request(
            "operator", self._number, name, [self._tests.encode(a) for a in arguments]
        )
        return plain.decode(value, self._tests.stand_in)

    def __len__(self):
        return self._operator("len")

    def __iter__(self):
        return Iterator(self._operator("iter"))

    def __next__(self):
        return self._operator("next")

    def __getitem__(self, key):
        return self._operator("item", key)

    def __setitem__(self, key, value):
        self._operator("set_item", key, value)

    def __contains__(self, item):
        return self._operator("contains", item)

    def __bool__(self):
        return True

    def __str__(self):
        return self._operator("str")

    def __repr__(self):
        return self._operator("repr")

    def __enter__(self):
        return self._operator("enter")

    def __exit__(self, *error):
        self._operator("exit")

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return self._number


class Iterator:
    """Iterates over the program's iterator (or over a plain copy of it)."""

    def __init__(self, source):
        self.source = source if hasattr(type(source), "__next__") else iter(source)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.source)


def builtin_exception(names):
    """The built-in exception at the end of an ancestry."""
    found = getattr(builtins, names[-1] if names else "", None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else Exception


def rebuild(names, text, known=None):
    """An exception like the one that was raised on the other side."""
    for name in names:
        if known and name in known:
            return known[name](text)
    kind = builtin_exception(names)
    if not issubclass(kind, Exception):  # SystemExit and the like are the program's business
        kind = RuntimeError
    try:
        return kind(text)
    except Exception:
        return RuntimeError("%s: %s" % (names[:1], text))


def wanted_names(code):
    """Every name that a code object, or one inside it, may look up."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= wanted_names(constant)
    return names


class Solution(types.ModuleType):
    """`from solution import f`: the program under the name that tests give it."""

    def __init__(self, tests):
        super().__init__("solution")
        self.__dict__["_tests"] = tests

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._tests.names([name])
        if name not in found:
            raise AttributeError("the program does not define %s" % name)
        return found[name]


def run_tests(fd, source):
    """Run tests that came as JSON {"preamble", "test", "entry_point"}; a record of how they ended,
    or None when the program's process ended first.

    The preamble is the data set's (helper functions of a prompt); only the entry point is taken from the
    program where the preamble defines the rest.
    """
    given = json.loads(source)
    tests = Tests(Link(fd))
    namespace = {"__name__": "__tests__", "__builtins__": builtins}
    solution = Solution(tests)
    sys.modules["solution"] = solution
    sys.modules.setdefault("pytest", pytest_shim.module())
    try:
        test = compile(given["test"], "/program/test.py", "exec", dont_inherit=True)
        if given["preamble"]:
            exec(
                compile(given["preamble"], "/program/preamble.py", "exec", dont_inherit=True),
                namespace,
            )
        own = set(namespace)
        wanted = {n for n in wanted_names(test) if not hasattr(builtins, n)} - own
        if given["entry_point"]:
            wanted.add(given["entry_point"])
        for name in MODULES:
            namespace.setdefault(name, importlib.import_module(name))
        namespace.update(tests.names(wanted))
        exec(test, namespace)
    except AssertionError as e:
        return failed("assertion", e)
    except Gone:
        return None
    except SystemExit:
        return {"ok": False, "kind": "raised", "error": "SystemExit"}
    except BaseException as e:
        traceback.print_exc()
        return failed("raised", e)
    return {"ok": True}


def failed(kind, error):
    return {"ok": False, "kind": kind, "error": ("%s: %s" % (type(error).__name__, error))[:500]}
