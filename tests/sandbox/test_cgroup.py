"""Where slots' cgroups go, under every layout; the files are a stand-in tree here.

The real thing (version 1, and version 2's counters beside it) runs in every test of the namespaces
backend.
"""

from __future__ import annotations

import os

import pytest

from verifier.sandbox import owner
from verifier.sandbox.namespaces import cgroup

V1 = "cgroup cgroup rw,{}"


class Host:
    """A /proc/self and a /sys/fs/cgroup of our own."""

    def __init__(self, root):
        self.root = root
        self.proc = root / "proc"
        self.proc.mkdir()
        self.groups, self.mounts = [], []

    def v1(self, controllers, own="/job"):
        point = f"/sys/fs/cgroup/{controllers}"
        self.mounts.append(f"30 20 0:25 / {point} rw - cgroup cgroup rw,{controllers}")
        self.groups.append(f"{len(self.groups) + 1}:{controllers}:{own}")
        return self.folder(point + own)

    def v2(self, controllers, own="/user.slice/job", part="/", point="/sys/fs/cgroup"):
        self.mounts.append(f"31 20 0:26 {part} {point} rw - cgroup2 cgroup2 rw")
        self.groups.append(f"0::{own}")
        folder = self.folder(point + (own[len(part) :] if part != "/" else own))
        (folder / "cgroup.controllers").write_text(controllers + "\n")
        (folder / "cgroup.procs").write_text("")
        (folder / "cgroup.subtree_control").write_text("")
        return folder

    def folder(self, path):
        folder = self.root / path.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def detect(self):
        (self.proc / "cgroup").write_text("".join(f"{line}\n" for line in self.groups))
        (self.proc / "mountinfo").write_text("".join(f"{line}\n" for line in self.mounts))
        return cgroup.detect(self.proc, self.root)


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_version_1(host):
    memory, cpu = host.v1("memory"), host.v1("cpu,cpuacct")
    layout = host.detect()
    assert layout.v1 == {"memory": memory, "cpuacct": cpu}
    assert layout.v2 is None
    assert (layout.has("memory"), layout.has("cpu"), layout.has("pids")) == (True, True, False)


def test_version_2(host):
    own = host.v2("cpuset cpu io memory pids")
    layout = host.detect()
    assert layout.v2 == own
    assert all(layout.has(c) for c in ("memory", "cpu", "pids"))


def test_hybrid_takes_each_controller_from_where_it_is(host):
    memory = host.v1("memory")
    own = host.v2("", own="/", point="/sys/fs/cgroup/unified")
    layout = host.detect()
    assert layout.v1 == {"memory": memory}
    assert layout.v2 == own
    assert (layout.has("memory"), layout.has("cpu"), layout.has("pids")) == (True, True, False)


def test_a_container_sees_a_part_of_the_hierarchy(host):
    own = host.v2("memory pids", own="/docker/abc", part="/docker/abc")
    assert host.detect().v2 == own


def test_nothing_is_mounted(host):
    layout = host.detect()
    assert not any(layout.has(c) for c in ("memory", "cpu", "pids"))


def test_what_may_not_be_written_is_said(host, monkeypatch):
    host.v1("memory")
    host.v2("memory pids")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    layout = host.detect()
    assert not layout.has("memory")
    assert len(layout.problems) == 2


def test_slot_of_version_2(host):
    own = host.v2("cpu memory pids")
    manager = cgroup.CgroupManager(host.detect(), "1-2-boot-0")
    manager.prepare()
    parent = own / "verifier-1-2-boot-0"
    assert (own / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"
    assert (parent / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"
    slot = manager.create("ns0", 100)
    folder = parent / "ns0"
    for name, text in {
        "cgroup.procs": "",
        "memory.current": "4096\n",
        "memory.stat": "inactive_file 0\n",
        "memory.events": "low 0\noom_kill 2\n",
        "memory.peak": "8192\n",
        "memory.max": "max\n",
        "memory.swap.max": "max\n",
        "pids.max": "max\n",
        "cpu.stat": "usage_usec 17\n",
    }.items():
        (folder / name).write_text(text)
    config, fds = slot.runner_config()
    counters = config["counters"]
    assert sorted(counters) == ["cpu", "memory_now", "memory_peak", "memory_stat", "oom"]
    assert counters["cpu"][1:] == [1000, "usage_usec"]
    assert counters["oom"][1:] == [1, "oom_kill"]
    assert config["peak_resettable"] is True
    assert config["procs_fds"][0] in fds
    slot.set_memory(123)
    slot.set_processes(45)
    assert (folder / "memory.max").read_text() == "123"
    assert (folder / "memory.swap.max").read_text() == "0"
    assert (folder / "pids.max").read_text() == "45"
    slot.release_fds()
    assert slot.fds == []


def test_slot_of_version_1(host):
    own = {c: host.v1(c) for c in ("memory", "pids", "cpuacct")}
    manager = cgroup.CgroupManager(host.detect(), "1-2-boot-0")
    manager.prepare()
    slot = manager.create("ns0", 100)
    memory = own["memory"] / "verifier-1-2-boot-0" / "ns0"
    for folder, names in (
        (
            memory,
            (
                "memory.usage_in_bytes",
                "memory.stat",
                "memory.oom_control",
                "memory.max_usage_in_bytes",
            ),
        ),
        (own["cpuacct"] / "verifier-1-2-boot-0" / "ns0", ("cpuacct.usage",)),
    ):
        for name in names:
            (folder / name).write_text("0")
    for folder in own.values():
        (folder / "verifier-1-2-boot-0" / "ns0" / "cgroup.procs").write_text("")
    config, _ = slot.runner_config()
    assert sorted(config["counters"]) == ["cpu", "memory_now", "memory_peak", "memory_stat", "oom"]
    assert len(config["procs_fds"]) == 3
    slot.set_memory(123)
    assert (memory / "memory.limit_in_bytes").read_text() == "123"
    slot.release_fds()


def test_groups_of_the_dead_are_swept_and_those_of_the_living_are_not(host):
    own = host.v1("memory")
    mine = owner.new_run_id()
    other = owner.new_run_id()
    dead = "999999999-1-boot-0"
    for run in (other, dead):
        (own / f"verifier-{run}" / "ns0").mkdir(parents=True)
    manager = cgroup.CgroupManager(host.detect(), mine)
    manager.prepare()
    assert manager.sweep(owner.is_alive) == 1
    assert sorted(p.name for p in own.iterdir()) == sorted(f"verifier-{r}" for r in (mine, other))


def test_who_is_alive_is_asked_after_the_group_was_seen(host):
    """Verifiers that start at once look at each other's groups."""
    own = host.v1("memory")
    (own / "verifier-999999999-1-boot-0").mkdir()
    started = []

    def alive(run_id):
        if not started:  # after the look, before the answer
            started.append(owner.new_run_id())
            (own / f"verifier-{started[0]}" / "ns0").mkdir(parents=True)
        return owner.is_alive(run_id)

    manager = cgroup.CgroupManager(host.detect(), owner.new_run_id())
    assert manager.sweep(alive) == 1
    assert [p.name for p in own.iterdir()] == [f"verifier-{started[0]}"]
    cgroup.remove_group(own / "verifier-999999999-1-boot-0")  # another sweep was quicker


def test_run_ids():
    first, second = owner.new_run_id(), owner.new_run_id()
    assert first != second
    assert owner.is_alive(first)
    pid, start, boot, number = first.split("-")
    assert not owner.is_alive(f"{pid}-{int(start) + 1}-{boot}-{number}")  # the number was recycled
    assert not owner.is_alive(f"999999999-{start}-{boot}-{number}")
    assert not owner.is_alive("nonsense")
