"""`verifier healthcheck` and `verifier top`, against a real gateway in another thread."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tests.telemetry.gateways import RESPONSE, World, truth, world
from verifier.cli.app import app
from verifier.cli.top import picture
from verifier.client import Client


@pytest.fixture(scope="module")
def served():
    """A gateway with a few answers behind it: where it is, and a way to make it drain."""
    ready: list[World] = []
    up, done = threading.Event(), threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with world("[red]\x1b[2J client") as gateway:
            await gateway.score("1\n", "2\n")
            await gateway.score("1\n", wrong=True)
            ready.append(gateway)
            up.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert up.wait(60)
    yield ready[0], loops[0]
    done.set()
    thread.join()


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_a_gateway_that_serves_is_healthy(served):
    gateway, _ = served
    for way in (["--server", gateway.grpc], ["--http", gateway.http]):
        done = run("healthcheck", *way)
        assert (done.exit_code, done.output.split()[0]) == (0, "ready"), done.output
    done = run("healthcheck", "--server", gateway.grpc, "--json")
    assert json.loads(done.output) == {
        "ready": True,
        "state": "SERVING",
        "server": gateway.grpc,
        "service": "",
    }
    assert run("healthcheck", "--server", gateway.grpc, "--service", "no.Such").exit_code == 3


def test_nobody_there_is_another_exit_code():
    assert run("healthcheck", "--http", "127.0.0.1:1").exit_code == 3
    assert run("healthcheck", "--server", "127.0.0.1:1", "--timeout", "2").exit_code == 3
    assert run("healthcheck", "--server", "a:1", "--http", "b:1").exit_code == 2
    assert run("top", "--once", "--http", "127.0.0.1:1").exit_code == 3


def test_top_prints_what_the_gateway_says(served):
    gateway, _ = served
    done = run("top", "--http", gateway.http, "--once", "--json")
    assert done.exit_code == 0, done.output
    status = json.loads(done.output)
    assert status["totals"]["verdicts"] == {"ACCEPTED": 1, "WRONG_ANSWER": 1}
    done = run("top", "--http", gateway.http, "--once")
    for text in ("verifier ready", "accepted", "wrong answer", "50.0 %", "slots busy", "0/2"):
        assert text in done.output
    # A client's name is no markup, and nothing that a terminal would obey.
    assert "[red]?[2J client" in done.output
    assert "\x1b[2J" not in done.output
    assert run("top", "--json").exit_code == 2


def test_a_picture_fits_a_narrow_terminal(served):
    gateway, _ = served
    status = json.loads(run("top", "--http", gateway.http, "--once", "--json").output)
    console = Console(width=60, file=io.StringIO())
    console.print(picture(status, "nobody answers"))
    lines = console.file.getvalue().splitlines()
    assert any("nobody answers" in line for line in lines)
    assert max(map(len, lines)) <= 60


def test_one_that_drains_answers_and_is_not_ready(served):
    gateway, loop = served
    stopping = asyncio.run_coroutine_threadsafe(gateway.gateway._health.drain(), loop)
    stopping.result(30)
    loop.call_soon_threadsafe(gateway.gateway._admission.close)
    done = run("healthcheck", "--server", gateway.grpc)
    assert (done.exit_code, done.output.strip()) == (1, "not ready (NOT_SERVING)")
    done = run("healthcheck", "--http", gateway.http, "--json")
    assert done.exit_code == 1
    assert json.loads(done.output)["answer"] == {"ready": False}


def test_a_server_process_writes_its_log_as_it_was_told():
    """A real `verifier serve`: JSON on standard error, probes, the end by SIGTERM."""
    environ = {**os.environ, "VERIFIER_LOG_LEVEL": "info", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "verifier", "serve", "--backend", "fake", "--allow-unsafe"]
    process = subprocess.Popen(
        [*command, "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    )
    try:
        assert process.stdout is not None
        grpc = process.stdout.readline().split()[-1]
        http = process.stdout.readline().split()[-1]
        assert run("healthcheck", "--server", grpc).exit_code == 0
        with Client(grpc, client_id="trainer") as client:
            client.score(RESPONSE.format(1), truth("1\n"), request_id="r-1")
        done = run("top", "--http", http, "--once", "--json")
        assert json.loads(done.output)["totals"]["responses"] == 1
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    lines = [json.loads(line) for line in errors.splitlines() if line.startswith("{")]
    (access,) = [line for line in lines if line["logger"] == "verifier.access"]
    assert (access["request_id"], access["client"], access["status"]) == (
        "r-1",
        "trainer",
        "ACCEPTED",
    )
