"""`verifier languages`, as a person types it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from verifier.cli.app import app
from verifier.cli.common import ExitCode
from verifier.languages import RECIPES


def test_all_are_listed():
    done = CliRunner().invoke(app, ["languages", "list", "--json"])
    assert [row["name"] for row in json.loads(done.stdout)] == list(RECIPES)


@pytest.mark.namespaces
@pytest.mark.usefixtures("namespaces")
def test_what_runs_and_what_is_absent():
    words = ["languages", "verify", "python", "lean", "--json", "--backend", "namespaces"]
    for name in ("memory_limit", "cpu_accounting", "process_limit"):
        words += ["--accept", name]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == ExitCode.INCOMPLETE, done.output
    python, lean = json.loads(done.stdout)
    assert python["ok"]
    assert python["version"].startswith("Python 3.")
    assert not lean["ok"]
    assert "build an image FROM the toolchain of Lean" in lean["problem"]
