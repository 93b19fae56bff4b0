"""One process per core: runs the same cases in the cheapest ways there are, as often as it is told.

    python3 -s worker.py LIBFLOOR PROGRAM

One JSON order a line on standard input, one answer each. An order is {"way": "floor", "inputs":
[...], "expected": [...], "seconds": 1.0} and its answer {"count": n, "seconds": s, "us": [...]}.
Every output is collected through a pipe and compared. Ways:

    fork     fork of this warm interpreter: the bare floor, with no isolation
    floor    the same into fresh PID, mount, IPC and UTS namespaces with an init (floor.c)
    proc     the same with a fresh /proc; `tmpfs`: with both that and a fresh /tmp
    exec     spawn of a fresh `python3 -I`, with no isolation

Runs under the interpreter that the sandbox's programs have, standard library only.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import time
from typing import Any

# A program of a contest finds these imported, as in the sandbox's own warm interpreter.
WARM = (
    "abc array bisect collections collections.abc contextlib copy dataclasses datetime decimal "
    "enum fractions functools heapq io itertools json math operator queue random re statistics "
    "string threading time traceback types typing"
)
WITH_PROC, WITH_TMPFS = 1, 2
FLAGS = {"floor": 0, "proc": WITH_PROC, "tmpfs": WITH_PROC | WITH_TMPFS}
MNT_DETACH = 2


class Worker:
    """See the module."""

    def __init__(self, library: str, source: str) -> None:
        """Load the floor, warm up, freeze what is there."""
        self.source = source
        self.code = compile(source, "main.py", "exec")
        # PyDLL keeps the GIL: the payload returns from the call as the thread that holds it.
        self.library = ctypes.PyDLL(library)
        self.library.floor_spawn.restype = ctypes.c_long
        api = ctypes.pythonapi
        self.before, self.parent, self.child = (
            api.PyOS_BeforeFork,
            api.PyOS_AfterFork_Parent,
            api.PyOS_AfterFork_Child,
        )
        self.error = self.library.floor_prepare()
        if self.error == 0:
            few_mounts()
        for name in WARM.split():
            __import__(name)
        gc.collect()
        gc.freeze()

    def spawn(self, flags: int) -> int:
        """A fork into fresh namespaces: the pid, 0 in the payload."""
        self.before()
        pid = int(self.library.floor_spawn(flags))
        if pid == 0:
            self.child()
            return 0
        self.parent()
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        return pid

    def one(self, way: str, given: bytes) -> bytes:
        """One case; its output."""
        stdin, give = os.pipe()
        take, stdout = os.pipe()
        os.write(give, given)
        os.close(give)
        if way == "exec":
            pid = self.fresh(stdin, stdout)
        else:
            pid = os.fork() if way == "fork" else self.spawn(FLAGS[way])
            if pid == 0:
                self.payload(stdin, stdout)
        os.close(stdin)
        os.close(stdout)
        output = b""
        while piece := os.read(take, 65536):
            output += piece
        os.close(take)
        _, status = os.waitpid(pid, 0)
        assert status == 0, status
        return output

    def fresh(self, stdin: int, stdout: int) -> int:
        """A fresh interpreter."""
        ends = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1)]
        argv = [sys.executable, "-I", "-c", self.source]
        return os.posix_spawn(sys.executable, argv, {}, file_actions=ends)

    def payload(self, stdin: int, stdout: int) -> None:
        """The program, in the forked interpreter. Does not return."""
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        exec(self.code, {"__name__": "__main__"})  # noqa: S102 - the benchmark's own program
        sys.stdout.flush()
        os._exit(0)

    def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        """One order."""
        way = order["way"]
        if self.error and way in FLAGS:
            return {"error": "no namespaces: " + os.strerror(-self.error)}
        texts = zip(order["inputs"], order["expected"])  # noqa: B905 - on Pythons from 3.8
        cases = [(given.encode(), expected.encode()) for given, expected in texts]
        took = []
        count, start = 0, time.perf_counter_ns()
        end = now = start
        end += int(order["seconds"] * 1e9)
        while now < end or count == 0:
            given, expected = cases[count % len(cases)]
            output = self.one(way, given)
            assert output == expected, (output, expected)
            count += 1
            before, now = now, time.perf_counter_ns()
            took.append((now - before) / 1000)
        return {"count": count, "seconds": (now - start) / 1e9, "us": took}


def few_mounts() -> None:
    """Let go of all mounts that can be: a fresh mount namespace copies what is left.

    A sandbox's slot has a handful of them, a host may have hundreds.
    """
    libc = ctypes.CDLL(None)
    # A fork should not carry pathlib for this one line.
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
        points = [line.split()[4].decode("unicode_escape") for line in file]
    for point in reversed(points):
        if point not in ("/", "/proc", "/dev"):
            libc.umount2(point.encode("latin-1"), MNT_DETACH)


def main() -> None:
    """Until the end of standard input."""
    worker = Worker(sys.argv[1], sys.argv[2])
    # The real descriptors move away from where a payload's own go.
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in orders:
        answers.write(json.dumps(worker.obey(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
