"""The interpreter of the environment that `scripts/verl-venv` makes, and runs in it.

Without that environment its tests are skipped; with VERIFIER_REQUIRE_VERL=1, as in CI, they fail.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]


def cannot(reason: str, *, unless: str = "VERIFIER_REQUIRE_VERL") -> NoReturn:
    """A skip, or a failure where the caller said that it has to be there."""
    if os.environ.get(unless) == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def verl_python() -> str:
    """The interpreter. Skips where there is none."""
    given = os.environ.get("VERIFIER_VERL_PYTHON")
    if given:
        return given
    default = ROOT / ".venv-verl" / "bin" / "python"
    if not default.exists():
        cannot("no verl environment: scripts/verl-venv makes one (or set VERIFIER_VERL_PYTHON)")
    return str(default)


def run_in_verl(*argv: str | Path, timeout_s: float, path: Sequence[Path] = (), **env: str) -> str:
    """Run a script there, with the checkout importable; its standard output.

    Args:
        *argv: The script and its arguments.
        timeout_s: Seconds until it is given up.
        path: Folders that are importable too, before the checkout.
        **env: More environment variables.
    """
    # verl runs programs in its own process, which leave files in the current folder; torch leaves a
    # cache in the temporary one.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [verl_python(), *map(str, argv)],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, (*path, ROOT))),
                "TMPDIR": folder,
                "RAY_AUTH_MODE": "disabled",
                "RAY_raylet_start_wait_time_s": "120",  # a busy machine
                "TOKENIZERS_PARALLELISM": "false",
                **env,
            },
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
