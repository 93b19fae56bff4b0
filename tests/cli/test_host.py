"""Host facts: read from a made-up /proc, so that every layout is seen on any machine."""

from __future__ import annotations

import json

import pytest

from verifier.cli.host import cgroup_layout, host_facts

V2_MOUNTS = "cgroup2 {root} cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0\n"
V1_MOUNTS = (
    "cgroup {root}/cpu cgroup rw,nosuid,nodev,noexec,relatime,cpu,cpuacct 0 0\n"
    "cgroup {root}/mem cgroup rw,relatime,memory 0 0\n"
    "cgroup {root}/sys cgroup rw,xattr,name=systemd 0 0\n"
)


def fake_proc(tmp_path, mounts, own):
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "mounts").write_text("proc /proc proc rw 0 0\nbroken\n" + mounts)
    (proc / "self/cgroup").write_text(own)
    return proc


def test_cgroup_v2(tmp_path):
    root = tmp_path / "cg"
    (root / "user").mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu memory pids\n")
    layout = cgroup_layout(fake_proc(tmp_path, V2_MOUNTS.format(root=root), "0::/user\n"))
    assert layout.version == "v2"
    assert layout.own == {"": "/user"}
    assert layout.controllers == ("cpu", "memory", "pids")
    assert layout.writable


def test_cgroup_v1(tmp_path):
    root = tmp_path / "cg"
    (root / "mem" / "box").mkdir(parents=True)
    own = "3:memory:/box\n2:cpu,cpuacct:/\n1:name=systemd:/x\n"
    layout = cgroup_layout(fake_proc(tmp_path, V1_MOUNTS.format(root=root), own))
    assert layout.version == "v1"
    assert layout.controllers == ("cpu", "cpuacct", "memory")
    assert layout.own["memory"] == "/box"
    assert layout.writable


def test_cgroup_hybrid(tmp_path):
    mounts = (V1_MOUNTS + V2_MOUNTS).format(root=tmp_path / "cg")
    layout = cgroup_layout(fake_proc(tmp_path, mounts, "0::/\n"))
    assert layout.version == "hybrid"
    assert not layout.writable


def test_no_cgroups_at_all(tmp_path):
    layout = cgroup_layout(fake_proc(tmp_path, "", ""))
    assert (layout.version, layout.controllers, layout.writable) == ("none", (), False)


@pytest.mark.parametrize("value", ["0", "1"])
def test_the_switches_of_user_namespaces_are_shown(tmp_path, value):
    proc = fake_proc(tmp_path, "", "")
    switch = proc / "sys/kernel/unprivileged_userns_clone"
    switch.parent.mkdir(parents=True)
    switch.write_text(value + "\n")
    facts = host_facts(proc, tmp_path / "sys")
    assert facts.user_namespaces == {"unprivileged_userns_clone": value}
    assert facts.security_modules == ""


def test_this_host_is_plain_json():
    facts = host_facts()
    assert facts.usable_cpus >= 1
    assert facts.memory_mb > 0
    assert json.loads(json.dumps(facts.to_dict()))["kernel"] == facts.kernel
