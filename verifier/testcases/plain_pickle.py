"""Pickles of plain data, read without `pickle`.

A pickle is a program for a small stack machine, and `pickle.loads` runs whatever it says. This
machine knows only the instructions that make strings, bytes, numbers, lists, tuples and dicts:
there is no instruction that could find a global, call something, or allocate by a number in the
data (`pickle`'s memo can be made to take gigabytes by one index). `pickletools` splits the bytes
into instructions, and checks their lengths.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable

# A private test file is a handful of instructions: one long string.
MAX_INSTRUCTIONS = 2_000_000
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
    """The plain value of a pickle.

    Raises:
        ValueError: It is damaged, too long, or does anything but build plain data.
    """
    stack: list[object] = []
    memo: dict[int, object] = {}
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if count > MAX_INSTRUCTIONS:
                raise ValueError(f"over {MAX_INSTRUCTIONS} instructions")
            name = opcode.name
            if name == "STOP":
                if len(stack) != 1 or stack[0] is _MARK:
                    break
                return stack[0]
            _step(name, argument, stack, memo)
    except (IndexError, KeyError, TypeError, OverflowError, MemoryError, RecursionError):
        raise ValueError("damaged") from None
    raise ValueError("damaged")


def _step(name: str, argument: object, stack: list[object], memo: dict[int, object]) -> None:
    if name in _PUSH_ARGUMENT:
        stack.append(argument)
    elif name in _PUSH_NEW:
        stack.append(_PUSH_NEW[name]())
    elif name in ("PROTO", "FRAME"):
        pass
    elif name == "MEMOIZE":
        memo[len(memo)] = stack[-1]
    elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
        memo[_index(argument)] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET", "GET"):
        stack.append(memo[_index(argument)])
    elif name == "MARK":
        stack.append(_MARK)
    elif name in _TUPLES:
        count = _TUPLES[name]
        items = [stack.pop() for _ in range(count)]
        stack.append(tuple(reversed(items)))
    elif name == "APPEND":
        item = stack.pop()
        _list(stack[-1]).append(item)
    elif name == "SETITEM":
        value, key = stack.pop(), stack.pop()
        _dict(stack[-1])[key] = value
    elif name in ("APPENDS", "SETITEMS", "TUPLE", "LIST", "DICT"):
        _collect(name, stack)
    else:
        raise ValueError(f"instruction {name}")


def _collect(name: str, stack: list[object]) -> None:
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
        pairs = zip(items[::2], items[1::2], strict=True)
        if name == "DICT":
            stack.append(dict(pairs))
        else:
            _dict(stack[-1]).update(pairs)


def _index(argument: object) -> int:
    if not isinstance(argument, int):
        raise TypeError
    return argument


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _dict(value: object) -> dict[object, object]:
    if not isinstance(value, dict):
        raise TypeError
    return value
