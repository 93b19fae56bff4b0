"""The agent of one slot: how a fresh process becomes a runner beside a zygote.

Theory of operation ------------------- The agent starts as an ordinary process: under the
`namespaces` backend a child of the caller (root or not), under `docker` the first process of a
container. It

1. raises its stack limit (and restarts itself once, since the layout of memory follows it);
2. makes the slot's namespaces: a user namespace in which it may mount, a network without
interfaces, and
   PID, mount, IPC and UTS namespaces. Where it may, the map has two ids, neither of them root
   outside: 0 for the runner, 1000 for the payload; else one, which the payload shares;
3. forks: the child is PID 1 of the slot. When it dies, all of the slot dies with it. The parent
only waits;
4. moves into a private root (mounts.py);
5. forks the zygote (zygote.py), which joins the slot's cgroup;
6. serves frames (jobs.py) until the supervisor closes its end. That end closing is the signal to
die: a
   supervisor that is killed leaves nothing behind.

It imports the standard library only, and all of it before step 4: the files may be out of reach
after it.
"""

import ctypes
import functools
import json
import os
import socket
import sys
import types

from . import cgroups, frames, harness, jobs, libjail, mounts, zygote

STACK_BYTES = 512 * 1024 * 1024
INSIDE_RUNNER, INSIDE_PAYLOAD = 0, 1000
PROGRAM_BYTES = BUILD_BYTES = 512 * 1024 * 1024
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, SIGKILL = 1, 4, 9
MAX_PENDING_CONNECTIONS = 1
RLIMIT_STACK = 3


def main():
    """Run the agent. Does not return in the runner; in a payload it leaves as the program would."""
    if sys.argv[1:2] == ["--harness"]:
        harness.main(sys.argv[2:])
    options = arguments()
    if options.serve:
        from . import supervisor  # it would be in every payload's memory

        supervisor.main(options)
    raise_stack()
    config = json.loads(options.config)
    without = config.get("without", [])
    listener = listen(options.listen) if options.listen else None
    own = options.listen or config.get("own_counters")
    counters = cgroups.own() if own else cgroups.given(config)
    make_runner = jobs.Runner
    if own and not options.listen:
        from . import sampled  # a module more in every payload's memory, where it is needed

        make_runner = functools.partial(  # type: ignore[assignment]
            sampled.SampledRunner, config["container_bytes"]
        )
    shared_proc = config.get("shared_proc", False)
    if shared_proc:
        without = [*without, "fresh_proc"]
    library = libjail.load("/proc/self/fd/%d" % nameless(options.lib))
    options.lib = None
    with open(sys.argv[0], "rb") as f:
        archive = f.read()
    two_ids = False
    try:
        two_ids = enter_namespaces(config)
    except OSError as e:
        refuse(options, listener, e)
    child = os.fork()
    if child:
        keep(child)
    mounts.libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    try:
        mounts.make_root(
            "/tmp",
            PROGRAM_BYTES,
            BUILD_BYTES,
            read_only="read_only_root" not in without,
            headers_fd=config.get("headers_fd", -1),
            shared_proc=shared_proc,
        )
        mounts.check(mounts.libc.sethostname(b"sandbox", 7), "sethostname")
    except OSError as e:
        refuse(options, listener, e)
    forget_arguments()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    zygote_pid = os.fork()
    if zygote_pid == 0:
        ours.close()
        if options.fd >= 0:
            os.close(options.fd)
        # Returns in payloads, whose stack this is as well; their finalizers run on the way out.
        sys.exit(zygote.main(theirs, library[0], config.get("procs_fds", []), without))
    theirs.close()
    for fd in config.get("procs_fds", []):
        os.close(fd)
    answer = ours.recv(256)
    if answer != b"ready":
        problem = "the zygote did not start: " + answer.decode(errors="replace")
        refuse(options, listener, OSError(5, problem))
    mounts.libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    sock = accept(options, listener)
    if "separate_uid" in without or "capabilities" in without:
        two_ids = False
    runner = make_runner(
        sock=sock,
        library=library[1],
        zygote=ours,
        zygote_pid=zygote_pid,
        ids=(INSIDE_PAYLOAD, INSIDE_PAYLOAD) if two_ids else (-1, -1),
        counters=counters,
        agent_archive=archive,
        shared_processes=0 if two_ids else 4,
    )
    runner.serve()
    os._exit(0)


def arguments():
    """`--lib` the jail library, `--config` JSON, and one way to be reached.

    That is `--fd`, an inherited stream socket, or `--listen`, a path to serve one supervisor on, or
    `--serve`, a folder to serve gateways in, as a `--role` (supervisor.py).
    """
    options = types.SimpleNamespace(
        lib=None, fd=-1, listen="", serve="", role="runner", name="", config="{}"
    )
    given = sys.argv[1:]
    for name, value in zip(given[::2], given[1::2]):
        if not name.startswith("--") or not hasattr(options, name[2:]):
            sys.exit("runner: there is no %s" % name)
        setattr(options, name[2:], int(value) if name == "--fd" else value)
    if options.lib is None or len(given) % 2:
        sys.exit("runner: --lib is missing, or a value")
    return options


def nameless(path):
    """A descriptor of a copy of a file: what is mapped from it does not show the host's path."""
    with open(path, "rb") as f:
        data = f.read()
    try:
        fd = os.memfd_create("libjail", os.MFD_CLOEXEC)
    except OSError:  # a host may forbid memory that can be executed
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    os.write(fd, data)
    return fd


def raise_stack():
    """Deep recursion needs a big stack, and where mappings go is decided at exec."""
    limit = (ctypes.c_ulong * 2)()  # soft and hard; infinity is the greatest number
    mounts.check(mounts.libc.getrlimit(RLIMIT_STACK, limit), "getrlimit")
    wanted = min(STACK_BYTES, limit[1])
    if limit[0] >= wanted:
        return
    limit[0] = wanted
    mounts.check(mounts.libc.setrlimit(RLIMIT_STACK, limit), "setrlimit")
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def forget_arguments():
    """Payloads are forks of this process, and what it was started with tells of the host."""
    with open("/proc/self/stat", "rb") as f:
        fields = f.read().rpartition(b")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end, proc(5)
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, b"python3", min(7, end - start))
    sys.orig_argv[:] = ["python3"]


def listen(path):
    """Bind before the old root is left; whoever may reach the folder may connect."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old = os.umask(0)
    listener.bind(path)
    os.umask(old)
    listener.listen(MAX_PENDING_CONNECTIONS)
    return listener


def accept(options, listener):
    """The one connection this agent serves."""
    if listener is None:
        return socket.socket(fileno=options.fd)
    sock, _ = listener.accept()
    listener.close()
    return sock


def refuse(options, listener, error):
    """Tell the supervisor which step failed, and end."""
    channel = frames.Channel(accept(options, listener))
    channel.write({"op": "refused", "step": str(error), "errno": error.errno or 0})
    os._exit(3)


def enter_namespaces(config):
    """Make the slot's namespaces. Returns whether the payload has an id of its own."""
    flags = (
        mounts.CLONE_NEWUSER
        | mounts.CLONE_NEWNS
        | mounts.CLONE_NEWIPC
        | mounts.CLONE_NEWUTS
        | mounts.CLONE_NEWNET
        | mounts.CLONE_NEWPID
    )
    if "no_network" in config.get("without", []):
        flags &= ~mounts.CLONE_NEWNET
    mapper = id_mapper(config)
    uid, gid = os.geteuid(), os.getegid()
    if mapper is None:
        mounts.unshare(flags, "user, mount, network and PID namespaces")
        take_along(config)
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", "%d %d 1" % (INSIDE_PAYLOAD, uid))
        write("/proc/self/gid_map", "%d %d 1" % (INSIDE_PAYLOAD, gid))
        return False
    # A map with a foreign id is written from outside of the namespace: by a child that stays out.
    read_end, write_end = os.pipe()
    answer_read, answer_write = os.pipe()
    helper = os.fork()
    if helper == 0:
        os.close(write_end)
        os.read(read_end, 1)
        try:
            mapper(os.getppid())
        except BaseException as e:
            os.write(answer_write, str(e).encode()[:500])
        os._exit(0)
    os.close(answer_write)
    try:
        mounts.unshare(flags, "user, mount, network and PID namespaces")
        take_along(config)
    finally:
        os.close(write_end)
    problem = os.read(answer_read, 500)
    os.waitpid(helper, 0)
    if problem:
        raise OSError(1, "map user ids: " + problem.decode())
    os.setgroups([])
    os.setresgid(INSIDE_RUNNER, INSIDE_RUNNER, INSIDE_RUNNER)
    os.setresuid(INSIDE_RUNNER, INSIDE_RUNNER, INSIDE_RUNNER)
    return True


def take_along(config):
    """A folder that the supervisor gave, into the new mount namespace."""
    if config.get("headers_fd", -1) >= 0:
        config["headers_fd"] = mounts.seen_from_here(config["headers_fd"])


def id_mapper(config):
    """A function that writes a two-id map for a pid; None where only one's own id may be."""
    ids = config.get("ids")
    if ids and ids["how"] == "direct":
        table = "%d %d 1\n%d %d 1\n" % (
            INSIDE_RUNNER,
            ids["runner"],
            INSIDE_PAYLOAD,
            ids["payload"],
        )

        def direct(pid):
            write("/proc/%d/uid_map" % pid, table)
            write("/proc/%d/gid_map" % pid, table)

        return direct
    if ids and ids["how"] == "newuidmap":

        def by_tool(pid):
            import subprocess  # in the helper alone: it would be in every payload's memory

            for tool, own, sub in (
                ("newuidmap", os.geteuid(), ids["subuid"]),
                ("newgidmap", os.getegid(), ids["subgid"]),
            ):
                done = subprocess.run(
                    [
                        tool,
                        str(pid),
                        str(INSIDE_RUNNER),
                        str(own),
                        "1",
                        str(INSIDE_PAYLOAD),
                        str(sub),
                        "1",
                    ],
                    capture_output=True,
                    env={"PATH": "/usr/bin:/bin"},
                    check=False,
                )
                if done.returncode:
                    raise OSError(1, done.stderr.decode(errors="replace").strip())

        return by_tool
    return None


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def keep(child):
    """The parent of PID 1: holds nothing, waits, and ends with it."""
    os.closerange(0, 4096)
    while True:
        try:
            _, status = os.waitpid(child, 0)
        except InterruptedError:
            continue
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main()
