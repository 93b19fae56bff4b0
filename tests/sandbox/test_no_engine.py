"""No Docker engine, or one that is not for this user: said, and nothing is left open."""

from __future__ import annotations

import gc
import os
import socket
import subprocess

import pytest

pytest.importorskip("docker")

from verifier.engine import make_sandbox
from verifier.errors import BackendError


async def start() -> None:
    sandbox = make_sandbox("docker")
    try:
        await sandbox.start()
    finally:
        await sandbox.close()


async def test_nobody_is_there(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    with pytest.raises(BackendError, match=r"no Docker engine answers .* start it, or use"):
        await start()
    gc.collect()  # a socket that is left open would be a warning, and so a failure


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which takes root")
async def test_not_for_us(monkeypatch, tmp_path):
    path = tmp_path / "engine"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(1)
        path.chmod(0o600)
        tmp_path.chmod(0o700)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        # The kernel asks the calling thread's user, and the SDK is called from threads.
        monkeypatch.setattr("verifier.sandbox.docker.backend._knock", _as_nobody)
        with pytest.raises(BackendError, match=r"not for this user .*usermod -aG docker"):
            await start()


def _as_nobody(engine: str) -> None:
    """What an ordinary user gets, from a process of theirs."""
    code = "import socket, sys; sys.exit(socket.socket(socket.AF_UNIX).connect_ex(sys.argv[1]))"
    argv = ["/usr/bin/python3", "-c", code, engine.removeprefix("unix://")]
    answer = subprocess.run(argv, user=65534, group=65534, extra_groups=(), check=False, cwd="/")
    raise OSError(answer.returncode, os.strerror(answer.returncode))
