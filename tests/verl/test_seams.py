"""verl's loop, managers and trainer code with each way in, beside a real gateway process.

The checks are in seams.py; they run in the environment that `scripts/verl-venv` makes.
"""

from __future__ import annotations

import ast
import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from verl_python import ROOT, cannot, run_in_verl, verl_python

from verifier.cli.doctor import examine

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = [pytest.mark.namespaces, pytest.mark.timeout(600)]

INSIDE = Path(__file__).with_name("seams.py")
CHECKS = [
    node.name
    for node in ast.parse(INSIDE.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
]


@pytest.fixture(scope="module")
def gateway():
    """Addresses of a gateway process, gRPC and HTTP."""
    verl_python()
    found = asyncio.run(examine("namespaces"))
    if found.problem:
        cannot(f"namespaces: {found.problem}", unless="VERIFIER_REQUIRE_NAMESPACES")
    argv = [sys.executable, "-m", "verifier.cli", "serve", "--backend", "namespaces"]
    argv += ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--slots", "2"]
    argv += [word for name in found.missing for word in ("--accept", name)]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        addresses = {}
        for line in process.stdout:
            kind, _, address = line.strip().partition(" listening on ")
            addresses[kind] = address
            if len(addresses) == 2:
                break
        assert set(addresses) == {"grpc", "http"}, "the gateway did not start"
        yield addresses
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stdout.close()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder in which the checkout's entry points are found, as after `pip install`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    folder = tmp_path_factory.mktemp("installed")
    info = folder / "sandbox_verifier-0.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: sandbox-verifier\nVersion: 0.0.0\n"
    )
    (info / "entry_points.txt").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def problems(gateway, installed) -> dict[str, str]:
    said = run_in_verl(
        INSIDE,
        timeout_s=550,
        path=(installed, INSIDE.parent, ROOT / "tests" / "rewards"),
        VERIFIER_TEST_GRPC=gateway["grpc"],
        VERIFIER_TEST_HTTP=gateway["http"],
    )
    lines = [line for line in said.splitlines() if line.startswith("CHECK ")]
    answers = [json.loads(line.removeprefix("CHECK ")) for line in lines]
    return {answer["name"]: answer["problem"] for answer in answers}


@pytest.mark.parametrize("name", CHECKS)
def test_seam(problems, name):
    assert problems[name] == "", problems[name]
