"""The image and the seccomp profile in a real container, hardened as a slot is."""

from __future__ import annotations

import json
import textwrap

import pytest

from sandbox_images.recipe import LABEL_FAMILIES, LABEL_RECIPE, USER
from sandbox_images.seccomp_profile import PROFILE

pytestmark = pytest.mark.docker

# Number, arguments, expected errno name ("" for success) on x86_64.
CALLS = {
    "io_uring_setup": (425, (1, 0), "ENOSYS"),
    "bpf": (321, (0, 0, 0), "EPERM"),
    "perf_event_open": (298, (0, 0, 0, 0, 0), "EPERM"),
    "userfaultfd": (323, (0,), "EPERM"),
    "add_key": (248, (0, 0, 0, 0, 0), "ENOSYS"),
    "keyctl": (250, (0, 0, 0, 0, 0), "ENOSYS"),
    "kexec_load": (246, (0, 0, 0, 0), "EPERM"),
    "finit_module": (313, (0, 0, 0), "EPERM"),
    "reboot": (169, (0,), "EPERM"),
    "open_by_handle_at": (304, (0, 0, 0), "EPERM"),
    "fanotify_init": (300, (0, 0), "EPERM"),
    "iopl": (172, (3,), "EPERM"),
    "ptrace": (101, (0, 0, 0, 0), "EPERM"),
    "process_vm_readv": (310, (0, 0, 0, 0, 0, 0), "EPERM"),
    "fsopen": (430, (0, 0), "ENOSYS"),
    "statmount": (457, (0, 0, 0, 0), "ENOSYS"),
    "open_tree_attr": (467, (0, 0, 0, 0, 0), "ENOSYS"),
    "mbind": (237, (0, 0, 0, 0, 0, 0), "ENOSYS"),
    "modify_ldt": (154, (0, 0, 0), "ENOSYS"),
    "a call of the future": (600, (), "ENOSYS"),
    "personality: ask": (135, (0xFFFFFFFF,), ""),
    "personality: plain": (135, (0,), ""),
    "vsock": (41, (40, 1, 0), "EAFNOSUPPORT"),
    "packet": (41, (17, 3, 0), "EAFNOSUPPORT"),
    "netlink": (41, (16, 3, 0), "EAFNOSUPPORT"),
    "alg": (41, (38, 5, 0), "EAFNOSUPPORT"),
    "bluetooth": (41, (31, 3, 0), "EAFNOSUPPORT"),
    "vsock with high bits": (41, ((1 << 32) | 40, 1, 0), "EAFNOSUPPORT"),
    "raw with high bits": (41, ((1 << 32) | 2, 3, 1), "EAFNOSUPPORT"),
    "tipc pair": (53, (30, 1, 0, 0), "EAFNOSUPPORT"),
    "tcp": (41, (2, 1 | 0o2000000, 6), ""),
    "udp over IPv6": (41, (10, 2, 0), ""),
    "unix": (41, (1, 1, 0), ""),
}
# Refused by the default action: ENOSYS, or EPERM under engines before 23.
BY_DEFAULT = {
    "raw": (41, (2, 3, 1)),
    "ping": (41, (2, 2, 1)),
    "sctp": (41, (2, 1, 132)),
    "mptcp": (41, (2, 1, 262)),
    "personality: no randomization": (135, (0x0040000,)),
}
PROBE = """
import ctypes, errno, json, sys
libc = ctypes.CDLL(None, use_errno=True)
found = {}
for name, (number, arguments) in json.loads(sys.argv[1]).items():
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    found[name] = errno.errorcode[ctypes.get_errno()] if answer < 0 else ""
print(json.dumps(found))
"""

FOREIGN = r"""
#include <sys/wait.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>
int main() {
    int status;
    if (!fork()) { syscall(0x40000000 | 39); _exit(0); }
    wait(&status); printf("x32 %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    if (!fork()) { long r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20)); _exit(0); }
    wait(&status); printf("i386 %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}
"""

PYTHON = """
import asyncio, concurrent.futures, multiprocessing, subprocess, threading
import numpy
assert (numpy.ones((200, 200)) @ numpy.ones((200, 200))).sum() == 200.0 ** 3
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    assert sum(pool.map(int, range(100))) == 4950
queue = multiprocessing.Queue()
child = multiprocessing.Process(target=queue.put, args=(7,))
child.start()
assert queue.get() == 7
child.join()
assert subprocess.run(["/bin/echo", "hi"], stdout=subprocess.PIPE).stdout == b"hi\\n"
asyncio.run(asyncio.sleep(0))
print("python works")
"""

NESTED = """
set -e
mount -t tmpfs -o size=1m jail /tmp
python3 -c 'import socket; socket.sethostname("jail")'
test "$(uname -n)" = jail
mkdir /tmp/new && mount -t tmpfs root /tmp/new && mkdir /tmp/new/old
cd /tmp/new && /usr/sbin/pivot_root . old
echo "pid $$"
"""


@pytest.fixture(scope="module")
def run(engine, image_name):
    """Run a command in a fresh container; gives (exit code, output)."""
    profile = json.dumps(json.loads(PROFILE.read_text()))

    def run_in_container(*words: str) -> tuple[int, str]:
        config = engine.api.create_host_config(
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges", f"seccomp={profile}"],
            mem_limit="1g",
            memswap_limit="1g",
            pids_limit=128,
            tmpfs={"/tmp": "rw,exec,nosuid,nodev,size=64m,mode=1777"},
        )
        # The engine masks parts of /proc by default, and then a nested /proc cannot be mounted.
        config["MaskedPaths"] = []
        config["ReadonlyPaths"] = []
        box = engine.api.create_container(
            image_name, list(words), host_config=config, environment={"OPENBLAS_NUM_THREADS": "2"}
        )["Id"]
        try:
            engine.api.start(box)
            code = engine.api.wait(box, timeout=120)["StatusCode"]
            return code, engine.api.logs(box).decode()
        finally:
            engine.api.remove_container(box, force=True)

    return run_in_container


def native(engine) -> bool:
    return engine.info()["Architecture"] == "x86_64"


def test_refused_calls(engine, run):
    if not native(engine):
        pytest.skip("the numbers are of x86_64")
    calls = {name: entry[:2] for name, entry in {**CALLS, **BY_DEFAULT}.items()}
    code, text = run("/usr/bin/python3", "-c", PROBE, json.dumps(calls))
    assert code == 0, text
    found = json.loads(text)
    assert {name: found[name] for name in CALLS} == {name: e[2] for name, e in CALLS.items()}
    assert {name for name in BY_DEFAULT if found[name] not in {"EPERM", "ENOSYS"}} == set()


def test_foreign_call_tables_kill(engine, run):
    if not native(engine):
        pytest.skip("these tables are of x86_64")
    script = f"cd /tmp && cat >f.c <<'END'\n{FOREIGN}\nEND\ngcc f.c -o f && ./f"
    assert run("/bin/sh", "-c", script) == (0, "x32 31\ni386 31\n")


def test_python_numpy_threads_and_processes(run):
    assert run("/usr/bin/python3", "-c", PYTHON) == (0, "python works\n")


def test_cpp_compiles_and_runs(run):
    script = textwrap.dedent(
        """
        cd /tmp && cat >a.cpp <<'END'
        #include <bits/stdc++.h>
        int main() { std::thread([] { std::cout << "cpp works\\n"; }).join(); }
        END
        g++ -O2 -std=gnu++20 a.cpp -o a && ./a
        """
    )
    assert run("/bin/sh", "-c", script) == (0, "cpp works\n")


def test_runner_can_nest_namespaces(run):
    code, text = run("unshare", "-UrmpfiunC", "--mount-proc", "/bin/sh", "-c", NESTED)
    assert (code, text) == (0, "pid 1\n")


def test_container_is_not_privileged(run):
    code, text = run(
        "/bin/sh",
        "-c",
        "id -u; grep -E '^(Cap(Eff|Bnd|Prm)|NoNewPrivs|Seccomp):' /proc/self/status",
    )
    assert code == 0
    uid, *facts = text.split("\n", 1)
    assert uid == USER.split(":")[0]
    found = dict(line.split(":\t") for line in facts[0].splitlines())
    none = "0" * 16
    assert found == {
        "CapPrm": none,
        "CapEff": none,
        "CapBnd": none,
        "NoNewPrivs": "1",
        "Seccomp": "2",
    }


def test_image_has_no_traces_and_no_setuid_files(run):
    script = """
        find / -xdev -type f -perm /6000 2>/dev/null
        ls -A /var/lib/apt/lists /var/log
        cat /etc/apt/auth.conf /etc/apt/auth.conf.d/* /etc/machine-id 2>/dev/null
        ls / | grep -i -e runner -e libjail
        exit 0
    """
    code, text = run("/bin/sh", "-c", script)
    assert code == 0
    assert [line for line in text.splitlines() if line and not line.endswith(":")] == []


def test_image_says_what_it_is(engine, image_name):
    image = engine.images.get(image_name)
    assert image.attrs["Config"]["User"] == USER
    assert not image.attrs["Config"].get("Entrypoint")
    assert len(image.labels[LABEL_RECIPE]) == 64
    assert {"python", "native"} <= set(image.labels[LABEL_FAMILIES].split(","))
