"""The snippets of docs/beyond-verl.md, in order, against a gateway that runs programs."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from verifier.cli.doctor import examine

pytest.importorskip("torch", reason="the snippets need the extra 'rl'")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "beyond-verl.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
ADDRESS = "127.0.0.1:50051"
LISTENING = "grpc listening on "


@pytest.fixture
def address():
    found = asyncio.run(examine("namespaces"))
    if found.problem:
        required = os.environ.get("VERIFIER_REQUIRE_NAMESPACES") == "1"
        (pytest.fail if required else pytest.skip)(f"namespaces: {found.problem}")
    command = [sys.executable, "-m", "verifier.cli", "serve", "--grpc", "127.0.0.1:0"]
    for name in found.missing:
        command += ["--accept", name]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        (line,) = [line for line in [server.stdout.readline()] if line.startswith(LISTENING)]
        yield line.removeprefix(LISTENING).strip()
    finally:
        server.terminate()
        server.communicate()


@pytest.mark.namespaces
def test_every_snippet_does_what_it_says(address):
    names = {"__name__": "snippets"}
    for snippet in SNIPPETS:
        exec(compile(snippet.replace(ADDRESS, address), str(PAGE), "exec"), names)


def test_every_integration_has_a_snippet():
    text = "".join(SNIPPETS)
    for name in ("scorer", "trl", "openrlhf", "verifiers"):
        assert f"from verifier.integrations.{name} import" in text
    assert text.count("assert ") >= 8
