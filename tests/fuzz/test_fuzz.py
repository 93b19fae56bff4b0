"""A short search of each fuzz target; `run.py` makes it a long one."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TARGETS = sorted(path.stem for path in (HERE / "targets").glob("*.py"))
# A second or so for each; packages are written to files.
RUNS = {"http_bodies": 1000, "packages": 500}
OTHER_RUNS = 3000
PUMP_BYTES = 4000


@pytest.mark.parametrize("name", TARGETS)
def test_seeds(name: str) -> None:
    """They are inputs as good as any: without the fuzzer, too."""
    module = importlib.import_module(f"tests.fuzz.targets.{name}")
    for seed in module.seeds():
        module.target(seed)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TARGETS)
def test_fuzz(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed (it has no wheel for every platform)")
    done = subprocess.run(
        [
            sys.executable,
            str(HERE / "run.py"),
            name,
            f"--runs={RUNS.get(name, OTHER_RUNS)}",
            "--seed=1",
            f"--pump={PUMP_BYTES}",
            f"--findings={tmp_path}",
        ],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    found = [path.read_bytes() for path in tmp_path.glob("*-*")]
    assert done.returncode == 0, f"{found}\n{done.stderr[-4000:]}"
