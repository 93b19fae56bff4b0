"""The program's side of tests that run in another jail (remote.py): it answers their calls."""

import builtins
import collections
import copy
import types
import typing

from . import plain
from .link import Gone, ancestry, builtin_exception, describe, rebuild

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
# Besides the built-in containers: what a call may change in place.
MUTABLE = frozenset(("deque", "ndarray"))


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
