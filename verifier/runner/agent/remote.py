"""Tests and program in two jails, joined by a socket: no expected value reaches the program.

The test side runs the tests' source in a namespace where the program's names are stand-ins. Calling
one sends plain data (plain.py) to the program side, which calls the real thing and answers with
plain data, or with a handle for an object of its own classes. A handle can be asked for attributes,
called, iterated; it is equal to itself alone, so nothing the program defines decides a comparison.
Functions that a test passes in are called back. Lists and other containers that a call changed are
changed on the test side too.

What a program answers is data, but it also picks the data: a forged answer may name what nobody
asked for, raise what ends a loop early, or leave. So the test side takes names only as asked for
and never where the library has a meaning for them (known.py), lets nothing but `next` stop an
iteration, and does not believe in a test whose program is gone, or that never used it.

The record that a test came to its end is written by the test side to a channel that only it has.
"""

import builtins
import collections
import copy
import json
import socket
import struct
import sys
import threading
import traceback
import types
import typing

from . import known, plain, pytest_shim

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


# ---------------------------------------------------------------- the program's side


class Program:
    """Serves the program's functions.

    Nothing here is secret: whatever it says is only an answer.
    """

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
        if isinstance(function, type) and has_methods(value):
            value = ["h", self.keep(value)]
        else:
            value = self.encode(value)
        changes = self.changes([*arguments, *keywords.values()], [*given, *named.values()])
        return ["value", value, changes]

    def changes(self, arguments, given):
        """Containers that the call changed: position (names come last) -> new content."""
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


def has_methods(value):
    """A container with methods of the program's own: `class LRUCache(OrderedDict)`."""
    kind = type(value)
    return isinstance(value, (list, dict, set, collections.deque)) and any(
        name[:1] != "_" and not hasattr(plain.base_of(kind), name) for name in vars(kind)
    )


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


OPERATORS: "dict[str, typing.Any]" = {
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
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
# What strings and sets answer with yes or no. An object of the program's is neither, and its yes is
# worth nothing.
PREDICATES = frozenset(
    n for n in dir(str) + dir(set) if n.startswith("is") or n in ("startswith", "endswith")
)
# Special attributes that are read like others. For the rest a type is asked, and only numpy asks an
# object: for memory to read as an array.
SPECIAL = frozenset("__name__ __qualname__ __doc__ __dict__ __annotations__".split())


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
        self.classes = set()
        self.gone = self.used = False
        self.turn = threading.RLock()

    def request(self, *message):
        """One question, and the program's questions back while it answers.

        Threads of a test take turns.
        """
        stops = message[0] == "operator" and message[2] == "next"
        with self.turn:
            try:
                self.link.send(list(message))
                while True:
                    kind, *rest = self.link.receive()
                    if kind == "back":
                        self.link.send(self.call_back(*rest))
                    elif kind == "raise":
                        raise rebuild(rest[0], rest[1], self.exceptions, stops)
                    else:
                        return rest
            except Gone:
                self.gone = True
                raise

    def ask(self, *message):
        """A question to an object, answered with a value."""
        self.used = True
        value, _ = self.request(*message)
        return plain.decode(value, self.stand_in)

    def call(self, target, arguments, keywords):
        self.used = True
        encoded = [self.encode(a) for a in arguments]
        value, changes = self.request(
            "call", target, encoded, {k: self.encode(v) for k, v in keywords.items()}
        )
        passed = [*arguments, *keywords.values()]
        for index, content in changes.items():
            replace(passed[int(index)], plain.decode(content, self.stand_in))
        result = plain.decode(value, self.stand_in)
        if target in self.classes and type(result) is Object:
            object.__setattr__(result, "_constructed", True)
        return result

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
        """Stand-ins for what the program defines of `wanted`, and of nothing else."""
        (found,) = self.request("names", sorted(wanted))
        pairs = [(n, self.introduced(n, *found[n])) for n in sorted(wanted) if n in found]
        return {name: value for name, value in pairs if value is not known.UNKNOWN}

    def introduced(self, name, kind, value):
        if kind == "module":
            # Under its own name only: an alias would let the program choose what a test's name
            # means.
            if name != value or name not in getattr(sys, "stdlib_module_names", known.MODULES):
                return known.UNKNOWN
            return known.module(name)
        if kind == "exception":
            self.used = True
            if name not in self.exceptions:
                self.exceptions[name] = type(name, (harmless(builtin_exception(value)),), {})
            return self.exceptions[name]
        if kind == "value":
            self.used = True
            return plain.decode(value, None)
        if name[:1].isupper():
            self.classes.add(value)
        return self.stand_in(value)


def replace(container, content):
    """Give a container of the test's the content that the program's copy has now."""
    if isinstance(container, (list, bytearray)):
        container[:] = content
    elif isinstance(container, (dict, set, collections.deque)):
        container.clear()
        (container.extend if isinstance(container, collections.deque) else container.update)(
            content
        )


class Object:
    """An object that lives in the program's process."""

    __slots__ = ("_constructed", "_number", "_tests")

    def __init__(self, tests, number):
        object.__setattr__(self, "_tests", tests)
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_constructed", False)

    def __call__(self, *arguments, **keywords):
        return self._tests.call(self._number, list(arguments), keywords)

    def __getattr__(self, name):
        if (name.startswith("__") and name.endswith("__") and name not in SPECIAL) or (
            name in PREDICATES
        ):
            raise AttributeError(name)
        return self._tests.ask("get", self._number, name)

    def __setattr__(self, name, value):
        self._tests.request("set", self._number, name, self._tests.encode(value))

    def _operator(self, name, *arguments):
        given = [self._tests.encode(a) for a in arguments]
        return self._tests.ask("operator", self._number, name, given)

    def __copy__(self):
        return self._operator("copy")

    def __deepcopy__(self, memo):
        return self._operator("deepcopy")

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
        # Where a function should return a collection, what it holds decides and not what it says.
        if self._constructed:
            return self._operator("contains", item)
        return any(item == each for each in self)

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


def harmless(kind):
    """What may be raised on the test side in place of `kind`.

    SystemExit and the like are the program's business; StopIteration would end a loop of the test's
    early, as if all had been looked at (`all(map(check, cases))`).
    """
    if issubclass(kind, Exception) and not issubclass(kind, (StopIteration, StopAsyncIteration)):
        return kind
    return RuntimeError


def rebuild(names, text, introduced=None, stops=True):
    """An exception like the one that was raised on the other side.

    `stops`: it may be a StopIteration.
    """
    for name in names:
        if introduced and name in introduced:
            return introduced[name](text)
    kind = builtin_exception(names)
    if not (stops and kind is StopIteration):
        kind = harmless(kind)
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

    The preamble is the data set's (helper functions of a prompt); only the entry point is taken
    from the program where the preamble defines the rest.
    """
    given = json.loads(source)
    tests = Tests(Link(fd))
    main = types.ModuleType("__main__")  # where unittest looks for test cases
    main.__name__ = "__tests__"
    sys.modules.update(__main__=main, solution=Solution(tests))
    sys.modules.setdefault("pytest", pytest_shim.module())
    try:
        record = run_source(tests, given, main.__dict__)
    finally:
        tests.link.sock.close()
    # A test may have caught what its program's end raised.
    return None if tests.gone else record


def run_source(tests, given, namespace):
    """Run the source; a record of how it ended."""
    outcomes = []
    namespace["__builtins__"] = builtins
    try:
        test = compile(given["test"], "/program/test.py", "exec", dont_inherit=True)
        names = wanted_names(test)
        preamble = compile(given["preamble"], "/program/preamble.py", "exec", dont_inherit=True)
        mean_known_things(namespace, names | wanted_names(preamble), given["entry_point"])
        exec(preamble, namespace)
        if "unittest" in names:
            outcomes = watch_unittest()
        wanted = {n for n in names if not hasattr(builtins, n)} - set(namespace)
        if given["entry_point"]:
            wanted.add(given["entry_point"])
        namespace.update(tests.names(wanted))
        exec(test, namespace)
    except AssertionError as e:
        return failed("assertion", e)
    except SystemExit as e:
        if e.code or not outcomes:  # unittest.main() leaves with False when all is well
            return {"ok": False, "kind": "raised", "error": "SystemExit"}
    except BaseException as e:
        traceback.print_exc()
        return failed("raised", e)
    for error in outcomes:
        if error is not None:
            return failed("assertion" if isinstance(error, AssertionError) else "raised", error)
    if not tests.used:
        return failed("raised", RuntimeError("the test did not use the program"))
    return {"ok": True}


def mean_known_things(namespace, names, entry_point):
    """Give names the library's meaning where they have one."""
    for name in names:
        if not hasattr(builtins, name):
            meaning = known.meaning(name, entry_point)
            if meaning is not known.UNKNOWN:
                namespace[name] = meaning


def watch_unittest():
    """Outcomes of unittest's cases, which its runners may forget: None, or what was raised."""
    import unittest

    outcomes: "list[object]" = []

    class Watched(unittest.TextTestResult):
        def addSuccess(self, test):
            outcomes.append(None)
            super().addSuccess(test)

        def addFailure(self, test, error):
            outcomes.append(error[1])
            super().addFailure(test, error)

        def addError(self, test, error):
            outcomes.append(error[1])
            super().addError(test, error)

        def addSubTest(self, test, subtest, error):
            outcomes.append(error and error[1])
            super().addSubTest(test, subtest, error)

    unittest.TextTestRunner.resultclass = Watched  # type: ignore[assignment]
    return outcomes


def failed(kind, error):
    return {"ok": False, "kind": kind, "error": ("%s: %s" % (type(error).__name__, error))[:500]}
