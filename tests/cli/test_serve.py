"""What `serve` hands to the gateway, and what settings make of an engine."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import verifier.gateway
from verifier.cli.app import app
from verifier.config import load_settings
from verifier.engine import engine_of
from verifier.testing import FakeSandbox


@pytest.fixture
def served(monkeypatch):
    """Settings of the gateways that were served."""
    found = []

    async def serve(settings, reread):
        assert reread() == settings
        found.append(settings)

    monkeypatch.setattr(verifier.gateway, "serve", serve)
    monkeypatch.setenv("XDG_CACHE_HOME", "/where/caches/are")
    monkeypatch.delenv("VERIFIER_CACHE_DIR", raising=False)
    return found


@pytest.mark.parametrize(
    ("arguments", "env", "folder"),
    [
        ([], {}, "/where/caches/are/verifier"),
        (["--cache-dir", "/mine"], {}, "/mine"),
        (["--cache-dir", ""], {}, ""),
        ([], {"VERIFIER_CACHE_DIR": ""}, ""),
        ([], {"VERIFIER_CACHE_DIR": "/ours"}, "/ours"),
        (["--cache-dir", "/mine"], {"VERIFIER_CACHE_DIR": "/ours"}, "/mine"),
    ],
)
def test_a_server_has_a_folder_unless_it_is_told_otherwise(served, arguments, env, folder):
    done = CliRunner().invoke(app, ["serve", *arguments], env=env)
    assert done.exit_code == 0, done.output
    assert [settings.cache_dir for settings in served] == [folder]


async def test_an_engine_has_what_its_settings_say(tmp_path):
    flags = {
        "cache_dir": str(tmp_path / "cache"),
        "slots": 3,
        "compile_cache_bytes": 2**21,
        "result_cache_bytes": 12345,
    }
    engine = engine_of(load_settings(None, flags, env={}).settings, FakeSandbox())
    assert engine._results._budget == 12345
    assert engine._shop.artifacts._budget == 2**21
    assert engine._shop.artifacts._disk.folder == tmp_path / "cache" / "programs"
    assert engine._shop.compilers._pool.size == 3
    await engine.close()


async def test_all_of_it_can_be_switched_off():
    flags = {"compile_slots": 0, "result_cache_bytes": 0}
    engine = engine_of(load_settings(None, flags, env={}).settings, FakeSandbox())
    assert engine._results is None
    assert engine._shop.compilers is None
    assert engine._shop.artifacts._disk is None
    await engine.close()
