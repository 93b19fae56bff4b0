"""The container's seccomp profile as a document; test_container.py asks the kernel."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sandbox_images import seccomp_profile

HEADERS = (
    Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    Path("/usr/include/aarch64-linux-gnu/asm/unistd.h"),
)
# What a runner needs to build jails.
NEEDED = """
    clone clone3 unshare setns mount umount2 pivot_root sethostname setuid setresuid setgroups
    capset prctl seccomp pidfd_open pidfd_send_signal memfd_create close_range waitid
"""
FORBIDDEN = """
    io_uring_setup io_uring_enter io_uring_register bpf perf_event_open userfaultfd keyctl
    add_key request_key kexec_load kexec_file_load init_module finit_module delete_module
    reboot swapon swapoff open_by_handle_at fanotify_init quotactl acct iopl ioperm open_tree
    move_mount fsopen fsconfig fsmount fspick mount_setattr ptrace kcmp lookup_dcookie
    move_pages mbind set_mempolicy process_vm_readv process_vm_writev pidfd_getfd modify_ldt
    settimeofday clock_settime syslog memfd_secret
"""


def allowed() -> list[str]:
    return [name for names in seccomp_profile.ALLOWED.values() for name in names.split()]


def refused() -> list[str]:
    return [name for _, _, names in seccomp_profile.REFUSED for name in names.split()]


def test_committed_file_is_what_the_script_writes():
    assert seccomp_profile.PROFILE.read_text() == seccomp_profile.render()


def test_every_call_is_named_once():
    names = [*allowed(), *refused(), *seccomp_profile.BY_ARGUMENT]
    assert sorted(names) == sorted(set(names))


def test_every_call_of_this_kernels_headers_is_decided():
    header = next((path for path in HEADERS if path.is_file()), None)
    if header is None:
        pytest.skip("no kernel headers (apt-get install linux-libc-dev)")
    names = set(re.findall(r"#define __NR_(\w+) \d+", header.read_text()))
    assert len(names) > 300
    known = {*allowed(), *refused(), *seccomp_profile.BY_ARGUMENT}
    assert names - known == set()


def test_the_runner_can_build_jails():
    assert set(NEEDED.split()) <= set(allowed())


def test_what_is_dangerous_is_refused():
    assert set(FORBIDDEN.split()) <= set(refused())


def test_default_is_to_refuse_as_an_older_kernel_would():
    profile = json.loads(seccomp_profile.PROFILE.read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert profile["defaultErrnoRet"] == seccomp_profile.ENOSYS


def test_only_native_architectures():
    profile = json.loads(seccomp_profile.PROFILE.read_text())
    assert profile["archMap"]
    assert all(entry["subArchitectures"] == [] for entry in profile["archMap"])
    # Docker refuses a profile that has both.
    assert "architectures" not in profile


def test_no_rule_depends_on_capabilities_or_kernels():
    profile = json.loads(seccomp_profile.PROFILE.read_text())
    assert not [rule for rule in profile["syscalls"] if "includes" in rule or "excludes" in rule]


def test_sockets_are_allowed_by_exact_arguments_only():
    rules = [rule for rule in seccomp_profile.build()["syscalls"] if "socket" in rule["names"]]
    for rule in rules:
        assert rule["args"], "an unconditional rule would swallow the others"
    families = {rule["args"][0]["value"] for rule in rules if rule["action"] == "SCMP_ACT_ALLOW"}
    assert families == {seccomp_profile.AF_UNIX, seccomp_profile.AF_INET, seccomp_profile.AF_INET6}


def test_check_mode(tmp_path, monkeypatch, capsys):
    assert seccomp_profile.main(["--check"]) == 0
    monkeypatch.setattr(seccomp_profile, "PROFILE", tmp_path / "seccomp.json")
    assert seccomp_profile.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err
    assert seccomp_profile.main([]) == 0
    assert seccomp_profile.main(["--check"]) == 0
