"""Our managers against verl 0.9.1's, in an environment of its own: `scripts/verl-venv` makes it.

verl needs packages that the project does not, so these checks run in another interpreter: once, as
one process, and each is a test here. Without that environment they are skipped; with
VERIFIER_REQUIRE_VERL=1, as in CI, they fail.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSIDE = Path(__file__).with_name("inside.py")
CHECKS = [
    node.name
    for node in ast.parse(INSIDE.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
]


def verl_python() -> str | None:
    given = os.environ.get("VERIFIER_VERL_PYTHON")
    default = ROOT / ".venv-verl" / "bin" / "python"
    return given or (str(default) if default.exists() else None)


def cannot(reason: str) -> NoReturn:
    """A skip, or a failure where the caller said that verl has to be there."""
    if os.environ.get("VERIFIER_REQUIRE_VERL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def problems() -> dict[str, str]:
    python = verl_python()
    if python is None:
        cannot("no verl environment: scripts/verl-venv makes one (or set VERIFIER_VERL_PYTHON)")
    done = subprocess.run(
        [python, str(INSIDE)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "RAY_AUTH_MODE": "disabled",
            "TOKENIZERS_PARALLELISM": "false",
        },
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("CHECK ")]
    answers = [json.loads(line.removeprefix("CHECK ")) for line in lines]
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return {answer["name"]: answer["problem"] for answer in answers}


@pytest.mark.parametrize("name", CHECKS)
def test_in_verl(problems, name):
    if problems[name].startswith("SKIP: "):
        cannot(problems[name].removeprefix("SKIP: "))
    assert problems[name] == "", problems[name]
