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
import enum
import json
import sys
import threading
import traceback
import types

from . import known, plain, pytest_shim
from .link import Gone, Link, ancestry, builtin_exception, describe, harmless, rebuild
from .stand_in import Object

# The module that tests and their preamble run in.
TESTS = "__tests__"


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
