"""What every backend has to do, as data: a program, its limits, and what its facts must say.

It ships with the package, so that a user can run it against a backend of their own: open a slot and
`await run_check(slot, check)` for each of `CHECKS`; a string that is not empty says what was wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from verifier.sandbox.base import CompileJob, RunJob, Slot
from verifier.types import Harness, Killer, Limits, RunFacts

MIB = 1024 * 1024
LIMITS = Limits(
    cpu_time_s=1.0,
    wall_time_s=20.0,  # far away: a kill for CPU has to come first on a busy machine too
    memory_bytes=128 * MIB,
    output_bytes=MIB,
    processes=32,
    file_bytes=32 * MIB,
    open_files=128,
)


@dataclass(frozen=True, slots=True)
class Check:
    """One program and what must be true of its runs.

    Attributes:
        name: Unique.
        source: Python.
        expect: Facts of one run -> whether they are right.
        inputs: One run each.
        limits: Of each run.
        harness: How it is run.
        fn_name: Entry point of a call.
        hostile: It attacks, so it runs against real isolation only.
        guarantees: Names of what it needs: on a host that lacks one of them, it may fail.
    """

    name: str
    source: str
    expect: Callable[[RunFacts], bool]
    inputs: tuple[bytes, ...] = (b"",)
    limits: Limits = LIMITS
    harness: Harness = Harness.PYTHON
    fn_name: str = ""
    hostile: bool = False
    guarantees: tuple[str, ...] = ()


def _prints(text: bytes) -> Callable[[RunFacts], bool]:
    return lambda f: f.exit_code == 0 and f.killer is Killer.NONE and f.stdout == text


def _killed(*killers: Killer) -> Callable[[RunFacts], bool]:
    return lambda f: f.killer in killers


def _out_of_memory(f: RunFacts) -> bool:
    return f.oom_kills > 0 or f.killer is Killer.MEMORY


def _limits(**changes: float) -> Limits:
    return dataclasses.replace(LIMITS, **changes)  # type: ignore[arg-type]


CHECKS: tuple[Check, ...] = (
    Check(
        "echo",
        "print(input())",
        lambda f: f.stdout == b"hi\n" and f.exit_code == 0,
        (b"hi\n", b"hi"),
    ),
    Check(
        "no input is the end of input", "import sys; print(len(sys.stdin.read()))", _prints(b"0\n")
    ),
    Check(
        "input is a file that can be opened again",
        "print(open('/dev/stdin').read() == open(0).read() != '')",
        _prints(b"True\n"),
        (b"x" * 100_000,),
    ),
    Check(
        "input that is never read blocks nobody",
        "print('done')",
        _prints(b"done\n"),
        (b"y" * (8 * MIB),),
    ),
    Check(
        "bytes pass unchanged",
        "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())",
        _prints(b"\x00\xff\xfe\xc3\r\n"),
        (b"\x00\xff\xfe\xc3\r\n",),
    ),
    Check("exit code", "import sys; sys.exit(7)", lambda f: f.exit_code == 7 and f.signal is None),
    Check("exception", "1/0", lambda f: f.exit_code == 1 and b"ZeroDivisionError" in f.stderr),
    Check(
        "exit message",
        "import sys; sys.exit('no')",
        lambda f: f.exit_code == 1 and f.stderr == b"no\n",
    ),
    Check(
        "what is freed at the end may still print",
        "class A:\n    def __del__(self):\n        print('bye')\na = [A()]\na.append(a)",
        _prints(b"bye\n"),
    ),
    Check(
        "handlers of the exit run, and threads are waited for",
        "import atexit, concurrent.futures, threading, time\n"
        "def late(text):\n    time.sleep(0.05)\n    print(text)\n"
        "atexit.register(print, 'last')\n"
        "concurrent.futures.ThreadPoolExecutor(1).submit(late, 'pool')\n"
        "time.sleep(0.1)\n"
        "threading.Thread(target=late, args=('thread',)).start()",
        _prints(b"pool\nthread\nlast\n"),
    ),
    Check(
        "the main thread knows itself",
        "import os, threading\n"
        "print(threading.main_thread().native_id == threading.get_native_id() == os.getpid())\n"
        "print(threading.main_thread() is threading.current_thread(), threading.active_count())",
        _prints(b"True\nTrue 1\n"),
    ),
    Check(
        "own signal is not ours",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        lambda f: f.signal == 9 and f.killer is Killer.NONE and f.oom_kills == 0,
        hostile=True,
    ),
    Check(
        "crash",
        "import os; os.abort()",
        lambda f: f.signal == 6 and f.killer is Killer.NONE,
        hostile=True,
    ),
    Check("endless loop", "while True: pass", _killed(Killer.CPU)),
    Check(
        "sleeper",
        "import time; time.sleep(60)",
        _killed(Killer.WALL),
        limits=_limits(wall_time_s=0.3),
    ),
    Check(
        "stopped process",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        _killed(Killer.WALL),
        limits=_limits(wall_time_s=0.3),
        hostile=True,
    ),
    Check(
        "children's CPU counts",
        "import os\nfor _ in range(4):\n  if os.fork() == 0:\n    while True: pass\nos.wait()",
        lambda f: f.killer is Killer.CPU and f.cpu_time_s < 1.6,
        hostile=True,
        guarantees=("cpu_accounting",),
    ),
    Check(
        "CPU of children one after another",
        "import os, time\nwhile True:\n  if os.fork() == 0:\n    t = time.process_time()\n"
        "    while time.process_time() - t < 0.1: pass\n    os._exit(0)\n  os.wait()",
        _killed(Killer.CPU),
        hostile=True,
        guarantees=("cpu_accounting",),
    ),
    Check(
        "memory hog",
        "x = []\nwhile True: x.append(bytearray(b'x') * 1000000)",
        _out_of_memory,
        hostile=True,
        guarantees=("memory_limit",),
    ),
    Check(
        "memory is summed over processes",
        "import os, time\nfor _ in range(8):\n"
        "  if os.fork() == 0:\n    x = bytearray(b'x') * 30000000\n"
        "    time.sleep(1)\n    os._exit(0)\ntime.sleep(1.2)",
        _out_of_memory,
        hostile=True,
        guarantees=("memory_limit",),
    ),
    Check(
        "address space is not memory",
        "import mmap\nflags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000\n"
        "m = mmap.mmap(-1, 8 << 30, flags=flags); print('ok')",
        _prints(b"ok\n"),
    ),
    Check(
        "output flood",
        "while True: print('spam' * 1000)",
        lambda f: f.killer is Killer.OUTPUT and len(f.stdout) == MIB,
    ),
    Check(
        "exactly the output limit",
        "import sys; sys.stdout.write('x' * (1 << 20))",
        lambda f: f.killer is Killer.NONE and f.stdout_bytes == MIB,
    ),
    Check(
        "one byte over the output limit",
        "import sys; sys.stdout.write('x' * ((1 << 20) + 1)); sys.stdout.flush()",
        _killed(Killer.OUTPUT),
    ),
    Check(
        "error flood",
        "import sys\nwhile True: sys.stderr.write('x' * 4000)",
        lambda f: f.killer is Killer.OUTPUT and len(f.stderr) <= 64 * 1024,
    ),
    Check(
        "fork bomb",
        "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
        lambda f: f.killer in (Killer.CPU, Killer.WALL) or _out_of_memory(f),
        hostile=True,
        guarantees=("process_limit",),
    ),
    Check(
        "fork bomb in new sessions",
        "import os\nwhile True:\n"
        "  try:\n    if os.fork() == 0: os.setsid()\n  except OSError: pass",
        lambda f: f.killer in (Killer.CPU, Killer.WALL) or _out_of_memory(f),
        hostile=True,
        guarantees=("process_limit",),
    ),
    Check(
        "a daemon neither delays nor outlives its run",
        "import os, time\nif os.fork() == 0:\n  os.setsid()\n"
        "  if os.fork() == 0: time.sleep(100)\n  os._exit(0)\nprint('main')",
        lambda f: _prints(b"main\n")(f) and f.wall_time_s < 3,
        hostile=True,
        guarantees=("pid_namespace",),
    ),
    Check(
        "nobody but itself to signal",
        "import os, signal\nfor pid in (-1, 1, os.getppid()):\n  for s in (9, 19):\n"
        "    try: os.kill(pid, s)\n    except OSError: pass\nprint('alive')",
        lambda f: f.stdout == b"alive\n" or f.signal == 9,
        hostile=True,
        guarantees=("pid_namespace",),
    ),
    Check(
        "nothing is left in the file system",
        "import os\nplaces = ('/tmp', '/dev/shm', '/var/tmp')\n"
        "n = sum(os.path.exists(p + '/mark') for p in places)\n"
        "for p in places: open(p + '/mark', 'w').close()\nprint(n)",
        _prints(b"0\n"),
        (b"", b"", b""),
        hostile=True,
        guarantees=("mount_namespace",),
    ),
    Check(
        "nothing is left in shared memory",
        "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\n"
        "print(c.shmget(4242, 4096, 0), c.shmget(4242, 4096, 0o1666) >= 0)",
        _prints(b"-1 True\n"),
        (b"", b""),
        hostile=True,
        guarantees=("ipc_namespace",),
    ),
    Check(
        "what one run leaves in shared memory is not the next one's",
        "import ctypes\nc = ctypes.CDLL(None)\nc.shmat.restype = ctypes.c_void_p\n"
        "at = c.shmat(c.shmget(4242, 90 << 20, 0o1666), None, 0)\n"
        "ctypes.memset(ctypes.c_void_p(at), 1, 90 << 20)\nprint('full')",
        _prints(b"full\n"),
        (b"", b"", b"", b""),
        hostile=True,
        guarantees=("ipc_namespace",),
    ),
    Check(
        "nor what it leaves on its way between sockets",
        "import array, os, socket\nfd = os.memfd_create('x')\n"
        "os.write(fd, bytes(90 << 20))\n"
        "a, b = socket.socketpair()\n"
        "for end, given in ((a, b), (b, a)):\n"
        "  end.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,\n"
        "    array.array('i', [fd, given.fileno()]))])\nprint('sent')",
        _prints(b"sent\n"),
        (b"", b"", b"", b""),
        hostile=True,
    ),
    Check(
        "standard output can be opened again",
        "open('/dev/stdout', 'w').write('a\\n')\nopen('/proc/self/fd/2', 'w').write('b\\n')",
        lambda f: _prints(b"a\n")(f) and f.stderr == b"b\n",
    ),
    Check(
        "devices are read-only and nobody watches files",
        "import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\nout = []\n"
        "for n in ('null', 'zero', 'full', 'random', 'urandom'):\n"
        "  try: os.utime('/dev/' + n); out.append(n)\n  except OSError: pass\n"
        "print(out, c.inotify_init1(0), ctypes.get_errno())\n"
        "fd = os.open('/usr', os.O_RDONLY)\n"
        "print(c.fcntl(fd, 1026, 1), ctypes.get_errno())\nopen('/dev/null', 'w').write('x')",
        _prints(b"[] -1 1\n-1 1\n"),
        hostile=True,
        guarantees=("seccomp", "read_only_root"),
    ),
    Check(
        "nothing tells how the sandbox was started",
        "import sys\nseen = [open('/proc/self/cmdline').read(), str(sys.orig_argv)]\n"
        "seen += [str(getattr(m, '__file__', '')) for m in list(sys.modules.values())]\n"
        "print([s for s in seen if '/home' in s or '/root' in s or '.cache' in s or '--lib' in s])",
        _prints(b"[]\n"),
        hostile=True,
    ),
    Check(
        "the file system is full at its limit",
        "try:\n  with open('big', 'wb') as f:\n    while True: f.write(bytes(1 << 20))\n"
        "except OSError as e: print(e.errno in (27, 28))",
        lambda f: _prints(b"True\n")(f) or f.signal == 25,
        hostile=True,
    ),
    Check(
        "three descriptors and no more",
        "import os\nn = 0\nfor fd in range(3, 256):\n"
        "  try: os.fstat(fd); n += 1\n  except OSError: pass\nprint(n)",
        _prints(b"0\n"),
    ),
    Check(
        "a clean environment",
        "import os\nprint(sorted(k for k in os.environ if k not in {\n"
        "  'PATH', 'HOME', 'TMPDIR', 'LANG', 'LC_ALL', 'TZ', 'PYTHONHASHSEED', 'OMP_NUM_THREADS',\n"
        "  'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMEXPR_NUM_THREADS', 'OPENBLAS_CORETYPE',\n"
        "  'HOSTNAME', 'LC_CTYPE'}))",
        _prints(b"[]\n"),
    ),
    Check(
        "sets have one order",
        "print(sum(hash(s) * i for i, s in enumerate('abcdefg')))",
        lambda f: f.stdout.strip().lstrip(b"-").isdigit(),
        (b"", b""),
    ),
    Check(
        "no network",
        "import socket\ntry: socket.create_connection(('127.0.0.1', 80), 1)\n"
        "except OSError as e: print(e.errno)",
        lambda f: f.stdout.strip() in (b"101", b"99", b"13"),
        hostile=True,
        guarantees=("no_network",),
    ),
    Check(
        "kernel surface",
        "import ctypes, errno, os\nc = ctypes.CDLL(None, use_errno=True)\nout = []\n"
        "for nr, *a in ((165, 0, 0, 0, 0, 0), (272, 0x10000000), (425, 8, 0), (321, 0, 0, 0),\n"
        "    (248, 0, 0, 0, 0, 0), (101, 0, 0, 0, 0)):\n"
        "  r = c.syscall(nr, *a); out.append(r == -1 and ctypes.get_errno() in (1, 38))\n"
        "import socket\nfor family in (40, 17, 16, 38):\n"
        "  try: socket.socket(family, socket.SOCK_DGRAM).close(); out.append(False)\n"
        "  except OSError as e: out.append(True)\nprint(all(out))",
        _prints(b"True\n"),
        hostile=True,
        guarantees=("seccomp",),
    ),
    Check(
        "no limits for its init",
        "import resource\ntry: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))\n"
        "except PermissionError: print('refused')\n"
        "print(resource.prlimit(0, resource.RLIMIT_NOFILE, (64, 64))[0])",
        _prints(b"refused\n128\n"),
        hostile=True,
    ),
    Check(
        "no core dump, to a program of the host's neither",
        "import resource\nC = resource.RLIMIT_CORE\nprint(resource.getrlimit(C))\n"
        "resource.setrlimit(C, (0, 0))\nprint(resource.getrlimit(C))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9, 9))",
        # 0 where the sandbox's caller may have none: no file is dumped, but a handler would be run.
        lambda f: _prints(b"(1, 1)\n(1, 1)\n")(f) or _prints(b"(0, 0)\n(0, 0)\n")(f),
        hostile=True,
        guarantees=("seccomp",),
    ),
    Check(
        "nothing of the host",
        "import os\nplaces = ('/root', '/home', '/etc/shadow', '/var/run/docker.sock',\n"
        "  '/run/docker.sock', '/sys/fs')\n"
        "print([p for p in places if os.path.exists(p)], open('/etc/passwd').read().count('\\n'))",
        _prints(b"[] 2\n"),
        hostile=True,
        guarantees=("mount_namespace",),
    ),
    Check(
        "nothing to write but its own tmpfs",
        "import os\nout = []\n"
        "for p in ('/', '/usr', '/etc', '/program', '/build', '/proc/sys/kernel', '/dev'):\n"
        "  try: open(p + '/.x', 'w').close(); out.append(p)\n  except OSError: pass\nprint(out)",
        _prints(b"[]\n"),
        hostile=True,
        guarantees=("read_only_root",),
    ),
    Check(
        "called function",
        "def f(a, b): return [a, (b, {1: None})]",
        lambda f: f.returned == b'{"ok":true,"value":[1,["x",{"1":null}]]}',
        (b'[1, "x"]',),
        harness=Harness.PYTHON_CALL,
        fn_name="f",
    ),
    Check(
        "called function that raises",
        "def f(): raise ValueError('no')",
        lambda f: (
            f.returned is not None and b'"raised"' in f.returned and b"ValueError: no" in f.returned
        ),
        (b"[]",),
        harness=Harness.PYTHON_CALL,
        fn_name="f",
    ),
    Check(
        "called function that leaves",
        "import os\ndef f(): os._exit(0)",
        lambda f: f.returned is None,
        (b"[]",),
        harness=Harness.PYTHON_CALL,
        fn_name="f",
    ),
    Check(
        "module state is fresh",
        "seen = []\ndef f(): seen.append(1); return len(seen)",
        lambda f: f.returned == b'{"ok":true,"value":1}',
        (b"[]", b"[]"),
        harness=Harness.PYTHON_CALL,
        fn_name="f",
    ),
    Check(
        "assert that holds",
        "def f(): return 1",
        lambda f: f.returned == b'{"ok": true}',
        (b"assert f() == 1",),
        harness=Harness.PYTHON_ASSERT,
    ),
    Check(
        "assert that fails",
        "def f(): return 1",
        lambda f: f.returned is not None and b'"assertion"' in f.returned,
        (b"assert f() == 2",),
        harness=Harness.PYTHON_ASSERT,
    ),
)


async def run_check(slot: Slot, check: Check) -> str:
    """Run one check; "" when all its runs said what they must, else what was wrong.

    Raises:
        SlotError: The slot failed.
    """
    compiled = await slot.compile(
        CompileJob(check.harness, {"main.py": check.source.encode()}, (), (), LIMITS)
    )
    if not compiled.ok:
        return f"{check.name}: did not compile: {compiled.message}"
    job = RunJob(check.harness, compiled.artifact, (), check.inputs, check.limits, check.fn_name)
    facts = [f async for f in slot.run(job)]
    if len(facts) != len(check.inputs):
        return f"{check.name}: {len(facts)} runs for {len(check.inputs)} inputs"
    for number, fact in enumerate(facts):
        if not check.expect(fact):
            short = dataclasses.replace(fact, stdout=fact.stdout[:200], stderr=fact.stderr[-500:])
            return f"{check.name}: run {number}: {short}"
    return ""
