"""What the matrix of languages asks of every language, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from verifier.types import LimitOverrides, Status

MIB = 1024 * 1024
# A line of 64 bytes, 16,384 times.
BIG_STDIN = (b"x" * 63 + b"\n") * 16384


class Kind(str, Enum):
    """The columns of the matrix. What a program of each has to do:

    ACCEPTED: print the sum of the two integers of its input (it is the recipe's self-test).
    WRONG_ANSWER: print 6 for 2 and 3.
    COMPILE_ERROR: not be a program.
    EXIT_CODE: end with exit code 3.
    CPU: compute for ever.
    SLEEP: sleep for a minute.
    MEMORY: take memory, and write to it, until it is ended.
    FLOOD: print for ever.
    BIG_STDIN: read all of `BIG_STDIN` and print how many lines and how many "x" it has:
        "16384 1032192".
    UNICODE: read a line and print it between "→" and "✓".
    THREADS: start four threads that each compute something, wait for them, print 4.
    RECURSION: print the depth of a recursion that is 20,000 calls deep and not a tail call.
    ENDLESS_RECURSION: recurse for ever.
    FORBIDDEN: try to read /etc/shadow and /proc/1/environ, print what they hold, or "refused" once
        if neither can be opened.
    """

    ACCEPTED = "accepted"
    WRONG_ANSWER = "wrong"
    COMPILE_ERROR = "compile error"
    EXIT_CODE = "exit code"
    CPU = "CPU limit"
    SLEEP = "sleep"
    MEMORY = "memory"
    FLOOD = "flood"
    BIG_STDIN = "1 MB stdin"
    UNICODE = "unicode"
    THREADS = "threads"
    RECURSION = "recursion"
    ENDLESS_RECURSION = "endless recursion"
    FORBIDDEN = "forbidden file"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What every language's program of one kind gets, unless its cell says otherwise.

    Attributes:
        status: The verdict.
        stdin: Its input.
        stdout: Its output, without blanks at the end; None: any.
        exit_code: None: any.
        limits: Of the run.
    """

    status: Status
    stdin: bytes = b""
    stdout: bytes | None = None
    exit_code: int | None = None
    limits: LimitOverrides = LimitOverrides()


WANTED: Mapping[Kind, Wanted] = {
    Kind.ACCEPTED: Wanted(Status.ACCEPTED, b"2 3\n", b"5"),
    Kind.WRONG_ANSWER: Wanted(Status.ACCEPTED, b"2 3\n", b"6"),  # a run is not judged: see matrix
    Kind.COMPILE_ERROR: Wanted(Status.COMPILE_ERROR),
    Kind.EXIT_CODE: Wanted(Status.RUNTIME_ERROR, exit_code=3),
    Kind.CPU: Wanted(Status.TIME_LIMIT, limits=LimitOverrides(cpu_time_s=1.0, wall_time_s=20.0)),
    Kind.SLEEP: Wanted(Status.TIME_LIMIT, limits=LimitOverrides(cpu_time_s=10.0, wall_time_s=2.0)),
    Kind.MEMORY: Wanted(
        Status.MEMORY_LIMIT, limits=LimitOverrides(cpu_time_s=30.0, memory_bytes=256 * MIB)
    ),
    Kind.FLOOD: Wanted(
        Status.OUTPUT_LIMIT, limits=LimitOverrides(cpu_time_s=30.0, output_bytes=1 * MIB)
    ),
    Kind.BIG_STDIN: Wanted(Status.ACCEPTED, BIG_STDIN, b"16384 1032192"),
    Kind.UNICODE: Wanted(Status.ACCEPTED, "héllo 🌍 日本\n".encode(), "→héllo 🌍 日本✓".encode()),
    Kind.THREADS: Wanted(Status.ACCEPTED, stdout=b"4"),
    Kind.RECURSION: Wanted(Status.ACCEPTED, stdout=b"20000"),
    Kind.ENDLESS_RECURSION: Wanted(
        Status.RUNTIME_ERROR, limits=LimitOverrides(cpu_time_s=20.0, memory_bytes=1024 * MIB)
    ),
    Kind.FORBIDDEN: Wanted(Status.ACCEPTED, stdout=b"refused"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One program, where it differs from what is wanted of most.

    Attributes:
        source: The program.
        why: Why it gets something else; required where one of the next three is given.
        status: Instead of `Wanted.status`.
        stdout: Instead of `Wanted.stdout`.
        exit_code: Instead of `Wanted.exit_code`.
        limits: Instead of `Wanted.limits`.
    """

    source: str
    why: str = ""
    status: Status | None = None
    stdout: bytes | None = None
    exit_code: int | None = None
    limits: LimitOverrides | None = None


@dataclass(frozen=True, slots=True)
class Impossible:
    """No program of this kind can be written in the language (SQL starts no threads)."""

    why: str


# Of each kind but ACCEPTED: a source, a source with other wishes, or why there is none.
Cells = Mapping[Kind, "str | Cell | Impossible"]
