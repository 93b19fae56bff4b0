"""`verifier images build`: what it asks of the build script; builds nothing."""

from __future__ import annotations

import subprocess

import pytest
from typer.testing import CliRunner

from verifier.cli import images
from verifier.cli.app import app

SCRIPT = str(images.RECIPES / "build")


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ([], ["runner", "gateway"]),
        (["jvm", "go"], ["jvm", "go"]),
        (["gateway", "--base", "debian"], ["gateway", "--base", "debian"]),
        (["--all", "--tag", "x:all"], ["runner", "--tag", "x:all", "--all"]),
        (["rust", "--bootstrap", "--force"], ["rust", "--bootstrap", "--force"]),
    ],
)
def test_build_asks_the_script(words, asked, monkeypatch):
    called = []

    def run(argv, **kwargs):
        called.append(argv)
        return subprocess.CompletedProcess(argv, 0)

    monkeypatch.setattr(images.subprocess, "run", run)
    assert CliRunner().invoke(app, ["images", "build", *words]).exit_code == 0
    assert called == [[SCRIPT, *asked]]


def test_unknown_family_is_wrong_usage(capfd):
    assert CliRunner().invoke(app, ["images", "build", "cobol"]).exit_code == 2
    assert "unknown family 'cobol'" in capfd.readouterr().err
