"""Asks a slot, from inside its jail, what holds: a claim about a sandbox is read back."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from verifier.errors import BackendError
from verifier.sandbox.base import CompileJob, Guarantee, GuaranteeName, RunJob, Slot
from verifier.types import Harness, Limits

PROBE_LIMITS = dataclasses.replace(
    Limits(),
    cpu_time_s=5.0,
    wall_time_s=15.0,
    memory_bytes=128 * 1024 * 1024,
    output_bytes=64 * 1024,
)

# Runs inside the jail, under the sandbox's own Python: standard library only, prints a JSON object.
PROBE = b"""
import ctypes, errno, json, os, socket
status = dict(l.split(":", 1) for l in open("/proc/self/status") if ":" in l)
libc = ctypes.CDLL(None, use_errno=True)
def refused(call):
    try:
        return call()
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno))
def writable(path):
    try:
        open(path, "w").close(); os.unlink(path); return True
    except OSError:
        return False
def segment(flags):
    return libc.shmget(0x50524f42, 4096, flags) >= 0
def unshare():
    return errno.errorcode.get(ctypes.get_errno(), "") if libc.unshare(0x10000000) else "allowed"
print(json.dumps({
    "uid": os.getuid(), "pid": os.getpid(), "ppid": os.getppid(),
    "host_uid": [l.split() for l in open("/proc/self/uid_map")],
    "seccomp": status["Seccomp"].strip(),
    "nnp": status["NoNewPrivs"].strip(),
    "caps": status["CapEff"].strip(),
    "processes": sorted(int(p) for p in os.listdir("/proc") if p.isdigit()),
    "interfaces": [l.split(":")[0].strip() for l in open("/proc/self/net/dev") if ":" in l],
    # A datagram: Landlock, where it is, refuses TCP before the network does.
    "up": refused(lambda: socket.socket(type=socket.SOCK_DGRAM).connect(("127.0.0.1", 9))),
    "namespaces": {
        n: os.readlink("/proc/self/ns/" + n) for n in ("pid", "mnt", "ipc", "uts", "net", "user")
    },
    "writable": [
        p
        for p in ("/", "/usr", "/etc", "/program", "/build", "/proc/sys")
        if writable(p + "/.probe")
    ],
    "segment": [segment(0), segment(0o1666)],
    "unshare": unshare(), "root": sorted(os.listdir("/")),
}))
"""


@dataclass(frozen=True, slots=True)
class Probe:
    """What the jail looks like from inside.

    Attributes:
        facts: What the probe printed.
        landlock: The kernel's version of it; 0: none.
    """

    facts: dict[str, Any]
    landlock: int = 0

    def guarantees(self) -> list[Guarantee]:
        """The promises that can be seen from inside."""
        f = self.facts
        ids = f["host_uid"]
        outside = [int(row[1]) for row in ids]
        separate = len(ids) > 1
        return [
            Guarantee(
                GuaranteeName.PID_NAMESPACE,
                f["pid"] != 1 and f["ppid"] == 1 and f["processes"] in ([f["pid"]], [1, f["pid"]]),
                "a fresh PID namespace per run; its init is ours, the program is not PID 1",
            ),
            Guarantee(
                GuaranteeName.MOUNT_NAMESPACE,
                "tmp" in f["root"] and "home" not in f["root"],
                "a private root with nothing of the host but its toolchains; a fresh tmpfs per run",
            ),
            Guarantee(
                GuaranteeName.IPC_NAMESPACE,
                f["segment"] == [False, True],  # two runs: the second does not find the first's
                "a fresh IPC namespace per run",
            ),
            Guarantee(
                GuaranteeName.NO_NETWORK,
                f["interfaces"] in ([], ["lo"]) and f["up"] in ("ENETUNREACH", "EADDRNOTAVAIL"),
                "a network namespace whose loopback is down",
            ),
            Guarantee(
                GuaranteeName.UNPRIVILEGED_UID,
                0 not in outside and f["caps"].strip("0") == "",
                "no capability, and a user id that is not root outside",
                "run the verifier as an ordinary user, or as root with CAP_SETUID",
            ),
            Guarantee(
                GuaranteeName.SEPARATE_UID,
                separate,
                "the program's user id is not the runner's"
                if separate
                else "the program shares the runner's user id; "
                "it cannot see or signal it (PID namespace)",
                ""
                if separate
                else "optional: run as root, or give the user a range in /etc/subuid "
                "and install uidmap",
            ),
            Guarantee(
                GuaranteeName.SECCOMP,
                f["seccomp"] == "2" and f["nnp"] == "1" and f["unshare"] == "EPERM",
                "a system call filter and no_new_privs",
            ),
            Guarantee(
                GuaranteeName.READ_ONLY_ROOT,
                not f["writable"],
                f"all mounts but the run's tmpfs are read-only{_second_wall(self.landlock)}",
            ),
        ]


def _second_wall(landlock: int) -> str:
    if landlock == 0:
        return "; this kernel has no Landlock to stand behind them"
    return f", and Landlock (version {landlock}) stands behind them"


async def probe(slot: Slot) -> Probe:
    """Run the probe in a slot.

    Raises:
        BackendError: It did not answer.
        SlotError: The slot failed.
    """
    compiled = await slot.compile(
        CompileJob(Harness.PYTHON, {"main.py": PROBE}, (), (), PROBE_LIMITS)
    )
    job = RunJob(Harness.PYTHON, compiled.artifact, (), [b"", b""], PROBE_LIMITS)
    _, facts = [f async for f in slot.run(job)]
    if facts.exit_code != 0:
        text = facts.stderr.decode("utf-8", "replace")[-500:]
        raise BackendError(f"the probe failed inside the jail: {text}")
    landlock = getattr(slot, "ready", {}).get("landlock", 0)
    return Probe(json.loads(facts.stdout), max(landlock, 0))
