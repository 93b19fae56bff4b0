"""Runs a test framework as a child and says what it reports on the value channel.

Runs in the jail of the program, under the sandbox's Python. The framework and the program share the
child; this process is out of its reach: it cannot be traced, its descriptors are its own. What the
framework's reporter writes to descriptor 9 counts only behind a nonce, which it reads from
descriptor 8 before any of the program is loaded. So a program that ends the process, prints a
report or writes to descriptors reports nothing. One that searches the memory of its own process for
the nonce is not held off: hence `Trust.IN_PROCESS`.

Descriptors: 3 takes the records, one JSON object a line; 4 says what to run.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import re
import secrets
import select
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import typing

NONCE, REPORT = 8, 9
MAX_LINE = 1 << 20
MAX_MESSAGE = 4000
PR_SET_DUMPABLE = 4
PROGRAM = "/program"
Record = dict[str, typing.Any]


def main(argv: list[str]) -> None:
    """Copy the project to the working directory, run, report, end as the framework did."""
    # No other process of this user may trace this one, or look at its descriptors.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    with os.fdopen(4, "rb") as file:
        given = json.load(file)
    for fd in (4, 5):
        with contextlib.suppress(OSError):
            os.close(fd)
    with tarfile.open(PROGRAM + "/work.tar") as archive:
        archive.extractall()
    if given["mode"] == "go_test":
        code = go(argv, given)
    elif given["mode"] == "cargo_test":
        code = rust(given)
    else:
        code, _ = child([*argv, *given["arguments"]], say)
    say({"exit_code": code, "files": fetched(given["fetch"], given["room"])})
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def say(record: Record) -> None:
    """One record for the verdict."""
    if isinstance(record.get("message"), str):
        record["message"] = record["message"][:MAX_MESSAGE]
    data = memoryview(json.dumps(record).encode() + b"\n")
    while data:
        data = data[os.write(3, data) :]


def child(
    argv: list[str], heard: typing.Callable[[Record], None], *, cwd: str = ".", rename: bytes = b""
) -> tuple[int, float]:
    """Run a framework: (its exit code, seconds). `rename` is left out of what it prints."""
    nonce = secrets.token_hex(16).encode()
    began = time.monotonic()
    ours, theirs = os.pipe(), os.pipe()
    os.write(ours[1], nonce)
    os.close(ours[1])
    os.dup2(ours[0], NONCE)
    os.dup2(theirs[1], REPORT)
    for fd in (ours[0], theirs[1]):
        os.close(fd)
    process = subprocess.Popen(
        argv, cwd=cwd, pass_fds=(NONCE, REPORT), stdout=subprocess.PIPE if rename else None
    )
    os.close(NONCE)
    os.close(REPORT)
    rest: dict[int, bytes] = {theirs[0]: b""}
    if process.stdout is not None:
        rest[process.stdout.fileno()] = b""
    while rest:
        # Who holds an end open when the framework has gone is not waited for.
        ready, _, _ = select.select(list(rest), [], [], 0.05)
        if not ready and process.poll() is not None:
            break
        for fd in ready:
            data = os.read(fd, 1 << 16)
            *lines, rest[fd] = (rest[fd] + data).split(b"\n")
            if len(rest[fd]) > MAX_LINE:
                lines.append(rest[fd])
                rest[fd] = b""
            if fd == theirs[0]:
                report(lines, nonce, heard)
            else:
                printed(b"".join(line + b"\n" for line in lines), rename)
            if not data:
                if fd != theirs[0]:
                    printed(rest[fd], rename)
                del rest[fd]
    os.close(theirs[0])
    return process.wait(), time.monotonic() - began


def report(lines: list[bytes], nonce: bytes, heard: typing.Callable[[Record], None]) -> None:
    """Pass on what has the nonce."""
    for line in lines:
        if line.startswith(nonce):
            with contextlib.suppress(ValueError):
                heard(json.loads(line[len(nonce) :]))


def printed(data: bytes, rename: bytes) -> None:
    """To our own standard output."""
    view = memoryview(data.replace(rename, b""))
    while view:
        view = view[os.write(1, view) :]


def go(argv: list[str], given: Record) -> int:
    """Run the test binary; where it dies in a test, go on behind that one."""
    prefix, left = "Test_%s_" % given["token"], list(given["tests"])
    folder, code, seconds, silent = given["folder"] or ".", 1, 0.0, 0
    os.makedirs(folder, exist_ok=True)
    while left:
        running: list[str] = []
        before = len(left)

        def heard(record: Record, running: list[str] = running) -> None:
            if record["status"] == "started":
                running[:] = [record["name"]]
            elif record["name"] in left:
                left.remove(record["name"])
                running.clear()
                say(record)

        pattern = "^(%s)$" % "|".join(prefix + name for name in left)
        command = [*argv, "-test.paniconexit0", "-test.run", pattern]
        code, took = child(command, heard, cwd=folder, rename=prefix.encode())
        seconds += took
        for name in running:
            if name in left:
                left.remove(name)
                say({"name": name, "status": "error", "message": "the process ended: %d" % code})
        silent = silent + 1 if len(left) == before else 0
        if silent or not given["scored"]:
            break
    # As `go test` ends; its binary has printed the rest.
    end = "ok  " if code == 0 else "FAIL"
    printed(b"%s\tcommand-line-arguments\t%.3fs\n" % (end.encode(), seconds), b"\0")
    return code


def rust(given: Record) -> int:
    """Each test in a process of its own; the harness logs to a file whose name is new each time."""
    worst = 0
    for binary, name, shown in given["tests"]:
        folder = tempfile.mkdtemp()
        log, output = os.path.join(folder, secrets.token_hex(8)), os.path.join(folder, "output")
        command = [os.path.join(PROGRAM, "bin", binary), "--exact", name, "--test-threads=1"]
        began = time.monotonic()
        with open(output, "wb") as out:
            process = subprocess.Popen([*command, "--logfile", log], stdout=out)
            code = process.wait()
        said = read(output, 1 << 20)
        printed(said, b"\0")
        logged = read(log, MAX_LINE).decode("utf-8", "replace").splitlines()
        status = "error"
        if logged == ["ok " + name] and code == 0:
            status = "passed"
        elif logged == ["failed " + name]:
            status = "failed"
        elif len(logged) == 1 and logged[0].startswith("ignored " + name) and code == 0:
            status = "skipped"
        panic = re.search(rb"panicked at [^\n]*", said)
        message = panic[0].decode("utf-8", "replace") if panic else ""
        if status == "error":
            if code == 0 and b"\nrunning 0 tests" in b"\n" + said and not logged:
                continue  # not collected
            message = message or "the process ended: %d" % code
        say(
            {
                "name": shown,
                "status": status,
                "message": message if status != "passed" else "",
                "seconds": time.monotonic() - began,
            }
        )
        worst = worst or code
        shutil.rmtree(folder, ignore_errors=True)
    return worst


def read(path: str, most: int) -> bytes:
    """The head of a regular file; nothing where there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):
        return b""
    with os.fdopen(fd, "rb") as file:
        return file.read(most) if stat.S_ISREG(os.fstat(fd).st_mode) else b""


def fetched(names: list[str], room: int) -> dict[str, str]:
    """Files of the working directory that are handed back."""
    found = {}
    for name in names:
        if os.path.isfile(name):
            data = read(name, room + 1)
            if len(data) <= room:
                room -= len(data)
                found[name] = base64.b64encode(data).decode()
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
