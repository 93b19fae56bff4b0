"""The surface: help, version, usage errors, and what errors tell to type."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from tests.cli.helpers import invoke, jsonl, plain
from verifier import __version__
from verifier.cli.common import ExitCode, accepted, execute, explain
from verifier.config import Settings
from verifier.errors import (
    BackendError,
    ConfigError,
    DeadlineError,
    GatewayUnavailableError,
    GuaranteeError,
    RequestError,
)

COMMANDS = ["serve", "score", "run", "extract", "doctor", "config"]


def test_version():
    done = invoke("--version")
    assert (done.exit_code, done.stdout) == (0, f"verifier {__version__}\n")


def test_help_lists_the_commands_and_the_exit_codes():
    done = invoke("--help")
    assert done.exit_code == 0
    for name in COMMANDS:
        assert name in done.stdout
    assert "130 interrupted" in plain(done.stdout)


@pytest.mark.parametrize("name", ["serve", "score", "run", "extract", "doctor"])
def test_help_has_examples(name):
    done = invoke(name, "--help")
    assert done.exit_code == 0
    assert "Examples" in done.stdout
    assert f"verifier {name}" in done.stdout


def test_the_module_runs_too():
    done = subprocess.run(
        [sys.executable, "-m", "verifier.cli", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"verifier {__version__}"


@pytest.mark.parametrize(
    "args",
    [
        ["score"],
        ["score", "absent.jsonl", "-o", "x"],
        ["serve", "--backend", "vmware"],
        ["serve", "--slots", "0"],
        ["frobnicate"],
    ],
)
def test_wrong_usage_is_exit_code_2(args):
    assert invoke(*args).exit_code == ExitCode.USAGE


def test_a_server_and_a_sandbox_of_our_own_exclude_each_other(tmp_path):
    rows = jsonl(tmp_path / "rows.jsonl")
    done = invoke("score", rows, "-o", "-", "--server", "127.0.0.1:1", "--backend", "docker")
    assert done.exit_code == ExitCode.USAGE
    assert "--server brings its own sandbox" in plain(done.stderr)


def test_names_to_accept_may_be_repeated_or_separated_by_commas():
    assert accepted(["a,b", " c "]) == {"a", "b", "c"}
    assert accepted(None) == frozenset()


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (GuaranteeError("no cgroup", ("memory_limit",)), 3, "--accept memory_limit"),
        (GatewayUnavailableError("nobody at 1.2.3.4:5"), 3, "verifier serve --grpc"),
        (BackendError("no engine"), 3, "verifier doctor"),
        (DeadlineError("too late"), 3, "too late"),
        (ConfigError("slots: must be positive"), 2, "slots: must be positive"),
        (RequestError("limits.cpu_time_s", "over the ceiling"), 2, "limits.cpu_time_s"),
    ],
)
def test_errors_have_a_code_and_tell_what_to_type(error, code, told, capsys):
    assert explain(error) == code
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert told in plain(message)


def test_markup_in_an_error_is_printed_as_it_is(capsys):
    explain(ConfigError("[bold]inputs[3][/]"))
    assert "[bold]inputs[3][/]" in capsys.readouterr().err


def test_sigterm_unwinds_a_command(capsys):
    cleaned = []

    async def work():
        try:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    with pytest.raises(typer.Exit) as exit_:
        execute(work)
    assert exit_.value.exit_code == ExitCode.INTERRUPTED
    assert cleaned == [True]
    assert "interrupted" in capsys.readouterr().err


def test_config_show_says_where_each_value_is_from(monkeypatch):
    monkeypatch.setenv("VERIFIER_SLOTS", "3")
    done = invoke("config", "show", "--json")
    assert done.exit_code == 0
    shown = json.loads(done.stdout)
    assert shown["slots"] == {"value": 3, "source": "env VERIFIER_SLOTS"}
    assert shown["grpc"]["source"] == "default"
    assert "VERIFIER_SLOTS" in invoke("config", "show").stdout


def test_config_show_sources_says_what_a_value_overrides(monkeypatch, tmp_path):
    file = tmp_path / "v.toml"
    file.write_text("slots = 2")
    monkeypatch.setenv("VERIFIER_SLOTS", "3")
    done = invoke("config", "show", "--sources", "--json", "--config", str(file))
    shown = json.loads(done.stdout)["slots"]
    assert shown["overridden"] == [{"value": 2, "source": f"file {file}"}]
    text = plain(invoke("config", "show", "--sources", "--config", str(file)).stdout)
    assert "instead of" in text


def test_config_schema_accepts_what_the_settings_do():
    made = json.loads(invoke("config", "schema").stdout)
    assert made["additionalProperties"] is False
    assert made["properties"]["slots"]["anyOf"][0] == {"minimum": 1, "type": "integer"}
    assert set(made["properties"]) == set(Settings.model_fields)


def test_the_page_of_languages_is_the_one_that_is_made():
    page = Path(__file__).parents[2] / "docs" / "languages.md"
    assert invoke("languages", "docs").stdout == page.read_text(), "run: verifier languages docs"


def test_the_page_of_settings_is_the_one_that_is_made():
    page = Path(__file__).parents[2] / "docs" / "configuration.md"
    assert invoke("config", "docs").stdout == page.read_text(), "run: verifier config docs"


def test_an_unknown_setting_is_refused_with_a_guess(monkeypatch):
    monkeypatch.setenv("VERIFIER_SLOT", "3")
    done = invoke("config", "show")
    assert done.exit_code == ExitCode.USAGE
    assert "VERIFIER_SLOTS" in plain(done.stderr)
