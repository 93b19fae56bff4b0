"""The little of pytest that data sets' tests use, for sandboxes without it.

Raises, approx, mark, capsys, monkeypatch.
"""

import collections
import contextlib
import importlib
import io
import math
import os
import re
import sys
import types


class Approx:
    """Equal within a tolerance, element by element."""

    def __init__(self, expected, rel=None, abs=None, nan_ok=False):  # noqa: A002 - pytest's own names
        self.expected, self.nan_ok = expected, nan_ok
        self.rel = 1e-6 if rel is None and abs is None else (rel or 0.0)
        self.abs = 1e-12 if abs is None else abs

    def __eq__(self, actual):
        return self.close(actual, self.expected)

    def close(self, actual, expected):
        if isinstance(expected, dict):
            return (
                isinstance(actual, dict)
                and actual.keys() == expected.keys()
                and all(self.close(actual[k], expected[k]) for k in expected)
            )
        if isinstance(expected, (list, tuple)):
            return (
                isinstance(actual, (list, tuple))
                and len(actual) == len(expected)
                and all(map(self.close, actual, expected))
            )
        try:
            if math.isnan(expected):
                return self.nan_ok and math.isnan(actual)
            if math.isinf(expected) or isinstance(expected, bool):
                return actual == expected
            return actual == expected or abs(actual - expected) <= max(
                self.abs, self.rel * abs(expected)
            )
        except (TypeError, ArithmeticError):  # not numbers, or too big for a float
            return actual == expected

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        return "approx(%r)" % (self.expected,)


class Raised:
    """What `raises` gives: the exception in `value`."""

    value: object = None
    type: object = None

    def match(self, pattern):
        return re.search(pattern, str(self.value)) is not None


def raises(expected, *call, match=None, **keywords):
    """The block, or the call of a function with arguments, has to raise `expected`."""
    if not call:
        return raising(expected, match)
    with raising(expected, match) as info:
        call[0](*call[1:], **keywords)
    return info


@contextlib.contextmanager
def raising(expected, match):
    """`raises` around a block."""
    info = Raised()
    try:
        yield info
    except expected as e:
        info.value, info.type = e, type(e)
        if match is not None and not info.match(match):
            raise AssertionError("%r does not match %r" % (str(e), match)) from None
    else:
        raise AssertionError("nothing was raised")


class Mark:
    """`pytest.mark`: parametrize is kept for the caller, anything else changes nothing."""

    @staticmethod
    def parametrize(names, values, **_):
        def keep(function):
            function.__dict__.setdefault("parameters", []).append((names, values))
            return function

        return keep

    def __getattr__(self, name):
        def mark(*arguments, **_):
            return (
                arguments[0]
                if len(arguments) == 1 and callable(arguments[0])
                else lambda function: function
            )

        return mark


def fixture(*arguments, **_):
    return arguments[0] if arguments and callable(arguments[0]) else lambda function: function


def fail(reason=""):
    raise AssertionError(reason)


class CaptureFixture:
    """`capsys`: what is printed from here on, until it is asked for."""

    CaptureResult = collections.namedtuple("CaptureResult", "out err")  # noqa: PYI024 - pytest's own

    def __init__(self):
        self.readouterr()

    def readouterr(self):
        found = [getattr(s, "getvalue", str)() for s in (sys.stdout, sys.stderr)]
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        return self.CaptureResult(*found)


class MonkeyPatch:
    """`monkeypatch`. Nothing is put back: a test's process ends with it."""

    def setattr(self, target, name, *value, raising=True):
        if not value:  # "module.name", value
            path, value = target, (name,)
            module, _, name = path.rpartition(".")
            target = importlib.import_module(module)
        if raising and not hasattr(target, name):
            raise AttributeError(name)
        setattr(target, name, value[0])

    def delattr(self, target, name, raising=True):
        if raising or hasattr(target, name):
            delattr(target, name)

    def setitem(self, mapping, name, value):
        mapping[name] = value

    def delitem(self, mapping, name, raising=True):
        if raising or name in mapping:
            del mapping[name]

    def setenv(self, name, value, prepend=None):
        if prepend and name in os.environ:
            value = "%s%s%s" % (value, prepend, os.environ[name])
        os.environ[name] = str(value)

    def delenv(self, name, raising=True):
        self.delitem(os.environ, name, raising)

    def syspath_prepend(self, path):
        sys.path.insert(0, str(path))

    def chdir(self, path):
        os.chdir(path)


def module():
    """A module object named pytest."""
    made = types.ModuleType("pytest")
    vars(made).update(approx=Approx, raises=raises, mark=Mark(), fixture=fixture, fail=fail)
    vars(made).update(CaptureFixture=CaptureFixture, MonkeyPatch=MonkeyPatch)
    return made
