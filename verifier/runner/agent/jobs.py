"""The runner's loop: frames in, runs, frames out."""

import ctypes
import fcntl
import fnmatch
import json
import os
import socket
import stat
import sys
import time

from . import frames, harness, libjail, zygote
from .cgroups import read_number

STDERR_KEEP = 16 * 1024
VALUE_BYTES = 64 * 1024 * 1024
# What may be charged to the slot between runs, above what was when it began. A runner in the same
# group (a container) has buffers of its own.
SLACK_BYTES, OWN_SLACK_BYTES = 2 * 1024 * 1024, 8 * 1024 * 1024
# How often and how long is waited for the kernel to free what a run has left; 3 s in all, since it
# does so in the background, and the machine may be busy.
SETTLE_S = (0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.3, 0.5, 0.5, 1.0)
MAX_OUTPUT_DEPTH, MAX_ARTIFACT_FILES = 16, 4096
MAX_ARTIFACT_BYTES = 256 * 1024 * 1024
F_ADD_SEALS, ALL_SEALS = 1033, 0x1 | 0x2 | 0x4 | 0x8
PYTHON = ["/usr/bin/python3", "-s", "-X", "int_max_str_digits=0"]
AGENT = "/program/.agent.pyz"
# Harnesses whose input is not standard input, and which answer on the value channel.
BY_CHANNEL = ("python_call", "python_assert", "python_test")
# Harnesses that read their input from a descriptor of its own.
BY_INPUT = (*BY_CHANNEL, "python_serve")
# What every program finds in its environment, and all of it: nothing of the host's leaks in.
ENVIRONMENT = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", "/tmp"),
    ("TMPDIR", "/tmp"),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("TZ", "UTC"),
    ("PYTHONHASHSEED", "0"),
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("NUMEXPR_NUM_THREADS", "1"),
]


class Fault(Exception):
    """The slot cannot be trusted any more; the supervisor throws it away."""


class Runner:
    """Owns the zygote, the pipes and the clock of one slot."""

    def __init__(
        self, sock, library, zygote, zygote_pid, ids, counters, agent_archive, shared_processes
    ):
        self.channel = frames.Channel(sock)
        self.lib, self.zygote, self.zygote_pid = library, zygote, zygote_pid
        self.uid, self.gid = ids
        self.counters, self.agent_archive = counters, agent_archive
        self.shared_processes = shared_processes
        self.program_key = None
        self.artifact, self.is_source = {"code_fd": -1}, False
        self.memory_base = counters.memory_held()
        self.slack = OWN_SLACK_BYTES if counters.own_cgroup else SLACK_BYTES
        self.tired = False

    def serve(self):
        """Until the supervisor is gone."""
        self.channel.write(
            {
                "op": "ready",
                "protocol": frames.PROTOCOL,
                "python": sys.version.split()[0],
                "kernel": os.uname().release,
                "separate_uid": self.uid >= 0,
                "counters": self.counters.names,
                "peak_resettable": self.counters.resettable,
                "memory_base": read_number(self.counters.memory_now),
                "landlock": self.lib.jail_landlock(),
            }
        )
        actions = {"run": self.run, "compile": self.compile}
        while True:
            frame = self.channel.read()
            if frame is None:
                return
            header, body = frame
            action = actions.get(header["op"])
            if action is None:  # a cancel that came after its run had ended
                continue
            try:
                action(header, body)
                del frame, header, body  # they may be large, and a container is billed for them
            except (BrokenPipeError, ConnectionResetError):
                return
            except (Fault, OSError) as e:
                self.channel.write({"op": "fault", "message": "%s: %s" % (type(e).__name__, e)})
                return

    # ------------------------------------------------------------ run

    def run(self, header, body):
        """One batch.

        An artifact (unless it is the last one again) and inputs; one frame per run.
        """
        artifact, *files = frames.split(body, header["sizes"])
        step = 1 + header["extra"]
        inputs = [files[at : at + step] for at in range(0, len(files), step)]
        fds = receive_fds(self.channel.sock, header["peers"] + 2 * header["wires"])
        peers, wires = fds[: header["peers"]], fds[header["peers"] :]
        limits, python = header["limits"], header["harness"] if header["harness"] != "exec" else ""
        if header["program"] != self.program_key:
            self.load(artifact, header["program"])
        if not python:
            argv = resolved(header["argv"])
        else:
            argv = self.fresh(python, header["fn_name"]) if header["spawn"] else []
        by_input = python in BY_INPUT
        wants_value = python in BY_CHANNEL or header["channel"]
        shape = {"given": by_input or step > 1, "peer": bool(peers), "extra": step > 1}
        # A source instead of byte code: the first run compiles it (harness.compile_first).
        compiles = python == "python" and self.is_source
        self.set_program(header, python, argv, value=wants_value or compiles, **shape)
        null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        try:
            for index, data in enumerate(inputs):
                memfds: list[int] = []
                try:
                    memfds.extend(sealed("input", blob) for blob in data)
                    stdin_fd, stdout_fd = wires[2 * index : 2 * index + 2] or (memfds[0], -1)
                    facts, blobs = self.one(
                        limits,
                        stdin_fd=null if python and python != "python" else stdin_fd,
                        stdout_fd=stdout_fd,
                        input_fd=memfds[0] if by_input else memfds[1] if step > 1 else -1,
                        extra_fd=memfds[2] if step > 1 else -1,
                        peer_fd=peers[index] if peers else -1,
                        with_value=wants_value or compiles,
                    )
                finally:
                    close_used(memfds, peers[index : index + 1], wires[2 * index : 2 * index + 2])
                    peers[index : index + 1] = [-1] if peers else []
                    wires[2 * index : 2 * index + 2] = [-1, -1] if wires else []
                if facts["killer"] == "gone":
                    os._exit(0)
                self.settle()
                if compiles:
                    self.take_code(facts, blobs)
                    compiles = self.is_source
                    if not compiles and index + 1 < len(inputs):
                        self.set_program(header, python, argv, value=wants_value, **shape)
                if facts["killer"] == "cancel":
                    break
                self.channel.write_soon(frames.facts_header(facts, blobs), *blobs)
                if facts["uncompiled"]:
                    break
        finally:
            close_used([null], peers, wires)
        self.channel.write({"op": "done", "tired": self.tired})

    def take_code(self, facts, blobs):
        """What the run that was to compile the program has handed back, if it came so far."""
        code, blobs[2] = blobs[2], b""
        size = harness.LENGTH.size
        facts["value"] = False
        facts["uncompiled"] = code == harness.LENGTH.pack(0)
        if len(code) > size and harness.LENGTH.unpack(code[:size])[0] == len(code) - size:
            self.use_code(code[size:])
            self.is_source = False

    def fresh(self, harness, fn_name):
        """The command of a Python run in an interpreter of its own (`exec` mode)."""
        with open(AGENT, "wb") as f:
            f.write(self.agent_archive)
        return [*PYTHON, AGENT, "--harness", harness, fn_name or "-"]

    def load(self, artifact, key):
        """Lay an artifact's files into /program.

        Its byte code, if any, is kept as a sealed memfd.
        """
        self.program_key = None
        empty("/program")
        if self.artifact["code_fd"] >= 0:
            os.close(self.artifact["code_fd"])
        self.artifact, self.is_source = {"code_fd": -1}, False
        source = None
        for name, mode, data in unpack(artifact) if len(artifact) else ():
            if name == ".code":
                self.use_code(data)
                continue
            if name == "main.py":
                source = bytes(data)
            path = os.path.join("/program", name)
            if "/" in name:
                os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
            with open(path, "wb") as f:
                f.write(data)
            os.chmod(path, 0o755 if mode else 0o644)
        if source is not None and self.artifact["code_fd"] < 0:
            self.use_code(harness.SOURCE + source)
            self.is_source = True
        self.program_key = key

    def use_code(self, packed):
        """What the zygote's payloads run from now on."""
        if self.artifact["code_fd"] >= 0:
            os.close(self.artifact["code_fd"])
        self.artifact = {"code_fd": sealed("code", packed), "code_bytes": len(packed)}

    def set_program(
        self, header, python, argv, *, value, given=False, peer=False, extra=False, build=0
    ):
        """Tell the zygote what the next runs have in common."""
        limits = dict(header["limits"], stack_bytes=512 * 1024 * 1024)
        limits["processes"] += self.shared_processes
        message = {
            # What harness.run() is called with.
            "call": [python or "", header.get("fn_name", ""), self.artifact.get("code_bytes")],
            "argv": argv,
            "env": ENVIRONMENT + [tuple(e) for e in header.get("env", ())],
            "limits": limits,
            "value": value,
            "input": given,
            "peer": peer,
            "extra": extra,
            "build": build,
            "uid": self.uid,
            "gid": self.gid,
        }
        if not python and not argv:
            raise Fault("no command")
        if any("\0" in part for part in argv):
            raise Fault("a NUL byte in a command")
        if argv and not build and not self.executable(argv[0]):
            raise Fault("there is no %s in this sandbox" % argv[0])
        code_fd = self.artifact["code_fd"]
        data = json.dumps(message).encode()
        if len(data) > zygote.MESSAGE_BYTES:
            raise Fault("a command line of %d bytes" % len(data))
        socket.send_fds(self.zygote, [data], [code_fd] if python and code_fd >= 0 else [])
        if self.zygote.recv(64) != b"ok":
            raise Fault("the zygote is gone")

    @staticmethod
    def executable(path):
        """A missing interpreter is the machinery's fault, never the program's."""
        return os.path.isfile(path)

    def one(
        self,
        limits,
        *,
        stdin_fd,
        stdout_fd=-1,
        input_fd=-1,
        extra_fd=-1,
        peer_fd=-1,
        with_value=False,
    ):
        """One run: (facts, [stdout, stderr, value]).

        A `stdout_fd` that is given is the caller's business: what goes there is not read here.
        """
        watch = self.watch(limits)
        rest = [fd for fd in (input_fd, peer_fd, extra_fd) if fd >= 0]
        try:
            if self.lib.jail_case(
                watch,
                self.zygote.fileno(),
                stdin_fd,
                stdout_fd,
                with_value,
                (ctypes.c_int * len(rest))(*rest),
                len(rest),
            ):
                raise Fault(watch.problem.decode(errors="replace"))
            blobs = [
                ctypes.string_at(data, kept) if kept > 0 else b""
                for data, kept in (
                    (watch.stdout_data, min(watch.stdout_kept, limits["output_bytes"])),
                    (watch.stderr_data, watch.stderr_kept),
                    (watch.value_data, watch.value_kept if watch.value_total <= VALUE_BYTES else 0),
                )
            ]
            return self.facts(watch, with_value), blobs
        finally:
            self.lib.jail_release(watch)

    def watch(self, limits):
        """What a run is held to and measured with."""
        counters, watch = self.counters, libjail.Watch()
        watch.abi = libjail.ABI
        watch.control_fd = self.channel.fileno()
        watch.cpu_ns = int(limits["cpu_time_s"] * 1e9)
        watch.wall_ns = int(limits["wall_time_s"] * 1e9)
        watch.output_bytes = limits["output_bytes"]
        watch.stderr_keep, watch.value_bytes = STDERR_KEEP, VALUE_BYTES
        watch.cpu, watch.memory_peak = counters.cpu, counters.memory_peak
        watch.memory_now, watch.oom = counters.memory_now, counters.oom
        watch.self_cpu, watch.zygote_pid = int(counters.own_cgroup), self.zygote_pid
        watch.memory_bytes = 0 if counters.oom.fd >= 0 else limits["memory_bytes"]
        return watch

    def settle(self, own_bytes=0):
        """Wait until what the run's end has freed is no longer charged to the slot.

        The kernel does some of that later, in the background: System V segments go with their
        namespace, descriptors in flight in circles of sockets when a socket is closed. What the
        next run finds charged would count against its limit. A slot that does not get clean is
        replaced. `own_bytes` are in a memfd of ours.
        """
        if not self.memory_base or self.tired:
            return
        allowed = self.memory_base + self.slack + (own_bytes if self.counters.own_cgroup else 0)
        if read_number(self.counters.memory_now) <= allowed:
            return
        for delay in SETTLE_S:
            time.sleep(delay)
            if self.counters.memory_held() <= allowed:
                return
            for end in socket.socketpair():
                end.close()
        self.tired = True

    def facts(self, watch, with_value):
        """What happened, from the watch."""
        if watch.payload_step:
            raise Fault(
                "payload set-up, step %d: %s"
                % (watch.payload_step, os.strerror(watch.payload_error))
            )
        killer = frames.KILLERS[watch.killer]
        if not watch.status_ok and killer == "none":
            # Init died without a word and nobody of ours killed it: the kernel did, for memory, or
            # it is a fault.
            if watch.oom_kills <= 0:
                raise Fault("init ended without a report (wait status %d)" % watch.wait_status)
            killer = "memory"
        status = watch.wait_status
        memory = watch.maxrss
        if self.counters.memory_peak.fd >= 0:
            grown = watch.used_memory - max(watch.memory_start, 0)
            if self.counters.resettable or watch.used_memory > max(watch.peak_start, 0):
                memory = grown
        elif watch.used_memory > 0:
            memory = watch.used_memory
        return {
            "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "killer": killer,
            "cpu_ns": watch.used_cpu_ns,
            "wall_ns": watch.used_wall_ns,
            "memory": max(memory, 0),
            "oom_kills": max(watch.oom_kills, 0),
            "stdout_total": watch.stdout_total,
            "stderr_total": watch.stderr_total,
            "value": bool(with_value) and watch.value_total > 0,
            "uncompiled": False,
            "run_delay_ns": watch.run_delay_ns,
            "ended_ns": watch.ended_ns,
        }

    # ------------------------------------------------------------ compile

    def compile(self, header, body):
        """One compiler run in a jail of its own.

        The artifact is read out when all of it is dead.
        """
        files = frames.split(body, header["sizes"])
        python = header["harness"] != "exec"
        self.load(memoryview(b""), None)
        empty("/build")
        as_new("/build")
        stdin = sealed("source", files[0] if python else b"")
        try:
            if not python:
                for name, data in zip(header["names"], files):
                    with open(os.path.join("/build", safe_name(name)), "wb") as f:
                        f.write(data)
            argv = [] if python else resolved(header["argv"])
            if argv and not self.executable(argv[0]):
                raise_missing(self.channel, argv[0])
                return
            self.set_program(
                header, "compile" if python else "", argv, value=python, build=0 if python else 1
            )
            facts, blobs = self.one(header["limits"], stdin_fd=stdin, with_value=python)
            if facts["killer"] == "gone":
                os._exit(0)
            ok = facts["exit_code"] == 0 and facts["killer"] == "none"
            artifact = b""
            if ok and python:
                artifact = pack([("main.py", 0, bytes(files[0])), (".code", 0, blobs[2])])
            elif ok:
                artifact = pack(collect(header["outputs"]))
            empty("/build")
            self.settle(len(files[0]) if python else 0)
            blobs[2], facts["value"] = artifact, bool(artifact)
            self.channel.write_soon(frames.facts_header(facts, blobs), *blobs)
            self.channel.write({"op": "compiled", "ok": ok and bool(artifact), "tired": self.tired})
        finally:
            os.close(stdin)
            empty("/build")


def close_used(*groups):
    """Descriptors that are done with; -1 is none."""
    for fds in groups:
        for fd in fds:
            if fd >= 0:
                os.close(fd)


def receive_fds(sock, count):
    """Descriptors that follow a frame, with one byte."""
    if count == 0:
        return []
    data, fds, _, _ = socket.recv_fds(sock, 1, count)
    if len(fds) != count or data != b"F":
        for fd in fds:
            os.close(fd)
        raise Fault("%d descriptors instead of %d" % (len(fds), count))
    return list(fds)


def resolved(argv):
    """A command whose program is found on the slot's own PATH."""
    argv = list(argv)
    if argv and "/" not in argv[0]:
        for folder in ENVIRONMENT[0][1].split(":"):
            path = folder + "/" + argv[0]
            if os.path.isfile(path) and os.access(path, os.X_OK):
                argv[0] = path
                break
    return argv


def raise_missing(channel, name):
    """Say that a tool is not there; the slot itself is fine."""
    channel.write({"op": "missing", "message": "there is no %s in this sandbox" % name})


def sealed(name, data):
    """A memfd that nobody can change any more; cases share it by descriptor."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view, at = memoryview(data), 0
    while at < len(view):  # by position: the reader starts at 0
        at += os.pwrite(fd, view[at:], at)
    fcntl.fcntl(fd, F_ADD_SEALS, ALL_SEALS)
    return fd


def safe_name(name):
    """A plain file name, or a fault: names come from the supervisor's own recipes."""
    if not name or "/" in name or "\0" in name or name.startswith("."):
        raise Fault("file name %r" % name)
    return name


def empty(folder):
    """Remove all in a folder. Every process that could race is dead, and no link is followed.

    A program may have nested folders deeper than any path may be long, and taken the rights off
    them: what is in a folder is lifted to the top before the folder itself goes.
    """
    lifted = 0
    while True:
        with os.scandir(folder) as entries:
            found = list(entries)
        if not found:
            return
        for entry in found:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            with os.scandir(entry.path) as entries:
                inner = list(entries)
            for child in inner:
                if child.is_dir(follow_symlinks=False):
                    os.chmod(child.path, 0o700)
                    lifted += 1
                    os.rename(child.path, "%s/.%s-%d" % (folder, os.urandom(8).hex(), lifted))
                else:
                    os.unlink(child.path)
            os.rmdir(entry.path)


def as_new(folder):
    """Take off what a program may have written on the folder itself."""
    for name in os.listxattr(folder):
        os.removexattr(folder, name)
    os.chmod(folder, 0o777)
    os.utime(folder, (0, 0))


def matching(folder, parts):
    """Files below a folder that match a pattern's parts; `**` is any number of folders.

    No link is followed on the way (glob would), so there is no way out and no circle.
    """
    if parts[0] == "**":
        if len(parts) > 1:
            yield from matching(folder, parts[1:])
    if folder.count("/") > MAX_OUTPUT_DEPTH:
        return
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda e: e.name)
    except OSError:
        return
    for entry in found:
        inside = entry.is_dir(follow_symlinks=False)
        if parts[0] == "**":
            if inside:
                yield from matching(entry.path, parts)
        elif fnmatch.fnmatchcase(entry.name, parts[0]):
            if len(parts) == 1:
                yield entry.path
            elif inside:
                yield from matching(entry.path, parts[1:])


def collect(patterns):
    """The compiler's outputs: regular files only, opened without following links."""
    found: "list[tuple[str, int, bytes]]" = []
    total = 0
    for pattern in patterns:
        for path in matching("/build", pattern.split("/")):
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                info = os.fstat(fd)
                total += info.st_size
                if not stat.S_ISREG(info.st_mode):
                    continue
                if total > MAX_ARTIFACT_BYTES or info.st_blocks * 512 + 4096 < info.st_size:
                    return []  # too big, or sparse to look small
                if len(found) == MAX_ARTIFACT_FILES:
                    return []
                with os.fdopen(os.dup(fd), "rb") as f:
                    found.append(
                        (os.path.relpath(path, "/build"), int(info.st_mode & 0o111 != 0), f.read())
                    )
            finally:
                os.close(fd)
    return found


def pack(files):
    """An artifact: a frame-like header with names, then the contents."""
    if not files:
        return b""
    return b"".join(frames.encode([[n, m, len(d)] for n, m, d in files], *[d for _, _, d in files]))


def unpack(artifact):
    """The files of an artifact. Names are checked: artifacts pass through caches."""
    head, body = frames.lengths(artifact[: frames.LENGTHS.size])
    at = frames.LENGTHS.size + head
    try:
        table = [
            (str(n), int(m), int(s))
            for n, m, s in json.loads(bytes(artifact[frames.LENGTHS.size : at]))
        ]
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise Fault("an artifact without a table of its files") from None
    if sum(size for _, _, size in table) != body or len(artifact) != at + body:
        raise Fault("an artifact of %d bytes in place of %d" % (len(artifact), at + body))
    for name, mode, size in table:
        if name.startswith("/") or ".." in name.split("/") or "\0" in name or size < 0:
            raise Fault("artifact name %r" % name)
        yield name, mode, artifact[at : at + size]
        at += size
