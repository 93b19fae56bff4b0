"""The zygote: a warm interpreter, forked once per case; compiled programs are spawned from it.

It receives descriptors and limits, never data: a forked child can read its whole heap. It answers
with the pid of the run's init, which is the runner's child.
"""

import array
import ctypes
import gc
import io
import json
import os
import random
import sys
import threading

from . import harness, libjail, mounts

# Imported once here instead of once per case. Chosen by what contest programs import; each page
# more of them is 0.15 us more in every case. (dataclasses, for one, brings inspect and 135 pages
# along, 20 us, and takes 10 ms to import: where one program in 500 uses it, that is even.)
WARM = (
    "abc array bisect collections collections.abc contextlib copy dataclasses datetime decimal "
    "enum fractions functools heapq io itertools json math operator queue random re statistics "
    "string threading time traceback types typing"
).split()

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECUREBITS = 1, 4, 24, 28
SECURE_NOROOT_LOCKED = 0x3
MADV_POPULATE_READ, MADV_POPULATE_WRITE = 22, 23
TEXT_BYTES = 128 * 1024
MAIN_THREAD = threading.main_thread()
PRESENT = 1 << 63  # of an entry of pagemap
FIRST_FREE_FD = 10
# Of a message from the runner; above 128 KiB every receive would map and unmap its buffer.
MESSAGE_BYTES = 64 * 1024


def main(sock, library, procs_fds, without=()):
    """Never returns in the zygote; returns the exit code in a payload."""
    try:
        switched_off = sum(libjail.WITHOUT.get(name, 0) for name in without)
        prepare(procs_fds)
        # From here on under the filter of the slot: what no case may do, and we need not.
        mounts.check(library.jail_prepare(switched_off), "the slot's system call filter")
    except BaseException as e:
        sock.send(("%s: %s" % (type(e).__name__, e)).encode()[:200])
        os._exit(1)
    spec, program = libjail.Spec(), {}  # type: ignore[var-annotated]
    spec.without = switched_off
    spec.code_fd = -1
    message, given = ctypes.c_char_p(), ctypes.c_int64()
    serve, own_fd = library.jail_serve, sock.fileno()
    gc.collect()
    gc.freeze()
    arrange_memory()
    sock.send(b"ready")
    while True:
        size = serve(spec, own_fd, message, given)
        if size == 0:
            after_fork()
            return harness.run(*program["call"])
        if size < 0:
            os._exit(0)
        if spec.code_fd >= 0:
            os.close(spec.code_fd)
        program = json.loads(ctypes.string_at(message, size))
        program["alive"] = fill(spec, program, given.value)
        sock.send(b"ok")


def after_fork():
    """In a payload: the little of what the interpreter does after a fork that shows here.

    The fork is not Python's own (jail.c). No other thread was there that could hold a lock, and its
    handlers would copy 170 pages. They would also seed `random`: as it is, a program that does not
    seed it gets the same numbers in every run and in every slot.
    """
    MAIN_THREAD._native_id = threading.get_native_id()  # type: ignore[attr-defined]


def own_pages(spans, pagemap):
    """Copy at once what is still shared with the runner.

    Otherwise it would be copied page by page as the zygote works, and the slot's memory base, which
    is measured once, would be too low. Only what is there: each page more is one more to copy and
    to free in every case.
    """
    page = os.sysconf("SC_PAGE_SIZE")
    for start, end in spans:
        entries = array.array("Q", os.pread(pagemap, (end - start) // page * 8, start // page * 8))
        for number, entry in enumerate(entries):
            if entry & PRESENT:
                # Linux 5.14; before it, the base is a little low.
                at = ctypes.c_void_p(start + number * page)
                mounts.libc.madvise(at, ctypes.c_size_t(page), MADV_POPULATE_WRITE)


def map_text(spans):
    """Let every fork have the interpreter's code mapped from the start.

    A fork leaves out the page tables of file mappings that were never written, and each case would
    fault its way through 2 MB of code, 64 KiB at a time. One page of ours makes the kernel copy the
    tables, which costs less.
    """
    libc, page = mounts.libc, ctypes.c_size_t(os.sysconf("SC_PAGE_SIZE"))
    for start, end in spans:
        if end - start >= TEXT_BYTES and libc.mprotect(ctypes.c_void_p(start), page, 7) == 0:
            ctypes.memmove(start, ctypes.string_at(start, 1), 1)
            libc.mprotect(ctypes.c_void_p(start), page, 5)
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_POPULATE_READ)


def arrange_memory():
    """Make the memory that every case gets a copy of cheap to copy."""
    if hasattr(mounts.libc, "malloc_trim"):  # glibc's: what importing has left free
        mounts.libc.malloc_trim(0)
    prctl = mounts.libc.prctl
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else these files are not ours to read
    spans = {"rw-p": [], "r-xp": []}  # type: ignore[var-annotated]
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            span, rights = line.split()[:2]
            if rights in spans and not line.endswith("[vdso]\n"):
                spans[rights].append([int(number, 16) for number in span.split("-")])
    map_text(spans["r-xp"])
    pagemap = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    own_pages(spans["rw-p"], pagemap)
    os.close(pagemap)
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def fill(spec, program, code_fd):
    """Everything of the spec that is the same for all cases of a program.

    Returns what the spec points into.
    """
    limits = program["limits"]
    spec.abi = libjail.ABI
    spec.code_fd = code_fd
    spec.uid, spec.gid = program["uid"], program["gid"]
    spec.build = program["build"]
    # Far away: the summed limit, read from the cgroup, is the one that decides. The kernel holds
    # this one against a process's clock ticks, which were seen to run ahead of it by a quarter.
    spec.cpu_s = 2 * int(limits["cpu_time_s"]) + 10
    spec.tmp_bytes = spec.file_bytes = limits["file_bytes"]
    spec.tmp_inodes = 16384
    spec.stack_bytes = min(limits["memory_bytes"], limits["stack_bytes"])
    spec.processes = limits["processes"]
    spec.open_files = limits["open_files"]
    spec.has_value, spec.has_input = program["value"], program["input"]
    spec.has_peer, spec.has_extra = program["peer"], program["extra"]
    if not program["argv"]:
        spec.argv = spec.envp = None
        return None
    argv = libjail.string_array([a.encode("utf-8", "surrogateescape") for a in program["argv"]])
    envp = libjail.string_array([("%s=%s" % (k, v)).encode() for k, v in program["env"]])
    spec.argv = ctypes.cast(argv, ctypes.POINTER(ctypes.c_char_p))
    spec.envp = ctypes.cast(envp, ctypes.POINTER(ctypes.c_char_p))
    return argv, envp


def renew_outputs():
    """Standard streams whose descriptors are pipes, as those of a case are.

    A stream asks once whether it can seek, and /dev/null can: a program that wraps `sys.stdout`
    anew (`io.TextIOWrapper(sys.stdout.buffer)`) would fail.
    """
    ends = os.pipe()
    for fd, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(ends[1], fd)
        old = getattr(sys, name)
        raw = io.FileIO(fd, "wb", closefd=False)
        raw.name = "<%s>" % name
        new = io.TextIOWrapper(
            io.BufferedWriter(raw), old.encoding, old.errors, "\n", old.line_buffering
        )
        new.mode = "w"  # type: ignore[misc]
        setattr(sys, name, new)
        setattr(sys, "__%s__" % name, new)
    for fd in ends:
        os.close(fd)


def prepare(procs_fds):
    """Join the slot's cgroup, see /program and /build read-only, give up what no case may have."""
    for fd in procs_fds:
        os.write(fd, b"0")
        os.close(fd)
    prctl = mounts.libc.prctl
    prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)
    mounts.unshare(mounts.CLONE_NEWNS | mounts.CLONE_NEWCGROUP, "the zygote's mounts")
    for point in ("/program", "/build"):
        mounts.remount_read_only(point)
    prctl(PR_SET_SECUREBITS, SECURE_NOROOT_LOCKED, 0, 0, 0)
    for capability in range(64):
        if prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    renew_outputs()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    # The payload's own descriptors get the low numbers; keep the zygote's clear of them.
    for fd in range(3, FIRST_FREE_FD):
        try:
            os.fstat(fd)
        except OSError:
            os.dup2(null, fd)
    for name in WARM:
        __import__(name)
    random.seed(0)
    harness.prepare()
    sys.argv[:] = ["/program/main.py"]
