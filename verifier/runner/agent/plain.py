"""Plain data between two processes that do not trust each other.

What crosses is JSON whose arrays carry a tag: lists, tuples, sets, dicts, bytes, complex, Decimal,
Fraction, dates, ranges, deques, arrays of numbers; depth and size are bounded. A value of a
subclass is reduced to its base's value by the base's own methods, so nothing that a program
overrode is asked, and what is decoded is of the built-in type: an `__eq__` cannot come along. A
named tuple brings its names, and is one of the standard library's on the other side. Everything
else crosses as a handle, if the caller wants handles at all.
"""

import base64
import collections
import datetime
import decimal
import fractions
import functools
import importlib
import json
import re
import types
import typing

MAX_DEPTH = 100
MAX_BYTES = 64 * 1024 * 1024
MAX_ITEMS = 5_000_000
MAX_FIELDS = 64


class NotPlain(TypeError):
    """The value cannot cross."""


class Encoder:
    """Encodes values.

    `handle(value)` gives the id of an object that crosses by reference, or raises.
    """

    def __init__(self, handle=None):
        self.handle = handle
        self.items = 0

    def dumps(self, value):
        data = json.dumps(self.encode(value, 0), separators=(",", ":")).encode()
        if len(data) > MAX_BYTES:
            raise NotPlain("the value is larger than %d bytes" % MAX_BYTES)
        return data

    def encode(self, value, depth):
        if depth > MAX_DEPTH:
            raise NotPlain("the value is nested too deeply")
        self.items += 1
        if self.items > MAX_ITEMS:
            raise NotPlain("the value has more than %d items" % MAX_ITEMS)
        if value is None or value is True or value is False:
            return value
        kind = base_of(type(value))
        if kind is None:
            return self.by_handle(value)
        return getattr(self, "_" + kind.__name__)(value, depth + 1)

    def by_handle(self, value):
        if type(value).__module__ == "numpy":
            if type(value).__name__ == "ndarray" and value.dtype.kind in "biufc":
                data = base64.b64encode(value.tobytes()).decode()
                return ["A", value.dtype.str, list(value.shape), data]
            if hasattr(value, "tolist"):
                return self.encode(value.tolist(), MAX_DEPTH // 2)
        if self.handle is None:
            raise NotPlain("%s is not plain data" % type(value).__name__)
        return ["h", self.handle(value)]

    def many(self, tag, items, depth):
        return [tag, *[self.encode(i, depth) for i in items]]

    def _int(self, value, depth):
        return int.__int__(value) if type(value) is not int else value

    def _float(self, value, depth):
        value = float.__float__(value)
        return value if value - value == 0 else ["n", float.__repr__(value)]

    def _str(self, value, depth):
        return str.__str__(value)

    def _bytes(self, value, depth):
        return ["b", base64.b64encode(bytes.__getitem__(value, slice(None))).decode()]

    def _bytearray(self, value, depth):
        return ["B", base64.b64encode(bytes(bytearray.__getitem__(value, slice(None)))).decode()]

    def _complex(self, value, depth):
        real, imag = complex.real.__get__(value), complex.imag.__get__(value)
        return ["c", float.__repr__(real), float.__repr__(imag)]

    def _list(self, value, depth):
        return self.many("l", list.__iter__(value), depth)

    def _tuple(self, value, depth):
        fields = type.__getattribute__(type(value), "__dict__").get("_fields")
        if type(fields) is tuple and tuple.__len__(value) == len(fields) <= MAX_FIELDS:
            if all(type(name) is str for name in fields):
                return self.many("N", [list(fields), *tuple.__iter__(value)], depth)
        return self.many("t", tuple.__iter__(value), depth)

    def _set(self, value, depth):
        return self.many("s", set.__iter__(value), depth)

    def _frozenset(self, value, depth):
        return self.many("f", frozenset.__iter__(value), depth)

    def _deque(self, value, depth):
        return self.many("q", collections.deque.__iter__(value), depth)

    def _dict(self, value, depth):
        return [
            "d",
            *[[self.encode(k, depth), self.encode(v, depth)] for k, v in dict.items(value)],
        ]

    def _range(self, value, depth):
        return ["r", value.start, value.stop, value.step]

    def _Decimal(self, value, depth):
        return ["D", decimal.Decimal.__str__(value)]

    def _Fraction(self, value, depth):
        return ["F", self._int(value._numerator, 0), self._int(value._denominator, 0)]

    def _datetime(self, value, depth):
        offset = datetime.datetime.utcoffset(value)
        parts = [
            getattr(datetime.datetime, n).__get__(value)
            for n in "year month day hour minute second microsecond".split()
        ]
        return ["T", parts, None if offset is None else offset.total_seconds()]

    def _date(self, value, depth):
        return ["a", [getattr(datetime.date, n).__get__(value) for n in ("year", "month", "day")]]

    def _time(self, value, depth):
        return [
            "m",
            [
                getattr(datetime.time, n).__get__(value)
                for n in ("hour", "minute", "second", "microsecond")
            ],
        ]

    def _timedelta(self, value, depth):
        return [
            "e",
            [
                getattr(datetime.timedelta, n).__get__(value)
                for n in ("days", "seconds", "microseconds")
            ],
        ]


# Order matters where one is the other's base: a datetime is a date.
BASES = (
    int,
    float,
    str,
    bytes,
    bytearray,
    complex,
    list,
    tuple,
    set,
    frozenset,
    collections.deque,
    dict,
    range,
    decimal.Decimal,
    fractions.Fraction,
    datetime.datetime,
    datetime.date,
    datetime.time,
    datetime.timedelta,
)
_known = {b: b for b in BASES}


def base_of(kind):
    """The plain type that values of `kind` are reduced to, by its real ancestry.

    None when there is none.
    """
    found = _known.get(kind)
    if found is None:
        ancestry = type.__getattribute__(kind, "__mro__")
        found = next((b for b in BASES if b in ancestry), None)
    return found


def loads(data, resolve=None):
    """The value of encoded data. `resolve(id)` gives the stand-in of a handle.

    Raises:
        NotPlain: The data is not what `Encoder` makes, or has a handle where none may be.
    """
    try:
        return decode(json.loads(data), resolve)
    except NotPlain:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        RecursionError,
        ArithmeticError,
        AttributeError,
    ) as e:
        raise NotPlain("malformed value: %s" % type(e).__name__)


def decode(value, resolve):
    if not isinstance(value, list):
        if isinstance(value, dict):
            raise NotPlain("malformed value")
        return value
    tag, rest = value[0], value[1:]
    if tag in SEQUENCES:
        return SEQUENCES[tag](decode(i, resolve) for i in rest)
    if tag == "d":
        return {decode(k, resolve): decode(v, resolve) for k, v in rest}
    if tag == "N":
        fields, *items = (decode(i, resolve) for i in rest)
        return named(tuple(fields))._make(items)
    if tag == "h":
        if resolve is None:
            raise NotPlain("an object where plain data is expected")
        return resolve(*rest)
    return SCALARS[tag](*rest)


@functools.lru_cache(maxsize=64)
def named(fields):
    """The class of a named tuple; `namedtuple` takes identifiers alone, none with an underscore."""
    if len(fields) > MAX_FIELDS or any(type(name) is not str for name in fields):
        raise NotPlain("malformed value")
    return collections.namedtuple("Row", fields)  # noqa: PYI024 - its fields are data


def _fraction(numerator, denominator):
    # Of integers only: a text like "1e999999999" would be written out.
    if type(numerator) is not int or type(denominator) is not int:
        raise NotPlain("malformed value")
    return fractions.Fraction(numerator, denominator)


def _array(kind, shape, text):
    # Of numbers alone: an array of objects is a pickle.
    if type(kind) is not str or not re.fullmatch("[<>=|][biufc][0-9]{1,2}", kind):
        raise NotPlain("malformed value")
    numpy = importlib.import_module("numpy")
    return numpy.frombuffer(base64.b64decode(text), kind).reshape(shape).copy()


def _moment(parts, offset):
    zone = None if offset is None else datetime.timezone(datetime.timedelta(seconds=offset))
    return datetime.datetime(*parts, tzinfo=zone)  # type: ignore[misc]


SEQUENCES = {"l": list, "t": tuple, "s": set, "f": frozenset, "q": collections.deque}
SCALARS: "dict[str, typing.Any]" = {
    "n": float,
    # One argument: with a second one it asserts.
    "b": lambda text: base64.b64decode(text),  # noqa: PLW0108 - see above
    "B": lambda text: bytearray(base64.b64decode(text)),
    "c": lambda real, imag: complex(float(real), float(imag)),
    "r": range,
    "D": decimal.Decimal,
    "F": _fraction,
    "A": _array,
    "T": _moment,
    "a": lambda parts: datetime.date(*parts),
    "m": lambda parts: datetime.time(*parts),
    "e": lambda parts: datetime.timedelta(*parts),
}
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
