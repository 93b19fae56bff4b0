"""A project of docker-compose.yml: up for a module, and away with it afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from verifier.client import Client
from verifier.errors import VerifierError

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ("verifier-sandbox:latest", "verifier-gateway:latest")
PATIENCE_S = 60.0


def absent(reason):
    """A skip, unless the caller said that there has to be an engine."""
    if os.environ.get("VERIFIER_REQUIRE_DOCKER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def run(*words, env=None):
    """Standard output of a command that has to succeed."""
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
    return done.stdout


def free_port():
    """One that the kernel gives to nobody who asks for any: it is taken some time from now."""
    first_given = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(10_000, first_given), 100):
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def until(condition, what):
    """Ask again and again until it is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.1)


class Project:
    """One `docker-compose -p NAME`."""

    def __init__(self, name):
        self.name = name
        self.target = f"127.0.0.1:{free_port()}"
        self.env = {
            **os.environ,
            "VERIFIER_GRPC_PORT": self.target.rpartition(":")[2],
            "VERIFIER_HTTP_PORT": str(free_port()),
            "COMPOSE_PROJECT_NAME": name,
        }
        for variable in ("VERIFIER_ACCEPT", "VERIFIER_CACHE_DIR"):
            self.env.pop(variable, None)

    def compose(self, *words):
        return run("docker-compose", *words, env=self.env)

    def up(self, runners, helpers):
        scale = ["--scale", f"runner={runners}", "--scale", f"helper={helpers}"]
        self.compose("up", "--detach", "--no-color", *scale)

    def containers(self, service=""):
        """What the engine knows of each container of a service, or of all."""
        words = ["docker", "ps", "--all", "--quiet", "--no-trunc"]
        words += ["--filter", f"label=com.docker.compose.project={self.name}"]
        if service:
            words += ["--filter", f"label=com.docker.compose.service={service}"]
        found = run(*words).split()
        return json.loads(run("docker", "inspect", *found)) if found else []

    def left(self):
        """Containers, networks and volumes of the project."""
        label = f"label=com.docker.compose.project={self.name}"
        return (
            len(self.containers())
            + len(run("docker", "network", "ls", "--quiet", "--filter", label).split())
            + len(run("docker", "volume", "ls", "--quiet", "--filter", label).split())
        )


@pytest.fixture(scope="module")
def project():
    if shutil.which("docker-compose") is None:
        absent("docker-compose is not installed: apt-get install docker-compose")
    for image in IMAGES:
        found = subprocess.run(
            ["docker", "image", "inspect", image], check=False, capture_output=True
        )
        if found.returncode != 0:
            absent(f"there is no image {image}: sandbox_images/build runner gateway")
    project = Project(f"verifier-test-{os.getpid()}")
    try:
        project.up(runners=2, helpers=1)
        yield project
    finally:
        project.compose("down", "--volumes", "--timeout", "5")


@pytest.fixture(scope="module")
def client(project):
    with Client(project.target, timeout_s=120.0) as client:
        until(lambda: ready(client), "the gateway serves two runners")
        yield client


def ready(client):
    """Whether the gateway takes work, and has both its runners."""
    try:
        answer = client.score("```python\nprint(1)\n```", {"inputs": [""], "outputs": ["1"]})
    except VerifierError:
        return False
    return answer.score == 1.0 and client.info().slots == 2
