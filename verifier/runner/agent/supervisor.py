"""The first process of a runner that was started by somebody else: by compose, by Kubernetes.

It listens on a unix socket in a folder that it shares with a gateway, and starts a fresh runner for
each connection, one at a time: a second gateway is told that it is busy. It never holds a program,
an input or a verdict, and it knows nothing of who connects but that the folder let them in.

A connection begins with a frame of ours, the greeting: who we are and what the container gives.
Then come three bytes from the gateway: `S`, and the core that the runner is to be bound to (65535:
any). From there on the socket is the runner's. A connection that says nothing is a health check.

The container's name (or `--name`, where several share one: a pod) is the socket's name, so a
container that comes back finds its own stale file and removes it, and no other.
"""

import hashlib
import json
import os
import select
import signal
import socket
import struct
import sys
import time

from . import cgroups, frames, jobs, libjail

START = struct.Struct(">cH")
ANY_CORE = 65535
BACKLOG = 16
# How long a connection may say nothing, and a runner may live on when its gateway has gone.
SILENT_S, DYING_S = 10.0, 5.0
MAX_SILENT = 32
INTERPRETER = ("-s", "-X", "int_max_str_digits=0")


def main(options):
    """Serve until SIGTERM. Never returns."""
    Supervisor(options).serve()


class Supervisor:
    """One runner at a time, and whoever knocks meanwhile."""

    def __init__(self, options):
        self.library = options.lib
        name = options.name or os.uname().nodename
        self.path = socket_path(options.serve, options.role, name)
        self.shared_proc = proc_is_masked()
        self.greeting = greeting(options.role, name, fresh_proc=not self.shared_proc)
        self.silent = []  # of (socket, until when)
        self.runner = 0
        self.gateway = None  # a copy of its end, to see it go
        self.kill_at = 0.0
        self.wake, wake = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.leave)
        self.listener = listen(self.path)

    def leave(self, *_):
        """The container is stopped: with this process, its first, all others end."""
        remove(self.path)
        os._exit(0)

    def serve(self):
        """See the module."""
        print("listening on %s" % self.path, flush=True)
        while True:
            poll = select.poll()
            poll.register(self.listener, select.POLLIN)
            poll.register(self.wake, select.POLLIN)
            for sock, _ in self.silent:
                poll.register(sock, select.POLLIN)
            if self.gateway is not None and not self.kill_at:
                poll.register(self.gateway, select.POLLRDHUP)
            ready = {fd for fd, _ in poll.poll(self.patience())}
            if self.wake in ready:
                drain(self.wake)
            self.reap()
            if self.gateway is not None and self.gateway.fileno() in ready:
                self.kill_at = self.kill_at or time.monotonic() + DYING_S
            if self.kill_at and time.monotonic() >= self.kill_at:
                kill_group(self.runner)
            for sock, _ in [pair for pair in self.silent if pair[0].fileno() in ready]:
                self.hear(sock)
            now = time.monotonic()
            for pair in [pair for pair in self.silent if pair[1] <= now]:
                self.forget(pair[0])
            if self.listener.fileno() in ready:
                self.greet()

    def patience(self):
        """Milliseconds until something is due; None: nothing is."""
        due = [until for _, until in self.silent]
        if self.kill_at:
            due.append(max(self.kill_at, time.monotonic() + 0.1))
        return max(0, int((min(due) - time.monotonic()) * 1000) + 1) if due else None

    def greet(self):
        sock, _ = self.listener.accept()
        if len(self.silent) >= MAX_SILENT:
            self.forget(self.silent[0][0])
        try:
            sock.settimeout(1.0)
            frames.Channel(sock).write(dict(self.greeting, busy=bool(self.runner)))
        except OSError:
            sock.close()
            return
        self.silent.append((sock, time.monotonic() + SILENT_S))

    def forget(self, sock):
        self.silent = [pair for pair in self.silent if pair[0] is not sock]
        sock.close()

    def hear(self, sock):
        """It says start, or has gone."""
        try:
            said = sock.recv(START.size)
        except OSError:
            said = b""
        if len(said) == START.size and said[:1] == b"S" and not self.runner:
            sock.settimeout(None)
            self.start(sock, START.unpack(said)[1])
        self.forget(sock)

    def start(self, sock, core):
        config = {
            "own_counters": True,
            "shared_proc": self.shared_proc,
            "container_bytes": self.greeting["memory_bytes"],
        }
        argv = [sys.executable, *INTERPRETER, os.path.abspath(sys.argv[0]), "--lib", self.library]
        argv += ["--fd", str(sock.fileno()), "--config", json.dumps(config)]
        environment = dict(jobs.ENVIRONMENT)
        if "OPENBLAS_CORETYPE" in os.environ:
            environment["OPENBLAS_CORETYPE"] = os.environ["OPENBLAS_CORETYPE"]
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_DFL)
                os.setsid()
                if core != ANY_CORE:
                    bind_to(core)
                sock.set_inheritable(True)
                os.execve(sys.executable, argv, environment)
            finally:
                os._exit(127)
        self.runner, self.gateway, self.kill_at = pid, sock.dup(), 0.0

    def reap(self):
        """We are the container's first process: whatever is left over comes to us."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                pid = 0
            if pid == 0:
                return
            if pid == self.runner:
                kill_group(pid)
                if self.gateway is not None:
                    self.gateway.close()
                self.runner, self.gateway, self.kill_at = 0, None, 0.0


def greeting(role, name, fresh_proc):
    """What a gateway decides by whether this runner can serve it."""
    with open(sys.argv[0], "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    return {
        "op": "greeting",
        "protocol": frames.PROTOCOL,
        "abi": libjail.ABI,
        "agent": digest[:20],
        "role": role,
        "name": name,
        "fresh_proc": fresh_proc,
        "memory_bytes": bound("memory/memory.limit_in_bytes", "memory.max"),
        "processes": bound("pids/pids.max", "pids.max"),
    }


def bound(*files):
    """A limit of our own cgroup, under whichever version is mounted; 0: there is none."""
    for name in files:
        try:
            with open(cgroups.ROOT + "/" + name, encoding="ascii") as f:
                value = int(f.read())
        except (OSError, ValueError):  # "max" is no number
            continue
        return value if value < 1 << 60 else 0
    return 0


def proc_is_masked():
    """Whether something is mounted over parts of /proc.

    The kernel then refuses a fresh one to our user namespace, which would show what is covered.
    """
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as f:
        return any(line.split()[4].startswith("/proc/") for line in f)


def socket_path(folder, role, name):
    """Our own file in the shared folder."""
    if not name or "/" in name or role not in ("runner", "helper"):
        sys.exit("runner: a role is runner or helper, and a name has no slash")
    return "%s/%s-%s.sock" % (folder, role, name)


def listen(path):
    """For the folder's group: whoever else may walk there is not meant."""
    remove(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old = os.umask(0o007)
    # Under its own name only when it answers.
    listener.bind(path + "~")
    os.umask(old)
    listener.listen(BACKLOG)
    os.rename(path + "~", path)
    return listener


def remove(path):
    for name in (path, path + "~"):
        try:
            os.unlink(name)
        except FileNotFoundError:
            pass


def drain(fd):
    try:
        while os.read(fd, 4096):
            pass
    except BlockingIOError:
        pass


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def bind_to(core):
    try:
        os.sched_setaffinity(0, {core})
    except OSError:  # not one of this container's
        pass
