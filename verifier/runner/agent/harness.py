"""What a Python payload does between the fork and its own first line, and after its last.

`exec` mode runs the same harness in a fresh interpreter. Descriptors: 3 is the value channel, 4 the
input of a call or an assert, 5 the byte-compiled program, 6 a socket to the run beside this one.
"""

import atexit
import builtins
import io
import json
import marshal
import os
import sys
import threading
import traceback
import types

from . import pytest_shim, remote

VALUE, INPUT, CODE, PEER = 3, 4, 5, 6
MAX_DEPTH = 200
MAX_VALUE_BYTES = 64 * 1024 * 1024

# Names that LeetCode-style answers use without importing them: that site's own list. The builtins
# keep their names (`pow` of `operator` takes two arguments), and are no names of the module's: a
# test may patch them. Compiled once, run for every call.
CALL_NAMESPACE = compile(
    "".join(
        "from %s import *\n" % name
        for name in (
            "string re datetime collections heapq bisect copy math random statistics itertools "
            "functools operator io sys json typing"
        ).split()
    )
    + "import bisect, collections, copy, datetime, functools, heapq, io, itertools, json, math\n"
    "import operator, random, re, statistics, string, sys, typing\n"
    "for _ in dir(__builtins__):\n    _[0] == '_' or globals().pop(_, None)\ndel _\n",
    "<names>",
    "exec",
)


def read_all(fd):
    """All of a descriptor that other cases share: by position, so that its offset stays."""
    size = os.fstat(fd).st_size
    parts, at = [], 0
    while at < size:
        data = os.pread(fd, size - at, at)
        if not data:
            break
        parts.append(data)
        at += len(data)
    os.close(fd)
    return b"".join(parts)


def run(kind, fn_name):
    """Run the payload; returns the exit code, or does not return."""
    if kind == "compile":
        return byte_compile()
    if kind == "python_test":
        record = remote.run_tests(PEER, read_all(INPUT))
        if record is not None:
            channel()(record)
        os._exit(0)
    code = marshal.loads(read_all(CODE))
    test = read_all(INPUT) if kind in ("python_call", "python_assert") else b""
    main = types.ModuleType("__main__")
    main.__file__ = "/program/main.py"
    main.__dict__["__builtins__"] = builtins
    if kind != "python":
        # Called, not run: an `if __name__ == "__main__"` block is not part of the answer.
        main.__name__ = "solution"
        sys.modules["solution"] = main
    sys.modules["__main__"] = main
    sys.path[0] = "/program"
    if kind == "python":
        return finish(guard(exec, code, main.__dict__) or 0, code)
    if kind == "python_serve":
        exec(CALL_NAMESPACE, main.__dict__)
        define(main.__dict__, read_all(INPUT), fn_name)
        status = guard(exec, code, main.__dict__)
        if status is not None:
            return finish(status, code)
        return finish(guard(serve, main.__dict__) or 0, None)
    emit, loads, dumps = channel(), json.loads, plain_json
    exec(CALL_NAMESPACE, main.__dict__)
    if kind == "python_assert":  # Python has no NUL
        preamble, _, test = test.rpartition(b"\0")
        define(main.__dict__, preamble, fn_name)
    status = guard(exec, code, main.__dict__)
    if status is not None:  # it left before anything was called, and with whatever code: no record
        return finish(status, code)
    if kind == "python_call":
        record = call(main.__dict__, fn_name, loads(test), dumps)
    else:
        record = check(main.__dict__, test)
    emit(record)
    return finish(0, code)


def define(namespace, preamble, fn_name):
    """Run what a program may take for granted: the names that its prompt has shown to the model.

    The prompt's own stub of the entry point is no answer.
    """
    if not preamble:
        return
    try:
        exec(compile(preamble, "/program/prompt.py", "exec", dont_inherit=True), namespace)
    except Exception:
        pass  # what it has defined until then is there
    if fn_name:
        namespace.pop(fn_name, None)


def serve(namespace):
    """Answer the test side until it is done.

    Whatever the program still has running ends with it.
    """
    remote.Program(remote.Link(PEER), namespace).serve()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def byte_compile():
    """Source on stdin, marshalled code on the value channel."""
    source = sys.stdin.buffer.read()
    try:
        import warnings

        warnings.simplefilter("ignore")
        code = compile(source, "/program/main.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as e:
        sys.stderr.write("".join(traceback.format_exception_only(type(e), e)))
        sys.stderr.flush()
        return 1
    view = memoryview(marshal.dumps(code))
    while view:
        view = view[os.write(VALUE, view) :]
    return 0


def guard(action, *arguments):
    """Run something of the program's.

    None when it came to its end, else the exit code it asks for.
    """
    try:
        action(*arguments)
    except SystemExit as e:
        if e.code is None:
            return 0
        if isinstance(e.code, int):
            return e.code & 0xFF
        print(e.code, file=sys.stderr)
        return 1
    except BaseException as e:
        trace = e.__traceback__
        sys.excepthook(type(e), e, trace.tb_next if trace is not None else None)
        return 130 if isinstance(e, KeyboardInterrupt) else 1
    return None


def finish(status, code):
    """The interpreter's own way out, without freeing every object first.

    The process ends anyway.
    """
    if code is not None and uses_del(code):
        sys.exit(status)  # finalizers may print: leave the long way
    try:
        threading._shutdown()  # type: ignore[attr-defined]
    except BaseException:
        pass
    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass
    try:
        sys.stdout.flush()
    except BaseException as e:
        # As Python does: a stdout that cannot be written is exit code 120; a closed one is not an
        # error.
        if not isinstance(e, (ValueError, AttributeError)):
            status = status or 120
    try:
        sys.stderr.flush()
    except BaseException:
        pass
    os._exit(status)


def uses_del(code):
    """Whether any class of the program has a finalizer."""
    if "__del__" in code.co_names or "__del__" in code.co_varnames or code.co_name == "__del__":
        return True
    return any(isinstance(c, types.CodeType) and uses_del(c) for c in code.co_consts)


def channel():
    """A function that writes one record to the value channel, out of the program's easy reach."""
    fd, write = VALUE, os.write
    dumps = json.dumps

    def emit(record):
        view = memoryview(record if isinstance(record, bytes) else dumps(record).encode())
        while view:
            view = view[write(fd, view) :]

    return emit


def call(namespace, fn_name, arguments, dumps):
    """Call the entry point with plain arguments; a record with its value as JSON."""
    function = namespace.get(fn_name)
    if function is None:
        solution = namespace.get("Solution")
        if solution is not None and hasattr(solution, fn_name):
            try:
                function = getattr(solution(), fn_name)
            except BaseException as e:
                return failure("raised", e)
    if not callable(function):
        return {"ok": False, "kind": "no_entry_point", "error": "there is no function %s" % fn_name}
    try:
        value = function(*arguments)
    except SystemExit:
        return {"ok": False, "kind": "raised", "error": "SystemExit"}
    except BaseException as e:
        traceback.print_exc()
        return failure("raised", e)
    try:
        return b'{"ok":true,"value":' + dumps(value) + b"}"
    except BaseException as e:
        return failure("unserializable", e)


def check(namespace, test):
    """Run a test's source in the program's namespace; a record that it came to its end."""
    sys.modules.setdefault("pytest", pytest_shim.module())
    try:
        exec(compile(test, "/program/test.py", "exec", dont_inherit=True), namespace)
    except AssertionError as e:
        return failure("assertion", e)
    except SystemExit:
        return {"ok": False, "kind": "raised", "error": "SystemExit"}
    except BaseException as e:
        traceback.print_exc()
        return failure("raised", e)
    return {"ok": True}


def failure(kind, error):
    """A record that says what was raised. `str` of a program's exception is the program's code."""
    try:
        text = str(error)[:500]
    except BaseException:
        text = ""
    return {"ok": False, "kind": kind, "error": "%s: %s" % (type(error).__name__[:100], text)}


def plain_json(value):
    """JSON of plain data.

    Subclasses are reduced to their plain value by their base's own methods, so nothing
    that a program overrode is asked; anything else is refused."""
    out = io.StringIO()
    write_plain(value, out.write, 0)
    return out.getvalue().encode("utf-8", "surrogatepass")


def write_plain(value, write, depth):
    """One value, by its base type."""
    if depth > MAX_DEPTH:
        raise ValueError("value is nested too deeply")
    if value is None:
        write("null")
    elif value is True or value is False:
        write("true" if value else "false")
    elif isinstance(value, int):
        write(int.__repr__(value))
    elif isinstance(value, float):
        text = float.__repr__(value)
        write({"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(text, text))
    elif isinstance(value, str):
        write(json.dumps(str.__str__(value)))
    elif isinstance(value, (list, tuple)):
        write("[")
        for i, item in enumerate(
            list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        ):
            write("," if i else "")
            write_plain(item, write, depth + 1)
        write("]")
    elif isinstance(value, dict):
        write("{")
        for i, (key, item) in enumerate(dict.items(value)):
            write("," if i else "")
            write(json.dumps(plain_key(key)))
            write(":")
            write_plain(item, write, depth + 1)
        write("}")
    elif type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        write_plain(value.tolist(), write, depth + 1)
    elif isinstance(value, (set, frozenset)):
        raise TypeError("a set has no order; return a list")
    else:
        raise TypeError("%s is not plain data" % type(value).__name__)


def plain_key(key):
    """Object keys of JSON are strings; the key of an int-keyed dict is its digits."""
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or key is True or key is False:
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, int):
        return int.__repr__(key)
    if isinstance(key, float):
        return float.__repr__(key)
    if isinstance(key, tuple):
        return repr(tuple(key))
    raise TypeError("a %s cannot be a key" % type(key).__name__)


def main(arguments):
    """`exec` mode.

    Kind, function name, and the descriptors' numbers where they are not the usual ones.
    """
    global VALUE, INPUT, CODE, PEER
    kind, fn_name = arguments[:2]
    if len(arguments) > 2:
        VALUE, INPUT, CODE, PEER = (int(fd) for fd in arguments[2:6])
    sys.argv[:] = ["/program/main.py"]
    sys.exit(run(kind, fn_name))
