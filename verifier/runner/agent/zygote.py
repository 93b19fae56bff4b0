"""The zygote: a warm interpreter, forked once per case; compiled programs are spawned from it.

It receives descriptors and limits, never data: a forked child can read its whole heap. It answers
with the pid of the run's init, which is the runner's child.
"""

import array
import ctypes
import gc
import json
import os
import socket
import sys

from . import harness, libjail, mounts

# Imported once here instead of once per case. Chosen by what contest programs import; more of them
# would make every fork copy more pages.
WARM = (
    "abc array bisect collections collections.abc contextlib copy dataclasses datetime decimal "
    "enum fractions functools heapq io itertools json math operator queue random re statistics "
    "string threading time traceback types typing"
).split()

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECUREBITS = 1, 4, 24, 28
SECURE_NOROOT_LOCKED = 0x3
MADV_POPULATE_WRITE = 23
FIRST_FREE_FD = 10
# Of a message from the runner; above 128 KiB every receive would map and unmap its buffer.
MESSAGE_BYTES = 64 * 1024


def main(sock, library, procs_fds, without=()):
    """Never returns in the zygote; returns the exit code in a payload."""
    try:
        prepare(procs_fds)
        library.jail_prepare()
    except BaseException as e:
        sock.send(("%s: %s" % (type(e).__name__, e)).encode()[:200])
        os._exit(1)
    program, spec = {}, libjail.Spec()
    spec.without = sum(libjail.WITHOUT.get(name, 0) for name in without)
    before, after_parent, after_child = (
        getattr(ctypes.pythonapi, "PyOS_" + n)
        for n in ("BeforeFork", "AfterFork_Parent", "AfterFork_Child")
    )
    code_fd = -1
    fds = array.array("i")
    room = socket.CMSG_LEN(8 * fds.itemsize)
    gc.collect()
    gc.freeze()
    own_pages()
    sock.send(b"ready")
    while True:
        message, ancillary, _, _ = sock.recvmsg(MESSAGE_BYTES, room, socket.MSG_CMSG_CLOEXEC)
        if not message:
            os._exit(0)
        del fds[:]
        for _, _, data in ancillary:
            fds.frombytes(data)
        if message != b"run":  # a new program
            if code_fd >= 0:
                os.close(code_fd)
            code_fd = fds[0] if fds else -1
            program = json.loads(message)
            fill(spec, program, code_fd)
            sock.send(b"ok")
            continue
        spec.stdin_fd, spec.stdout_fd, spec.stderr_fd, spec.status_fd = fds[:4]
        rest = list(fds[4:])
        spec.value_fd = rest.pop(0) if program["value"] else -1
        spec.input_fd = rest.pop(0) if program["input"] else -1
        spec.peer_fd = rest.pop(0) if program["peer"] else -1
        if program["extra"]:
            spec.code_fd = rest.pop(0)
        before()
        pid = library.jail_spawn(spec)
        if pid == 0:
            after_child()
            return harness.run(program["harness"], program["fn_name"])
        after_parent()
        for fd in fds:
            os.close(fd)
        if pid < 0:
            sock.send(b"fault %s: %s" % (library.jail_failure(), os.strerror(-pid).encode()))
        else:
            sock.send(b"%d" % pid)


def own_pages():
    """Copy at once what is still shared with the runner.

    Otherwise it would be copied page by page as the zygote works, and the slot's memory base, which
    is measured once, would be too low.
    """
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as f:
        spans = [line.split()[0] for line in f if " rw-p " in line]
    for span in spans:
        start, end = (int(number, 16) for number in span.split("-"))
        # Linux 5.14; before it, the base is a little low.
        mounts.libc.madvise(
            ctypes.c_void_p(start), ctypes.c_size_t(end - start), MADV_POPULATE_WRITE
        )


def fill(spec, program, code_fd):
    """Everything of the spec that is the same for all cases of a program."""
    limits = program["limits"]
    spec.abi = libjail.ABI
    spec.code_fd = code_fd
    spec.uid, spec.gid = program["uid"], program["gid"]
    spec.build = program["build"]
    # One second of grace: the summed limit, read from the cgroup, is the one that decides.
    spec.cpu_s = int(limits["cpu_time_s"]) + 2
    spec.tmp_bytes = spec.file_bytes = limits["file_bytes"]
    spec.tmp_inodes = 16384
    spec.stack_bytes = min(limits["memory_bytes"], limits["stack_bytes"])
    spec.processes = limits["processes"]
    spec.open_files = limits["open_files"]
    if not program["argv"]:
        spec.argv = spec.envp = None
        return
    argv = libjail.string_array([a.encode("utf-8", "surrogateescape") for a in program["argv"]])
    envp = libjail.string_array([("%s=%s" % (k, v)).encode() for k, v in program["env"]])
    spec.argv = ctypes.cast(argv, ctypes.POINTER(ctypes.c_char_p))
    spec.envp = ctypes.cast(envp, ctypes.POINTER(ctypes.c_char_p))
    program["alive"] = (argv, envp)  # the spec points into them


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
    sys.argv[:] = ["/program/main.py"]
