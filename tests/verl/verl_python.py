"""The interpreter of the environment that `scripts/verl-venv` makes, and runs in it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def verl_python() -> str:
    """The interpreter. Skips where there is none."""
    given = os.environ.get("VERIFIER_VERL_PYTHON")
    if given:
        return given
    default = ROOT / ".venv-verl" / "bin" / "python"
    if not default.exists():
        pytest.skip(
            "no verl environment: scripts/verl-venv makes one (or set VERIFIER_VERL_PYTHON)"
        )
    return str(default)


def run_in_verl(*argv: str | Path, timeout_s: float) -> str:
    """Run a script there, with the checkout importable; its standard output."""
    done = subprocess.run(
        [verl_python(), *map(str, argv)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "RAY_AUTH_MODE": "disabled",
            "TOKENIZERS_PARALLELISM": "false",
        },
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
