"""A sandbox is asked what it gives: with a wall off, the promise is reported as missing."""

from __future__ import annotations

import os

import pytest

from verifier.sandbox.base import GuaranteeName
from verifier.sandbox.controls import SWITCH
from verifier.sandbox.namespaces import NamespaceSandbox

pytestmark = [pytest.mark.namespaces, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


@pytest.mark.parametrize(
    ("without", "missing"),
    [
        ((), set()),
        (("ipc_namespace",), {"ipc_namespace"}),
        (("pid_namespace",), {"pid_namespace"}),
        (("mount_namespace",), set()),  # the slot's own private root is still there
        (("seccomp",), {"seccomp"}),
        (("no_network",), {"no_network"}),
        (("capabilities",), {"unprivileged_uid"}),
        (("read_only_root",), set()),  # the files' rights and Landlock stand behind
        (("read_only_root", "separate_uid", "landlock"), {"read_only_root"}),
    ],
    ids=str,
)
async def test_a_wall_that_is_off_is_reported(monkeypatch, without, missing):
    monkeypatch.setenv(SWITCH, "1")
    every = [name.value for name in GuaranteeName]
    sandbox = NamespaceSandbox(accept=every, _control_without=without)
    try:
        await sandbox.start()
        found = {g.name.value for g in await sandbox.guarantees() if not g.holds}
    finally:
        await sandbox.close()
    # The user id is reported where the run's user is the runner's, and that is not required.
    assert found - {"separate_uid"} == missing
