"""Pickles of plain data, read without `pickle`.

A pickle is a program for a small stack machine, and `pickle.loads` runs whatever it says. This
machine knows only the instructions that make strings, bytes, numbers, lists, tuples and dicts:
there is no instruction that could find a global, call something, or allocate by a number in the
data (`pickle`'s memo can be made to take gigabytes by one index). `pickletools` splits the bytes
into instructions, and checks their lengths.

A pickle can name a value that it made before, and so write ten nested lists that hold a value a
billion times. What is named again is copied here, and the copies are paid for.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable

# A private test file is a handful of instructions: one long string.
MAX_INSTRUCTIONS = 2_000_000
# What values that are named again may add: characters, and so many for each item of a container.
MAX_REPEATED_CHARS = 256 * 1024 * 1024
_ITEM_CHARS = 100
_MARK = object()

_PUSH_ARGUMENT = frozenset(
    str.split("""
    BINUNICODE SHORT_BINUNICODE BINUNICODE8 UNICODE BINSTRING SHORT_BINSTRING STRING BINBYTES
    SHORT_BINBYTES BINBYTES8 BININT BININT1 BININT2 INT LONG LONG1 LONG4 FLOAT BINFLOAT
    """)
)
_PUSH_NEW: dict[str, Callable[[], object]] = {
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def plain_loads(data: bytes) -> object:
    """The plain value of a pickle. Nothing in it is shared; the keys of dicts are strings.

    Raises:
        ValueError: It is damaged, too long, or does anything but build plain data.
    """
    machine = _Machine()
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if count > MAX_INSTRUCTIONS:
                raise ValueError(f"over {MAX_INSTRUCTIONS} instructions")
            if opcode.name == "STOP":
                if len(machine.stack) != 1 or machine.stack[0] is _MARK:
                    break
                return machine.stack[0]
            machine.step(opcode.name, argument)
    except (IndexError, KeyError, TypeError, OverflowError, MemoryError, RecursionError):
        raise ValueError("damaged") from None
    raise ValueError("damaged")


class _Machine:
    """The stack and the memo of one pickle."""

    __slots__ = ("budget", "memo", "stack")

    def __init__(self) -> None:
        self.stack: list[object] = []
        self.memo: dict[int, object] = {}
        self.budget = MAX_REPEATED_CHARS

    def step(self, name: str, argument: object) -> None:
        stack = self.stack
        if name in _PUSH_ARGUMENT:
            stack.append(argument)
        elif name in _PUSH_NEW:
            stack.append(_PUSH_NEW[name]())
        elif name in ("PROTO", "FRAME"):
            pass
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = _value(stack[-1])
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[_index(argument)] = _value(stack[-1])
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self._copied(self.memo[_index(argument)]))
        elif name == "MARK":
            stack.append(_MARK)
        elif name in _TUPLES:
            count = _TUPLES[name]
            items = [_value(stack.pop()) for _ in range(count)]
            stack.append(tuple(reversed(items)))
        elif name == "APPEND":
            item = _value(stack.pop())
            _list(stack[-1]).append(item)
        elif name == "SETITEM":
            value, key = _value(stack.pop()), stack.pop()
            _dict(stack[-1])[_key(key)] = value
        elif name in ("APPENDS", "SETITEMS", "TUPLE", "LIST", "DICT"):
            self._collect(name)
        else:
            raise ValueError(f"instruction {name}")

    def _collect(self, name: str) -> None:
        stack = self.stack
        items: list[object] = []
        while (item := stack.pop()) is not _MARK:
            items.append(item)
        items.reverse()
        if name == "APPENDS":
            _list(stack[-1]).extend(items)
        elif name == "TUPLE":
            stack.append(tuple(items))
        elif name == "LIST":
            stack.append(items)
        else:
            pairs = zip(map(_key, items[::2]), items[1::2], strict=True)
            if name == "DICT":
                stack.append(dict(pairs))
            else:
                _dict(stack[-1]).update(pairs)

    def _copied(self, value: object) -> object:
        """The value with containers of its own."""
        if isinstance(value, (str, bytes)):
            self._pay(len(value))
        elif isinstance(value, (list, tuple)):
            self._pay(_ITEM_CHARS * (1 + len(value)))
            return type(value)([self._copied(item) for item in value])
        elif isinstance(value, dict):
            self._pay(_ITEM_CHARS * (1 + len(value)))
            return {key: self._copied(item) for key, item in value.items()}
        else:
            self._pay(_ITEM_CHARS)
        return value

    def _pay(self, chars: int) -> None:
        self.budget -= chars
        if self.budget < 0:
            raise ValueError("values that are named again and again")


def _value(item: object) -> object:
    if item is _MARK:
        raise TypeError
    return item


def _index(argument: object) -> int:
    if not isinstance(argument, int):
        raise TypeError
    return argument


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _dict(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _key(value: object) -> str:
    """Numbers can be chosen to collide as keys."""
    if not isinstance(value, str):
        raise TypeError
    return value
