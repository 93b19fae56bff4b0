"""docker-compose.yml from up to down, with the engine that is here."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from verifier.client import ScoreCall
from verifier.errors import RequestError
from verifier.sandbox.base import GuaranteeName
from verifier.types import LimitOverrides, Outcome, Status


def _beside(name):
    """A module of this folder: tests are no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


until = _beside("conftest").until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(170)]

SUMS = {"inputs": ["1 2\n", "5 6\n", "-1 1\n"], "outputs": ["3\n", "11\n", "0\n"]}
RIGHT = "```python\nprint(sum(map(int, input().split())))\n```"
WRONG = "```python\nprint(3)\n```"
CPP = """```cpp
#include <bits/stdc++.h>
int main() { long a, b; std::cin >> a >> b; std::cout << a + b << std::endl; }
```"""
ENDLESS = "```python\nwhile True: pass\n```"
SHORT = LimitOverrides(cpu_time_s=0.3, wall_time_s=5.0)

TESTS = {
    "test": "def check(f):\n    assert f(2) == 3\n    assert f(41) == 42\n",
    "entry_point": "after",
}
HONEST = "```python\ndef after(n):\n    return n + 1\n```"
ALIKE = """```python
class Alike:
    def __eq__(self, other):
        return True
def after(n):
    return Alike()
```"""
# Looks at every process that it can see, with every file of it that tells more than its name.
SPY = """```python
import os
tells = ("environ", "maps", "mem", "auxv", "syscall", "stack", "io", "smaps", "pagemap", "timers")
own = os.readlink("/proc/self")
seen = []
others = [p for p in os.listdir("/proc") if p.isdigit() and p != own]
for process in others:
    for name in tells:
        try:
            with open(f"/proc/{process}/{name}", "rb") as f:
                f.read(1)
            seen.append(f"read {name}")
        except OSError:
            pass
    for name in ("root", "cwd", "exe", "ns/mnt", "fd/0", "fd/3"):
        try:
            os.readlink(f"/proc/{process}/{name}")
            seen.append(f"follow {name}")
        except OSError:
            pass
    for name in ("mem", "oom_score_adj", "comm", "coredump_filter", "clear_refs"):
        try:
            os.close(os.open(f"/proc/{process}/{name}", os.O_WRONLY))
            seen.append(f"write {name}")
        except OSError:
            pass
    try:
        os.kill(int(process), 9)
        seen.append("kill")
    except (ProcessLookupError, PermissionError):
        pass
print(len(others) > 0, sorted(set(seen)))
```"""


def test_what_a_gateway_of_runners_says_of_itself(client):
    info = client.info()
    held = {guarantee.name: guarantee for guarantee in info.guarantees}
    assert info.backend == "runners"
    assert not held[GuaranteeName.PID_NAMESPACE].holds
    assert "docker-compose.v2.yml" in held[GuaranteeName.PID_NAMESPACE].remedy
    assert info.accepted == {"pid_namespace"}
    missing = {name for name, guarantee in held.items() if not guarantee.holds}
    assert missing == {GuaranteeName.PID_NAMESPACE, GuaranteeName.SEPARATE_UID}
    assert info.max_limits.memory_bytes == (1280 - 192) * 1024 * 1024
    assert any("one memory class: 1088 MiB" in note for note in info.notes)


def test_right_wrong_endless_and_compiled(client):
    right = client.score(RIGHT, SUMS)
    assert (right.outcome, right.score, right.passed) == (Outcome.SCORED, 1.0, 3)
    assert client.score(WRONG, SUMS).passed == 1
    assert client.score(ENDLESS, SUMS, limits=SHORT).status is Status.TIME_LIMIT
    assert client.score(CPP, SUMS).score == 1.0


def test_asserts_are_out_of_reach_in_a_helper(client):
    assert client.score(HONEST, TESTS).score == 1.0
    assert client.score(ALIKE, TESTS).score == 0.0
    # More pairs at once than there are helpers: they take turns.
    pairs = [ScoreCall(HONEST, TESTS, no_cache=True) for _ in range(3)]
    assert [result.score for result in client.score_many(pairs)] == [1.0] * 3


def test_a_program_lists_the_runners_processes_and_reads_none(client):
    result = client.score(SPY, {"inputs": [""], "outputs": ["True []\n"]})
    assert result.score == 1.0, result.cases[0].stdout


def test_memory_hogs_end_and_larger_limits_are_refused(client):
    hog = "```python\nb = bytearray(4 << 30)\nfor i in range(0, len(b), 4096): b[i] = 1\n```"
    nothing = {"inputs": [""], "outputs": [""]}
    assert client.score(hog, nothing).status is Status.MEMORY_LIMIT
    # Below the class, where the kernel does not hold it: by all processes together.
    several = """```python
import os, time
for _ in range(3): os.fork()
b = bytearray(40 << 20)
for i in range(0, len(b), 4096): b[i] = 1
time.sleep(1)
```"""
    small = LimitOverrides(memory_bytes=128 << 20)
    assert client.score(several, nothing, limits=small).status is Status.MEMORY_LIMIT
    assert client.score(several, nothing).score == 1.0
    with pytest.raises(RequestError, match="memory"):
        client.score(RIGHT, SUMS, limits=LimitOverrides(memory_bytes=2 << 30))
    assert client.score(RIGHT, SUMS, no_cache=True).score == 1.0


def test_nobody_has_a_privilege(project):
    gateway = project.containers("gateway")
    runners = project.containers("runner") + project.containers("helper")
    assert (len(gateway), len(runners)) == (1, 3)
    for one in gateway + runners:
        host = one["HostConfig"]
        assert host["CapDrop"] == ["ALL"]
        assert not host["CapAdd"]
        assert not host["Privileged"]
        assert host["ReadonlyRootfs"]
        assert host["PidsLimit"] > 0
        assert 0 < host["Memory"] == host["MemorySwap"]
        assert any(option.startswith("no-new-privileges") for option in host["SecurityOpt"])
        assert one["Config"]["User"] in ("65531:65532", "65532:65532")
        assert "docker.sock" not in json.dumps(one["Mounts"])
    for one in runners:
        assert one["HostConfig"]["NetworkMode"] == "none"
        assert any(option.startswith("seccomp=") for option in one["HostConfig"]["SecurityOpt"])
        writable = [mount["Destination"] for mount in one["Mounts"] if mount["RW"]]
        assert writable == ["/run/verifier/runners"]


def test_runners_come_go_and_come_back(project, client):
    project.up(runners=4, helpers=1)
    until(lambda: client.info().slots == 4, "four slots")
    calls = [ScoreCall(RIGHT if i % 2 else WRONG, SUMS, no_cache=True) for i in range(80)]
    with ThreadPoolExecutor(1) as thread:
        answers = thread.submit(client.score_many, calls)
        victim = project.containers("runner")[0]
        os.kill(victim["State"]["Pid"], signal.SIGKILL)
        results = answers.result()
    assert [result.outcome for result in results] == [Outcome.SCORED] * 80
    assert [result.passed for result in results] == [1, 3] * 40

    def back():
        (now,) = [one for one in project.containers("runner") if one["Id"] == victim["Id"]]
        restarted = now["RestartCount"] == 1 and now["State"]["Running"]
        return restarted and client.info().slots == 4

    until(back, "the runner that was killed is a slot again")
    project.up(runners=1, helpers=1)
    until(lambda: client.info().slots == 1, "one slot")
    assert client.score(RIGHT, SUMS, no_cache=True).score == 1.0


def test_down_leaves_nothing(project):
    project.compose("down", "--volumes", "--timeout", "5")
    assert project.left() == 0
