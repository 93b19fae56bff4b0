"""What a Python payload does between the fork and its own first line, and after its last.

`exec` mode runs the same harness in a fresh interpreter. Descriptors: 3 is the value channel, 4 the
input of a call or an assert, 5 the byte-compiled program, 6 a socket to the run beside this one.
"""

import atexit
import builtins
import gc
import io
import json
import marshal
import os
import re
import struct
import sys
import threading
import traceback
import types
import warnings

from . import link, pytest_shim, remote, served

VALUE, INPUT, CODE, PEER = 3, 4, 5, 6
# The program's byte code has one byte before it: whether a class of it has a finalizer.
WITH_DEL, WITHOUT_DEL = b"D", b"-"
# Or it is source, which the run compiles and hands back on VALUE (see compile_first).
SOURCE = b"S"
LENGTH = struct.Struct(">Q")
WRITERS = frozenset(("__del__", "fdopen", "FileIO", "BufferedWriter", "TextIOWrapper"))
MODE = re.compile("[rbt+]*[wax+][rwaxbt+]*").fullmatch
# The program's module, where it was made before the fork.
MAIN = None
MAX_DEPTH = 200
MAX_VALUE_BYTES = 64 * 1024 * 1024

# Names that LeetCode-style answers use without importing them: that site's own list. The builtins
# keep their names (`pow` of `operator` takes two arguments), and are no names of the module's: a
# test may patch them. That site's recursion is deep, too: the depth here is LiveCodeBench's.
# Compiled once, run for every call.
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
    "sys.setrecursionlimit(50_000)\n"
    "for _ in dir(__builtins__):\n    _[0] == '_' or globals().pop(_, None)\ndel _\n",
    "<names>",
    "exec",
)


def read_all(fd, size=None):
    """All of a descriptor that other cases share: by position, so that its offset stays."""
    if size is not None:
        data = os.pread(fd, size, 0)
        if len(data) == size:
            os.close(fd)
            return data
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


def run(kind, fn_name, code_bytes=None):
    """Run the payload; returns the exit code, or does not return.

    `code_bytes` is the size of what is in CODE, where it is known. What follows is written with an
    eye on what it touches: after a fork, each page that is touched first is a copy of 3 us.
    """
    if kind == "compile":
        return byte_compile()
    if kind == "python_test":
        record = remote.run_tests(PEER, read_all(INPUT))
        if record is not None:
            channel()(record)
        os._exit(0)
    packed = read_all(CODE, code_bytes)
    if packed[:1] == SOURCE:
        finalizers, code = compile_first(packed[1:])
    else:
        finalizers, code = packed[:1] == WITH_DEL, marshal.loads(packed[1:])
    test = read_all(INPUT) if kind in ("python_call", "python_assert") else b""
    main = MAIN or prepare()
    if kind == "python":
        return finish(guard(exec, code, main.__dict__) or 0, finalizers)
    # Called, not run: an `if __name__ == "__main__"` block is not part of the answer.
    main.__name__ = "solution"
    sys.modules["solution"] = main
    if kind == "python_serve":
        exec(CALL_NAMESPACE, main.__dict__)
        define(main.__dict__, read_all(INPUT), fn_name)
        status = guard(exec, code, main.__dict__)
        if status is not None:
            return finish(status, finalizers)
        return finish(guard(serve, main.__dict__) or 0)
    emit, loads, dumps = channel(), json.loads, plain_json
    exec(CALL_NAMESPACE, main.__dict__)
    if kind == "python_assert":  # Python has no NUL
        preamble, _, test = test.rpartition(b"\0")
        define(main.__dict__, preamble, fn_name)
    status = guard(exec, code, main.__dict__)
    if status is not None:  # it left before anything was called, and with whatever code: no record
        return finish(status, finalizers)
    if kind == "python_call":
        record = call(main.__dict__, fn_name, loads(test), dumps)
    else:
        record = check(main.__dict__, test)
    emit(record)
    return finish(0, finalizers)


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
    served.Program(link.Link(PEER), namespace).serve()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def byte_compile():
    """Source on stdin, marshalled code on the value channel."""
    code = compiled(sys.stdin.buffer.read())
    write_all(VALUE, pack(code))
    return 0 if code else 1


def compile_first(source):
    """The first run of a program compiles it, for the others too.

    Nothing of the program has run yet, and the channel is closed before anything does: what the
    runner gets is ours. Before it goes its length, so that half of it is none; a length of 0 says
    that the source is no program. Returns whether there are finalizers, and the code.
    """
    code = compiled(source)
    packed = pack(code)
    write_all(VALUE, LENGTH.pack(len(packed)) + packed)
    os.close(VALUE)
    if code is None:
        os._exit(1)
    return packed[:1] == WITH_DEL, code


def compiled(source):
    """The code; None, and a message on stderr, when it is no program."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(source, "/program/main.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as e:
        sys.stderr.write("".join(traceback.format_exception_only(type(e), e)))
        sys.stderr.flush()
        return None


def pack(code):
    """Code as the runner keeps it; nothing for none."""
    if code is None:
        return b""
    return (WITH_DEL if uses_del(code) else WITHOUT_DEL) + marshal.dumps(code)


def write_all(fd, data):
    """All of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


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
        # The exception's own one is shown, so that is what has to begin with the program.
        BaseException.with_traceback(e, trace.tb_next if trace is not None else None)
        sys.excepthook(type(e), e, e.__traceback__)
        return 130 if isinstance(e, KeyboardInterrupt) else 1
    return None


def prepare():
    """The module that the program will be; returns it."""
    global MAIN  # noqa: PLW0603 - read after the fork
    MAIN = types.ModuleType("__main__")
    MAIN.__file__ = "/program/main.py"
    MAIN.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = MAIN
    sys.path[0] = "/program"
    return MAIN


def finish(status, finalizers=False):
    """The interpreter's own way out, without freeing every object first.

    The process ends anyway.
    """
    if finalizers:
        # They may print: leave the long way. The module was there before the fork: it goes only if
        # nobody holds it, and what refers to it in a circle only if it is collected.
        globals()["MAIN"] = None
        gc.unfreeze()
        sys.exit(status)
    try:
        if threads():
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


def threads():
    """Whether there may be any to wait for."""
    try:
        return threading._threading_atexits or threading._shutdown_locks  # type: ignore[attr-defined]
    except AttributeError:  # another version's threading
        return True


def uses_del(code):
    """Whether any class of the program has a finalizer.

    A file that is written has one: what is left in its buffer (`os.fdopen(1, "w")`) goes out then.
    """
    names = {code.co_name, *code.co_names, *code.co_varnames}
    if not WRITERS.isdisjoint(names):
        return True
    if "open" in names and any(isinstance(c, str) and MODE(c) for c in code.co_consts):
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
