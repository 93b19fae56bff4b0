"""Tests and program in two jails, joined by a socket: no expected value reaches the program.

The test side runs the tests' source in a namespace where the program's names are stand-ins. Calling
one sends plain data (plain.py) to the program side, which calls the real thing and answers with
plain data, or with a handle for an object of its own classes. A handle can be asked for attributes,
called, iterated; it is equal to itself alone, so nothing the program defines decides a comparison.
Functions and iterators that a test passes in are called back; built-in functions and exceptions are
passed by name. Objects of the preamble's classes, which both sides have (a list node, say), are
made again on the program's side from their attributes. Lists and other containers that a call
changed are changed on the test side too.

What a program answers is data, but it also picks the data: a forged answer may name what nobody
asked for, raise what ends a loop early, or leave. So the test side takes names only as asked for
and never where the library has a meaning for them (known.py), lets nothing but `next` stop an
iteration, and does not believe in a test whose program is gone, or that never used it.

The record that a test came to its end is written by the test side to a channel that only it has.
"""

import builtins
import collections
import copy
import enum
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
# The module that tests and their preamble run in.
TESTS = "__tests__"


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


class ProgramEncoder(plain.Encoder):
    """Members of an enum go by name: the tests' side may have that enum, from the preamble."""

    def by_handle(self, value):
        kind = type(value)
        if hasattr(kind, "__members__") and not isinstance(value, type):
            return ["h", self.handle(value), [kind.__name__, value._name_]]
        return super().by_handle(value)


class Program:
    """Serves the program's functions.

    Nothing here is secret: whatever it says is only an answer.
    """

    def __init__(self, link, namespace):
        self.link, self.namespace = link, namespace
        self.objects, self.ids = [], {}
        self.given, self.classes = {}, {}

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
            if isinstance(value, (list, dict, set, bytearray)) or type(value).__name__ in MUTABLE:
                after = self.encode(value)
                if after != before:
                    changed[index] = after
        return changed

    def do_get(self, target, name):
        return ["value", self.encode(getattr(self.resolve(target), name)), {}]

    def do_set(self, target, name, value):
        setattr(self.resolve(target), name, plain.decode(value, self.stand_in))
        return ["value", None, {}]

    def do_delete(self, target, name):
        delattr(self.resolve(target), name)
        return ["value", None, {}]

    def do_given(self, states):
        """Objects of the test's: number, class, attributes, which may be others of them."""
        for number, name, _ in states:
            if number not in self.given:
                kind = self.namespace.get(name)
                if not isinstance(kind, type):
                    kind = self.classes.setdefault(name, type(name, (), {}))
                self.given[number] = object.__new__(kind)
        for number, _, state in states:
            for name, value in state.items():
                object.__setattr__(self.given[number], name, plain.decode(value, self.stand_in))
        return ["value", None, {}]

    def do_operator(self, target, name, arguments):
        given = [plain.decode(a, self.stand_in) for a in arguments]
        return ["value", self.encode(OPERATORS[name](self.resolve(target), *given)), {}]

    def resolve(self, target):
        return self.namespace[target] if isinstance(target, str) else self.objects[target]

    def encode(self, value):
        return ProgramEncoder(self.keep).encode(value, 0)

    def keep(self, value):
        if id(value) not in self.ids:
            self.ids[id(value)] = len(self.objects)
            self.objects.append(value)
        return self.ids[id(value)]

    def stand_in(self, number, side="program", name="", doc=None):
        """An object of ours coming back, or something of the test's.

        `number` is a name, or the names of an ancestry, where both sides have what is meant.
        """
        if side == "program":
            return self.objects[number]
        if side == "given":
            return self.given[number]
        if side == "member":
            return getattr(self.namespace[number[0]], number[1])
        if side == "builtin":
            return getattr(builtins, number)
        if side == "exception":
            return self.exception(number)

        def call_back(*arguments, **keywords):
            named = {k: self.encode(v) for k, v in keywords.items()}
            self.link.send(["back", number, [self.encode(a) for a in arguments], named])
            while True:
                message = self.link.receive()
                if message[0] == "back":
                    return plain.decode(message[1], self.stand_in)
                if message[0] == "back_raise":
                    names = [n for n in message[1] if n in self.classes or n in self.namespace]
                    raise rebuild(message[1:], {n: self.exception([n]) for n in names})
                self.link.send(self.answer(message))

        if side == "iterator":
            return iterated(call_back)
        call_back.__name__ = call_back.__qualname__ = name or "call_back"
        call_back.__doc__ = doc
        return call_back

    def exception(self, names):
        """The class of an ancestry: the program's own, the built-in one, or one like the test's."""
        for found in (self.namespace.get(names[0]), getattr(builtins, names[0], None)):
            if isinstance(found, type) and issubclass(found, BaseException):
                return found
        if names[0] not in self.classes:
            self.classes[names[0]] = type(names[0], (builtin_exception(names),), {})
        return self.classes[names[0]]


def iterated(step):
    """An iterator over what `step` gives: each time a list of one item, at the end an empty one."""
    while True:
        found = step()
        if not found:
            return
        yield found[0]


def has_methods(value):
    """A container with methods of the program's own: `class LRUCache(OrderedDict)`."""
    kind = type(value)
    return isinstance(value, (list, dict, set, collections.deque)) and any(
        name[:1] != "_" and not hasattr(plain.base_of(kind), name) for name in vars(kind)
    )


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


OPERATORS: "dict[str, typing.Any]" = {
    "len": len,
    "iter": iter,
    "next": next,
    "str": str,
    "repr": repr,
    "bool": bool,
    "item": lambda o, k: o[k],
    "set_item": lambda o, k, v: o.__setitem__(k, v),
    "delete_item": lambda o, k: o.__delitem__(k),
    "format": format,
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
# Besides the built-in containers: what a call may change in place.
MUTABLE = frozenset(("deque", "ndarray"))
# Special attributes that are read like others. For the rest a type is asked, and only numpy asks an
# object: for memory to read as an array.
SPECIAL = frozenset("__name__ __qualname__ __doc__ __dict__ __annotations__".split())


# ---------------------------------------------------------------- the tests' side


class TestEncoder(plain.Encoder):
    """Also carries what is the program's back to it, and functions and objects of the test's."""

    def __init__(self, tests):
        super().__init__()
        self.tests, self.found, self.seen = tests, [], set()

    def by_handle(self, value):
        kind = type(value)
        if kind is Object:
            return ["h", object.__getattribute__(value, "_number")]
        if isinstance(value, (type, types.BuiltinFunctionType)):
            name = getattr(value, "__name__", "")
            if getattr(builtins, name, None) is value:
                return ["h", name, "builtin"]
            if isinstance(value, type) and issubclass(value, BaseException):
                return ["h", ancestry(value), "exception"]
        if kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__"):
            return self.called(lambda: [each for _, each in zip((1,), value)], "iterator")
        if callable(value):
            name, doc = getattr(value, "__name__", ""), getattr(value, "__doc__", None)
            return self.called(value, "test", name, doc if type(doc) is str else None)
        if kind.__module__ == TESTS:
            if hasattr(kind, "__members__"):  # of an enum
                return ["h", [kind.__name__, value._name_], "member"]
            return ["h", self.number(value), "given"]
        return super().by_handle(value)

    def called(self, function, *about):
        self.tests.callbacks.append(function)
        return ["h", len(self.tests.callbacks) - 1, *about]

    def number(self, value):
        """Of an object of the test's, whose attributes are to follow."""
        given = self.tests.given
        number, _ = given.setdefault(id(value), (len(given), value))
        if number not in self.seen:
            self.seen.add(number)
            self.found.append((number, value))
        return number

    def states(self):
        """Attributes of all objects that were found, and of those in them."""
        states = []
        while self.found:
            number, value = self.found.pop()
            attributes = {k: self.encode(v, 0) for k, v in attributes_of(value).items()}
            states.append([number, type(value).__name__, attributes])
        return states


def attributes_of(value):
    """What an object has of its own, in its dict and in slots."""
    kinds = type(value).__mro__
    slots = {
        n for kind in kinds for n, d in vars(kind).items() if type(d) is types.MemberDescriptorType
    }
    found = {n: getattr(value, n) for n in slots if hasattr(value, n)}
    return {**found, **getattr(value, "__dict__", {})}


class Tests:
    """Runs a test's source against stand-ins."""

    def __init__(self, link):
        self.link = link
        self.namespace = {}
        self.stand_ins, self.callbacks, self.exceptions = {}, [], {}
        self.given = {}
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
                        raise rebuild(rest, self.exceptions, stops)
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

    def call_back(self, number, arguments, keywords):
        try:
            function = self.callbacks[number]
            given = [plain.decode(a, self.stand_in) for a in arguments]
            named = {k: plain.decode(v, self.stand_in) for k, v in keywords.items()}
            return ["back", self.encode(function(*given, **named))]
        except Exception as e:
            return ["back_raise", *describe(e)]

    def encode(self, value):
        """As data; objects of the test's that are in it go ahead of it."""
        encoder = TestEncoder(self)
        data = encoder.encode(value, 0)
        states = encoder.states()
        if states:
            self.request("given", states)
        return data

    def stand_in(self, number, member=("", "")):
        kind = self.namespace.get(member[0])
        if isinstance(kind, type) and issubclass(kind, enum.Enum) and kind.__module__ == TESTS:
            return kind[member[1]]
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
    if isinstance(container, (list, bytearray)) or type(container).__name__ == "ndarray":
        container[:] = content
    elif isinstance(container, (dict, set, collections.deque)):
        container.clear()
        (container.extend if isinstance(container, collections.deque) else container.update)(
            content
        )


class Object:
    # An object that lives in the program's process.

    __slots__ = ("_constructed", "_number", "_tests")
    __doc__ = property(lambda self: self._tests.ask("get", self._number, "__doc__"))

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

    def __delattr__(self, name):
        self._tests.request("delete", self._number, name)

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

    def __delitem__(self, key):
        self._operator("delete_item", key)

    def __format__(self, form):
        return self._operator("format", form)

    def __contains__(self, item):
        # Where a function should return a collection, what it holds decides and not what it says.
        if self._constructed:
            return self._operator("contains", item)
        return any(item == each for each in self)

    def __bool__(self):
        return self._operator("bool") if self._constructed else True

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
    main.__name__ = TESTS
    sys.modules.update(__main__=main, solution=Solution(tests))
    sys.modules.setdefault("pytest", pytest_shim.module())
    tests.namespace = main.__dict__
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
