"""Our managers against verl 0.9.1's, in an environment of its own: `scripts/verl-venv` makes it.

verl needs packages that the project does not, so these checks run in another interpreter: once, as
one process, and each is a test here.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from verl_python import cannot, run_in_verl

INSIDE = Path(__file__).with_name("inside.py")
CHECKS = [
    node.name
    for node in ast.parse(INSIDE.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
]


@pytest.fixture(scope="module")
def problems() -> dict[str, str]:
    said = run_in_verl(INSIDE, timeout_s=170)
    lines = [line for line in said.splitlines() if line.startswith("CHECK ")]
    answers = [json.loads(line.removeprefix("CHECK ")) for line in lines]
    return {answer["name"]: answer["problem"] for answer in answers}


@pytest.mark.parametrize("name", CHECKS)
def test_in_verl(problems, name):
    if problems[name].startswith("SKIP: "):
        cannot(problems[name].removeprefix("SKIP: "), unless="VERIFIER_REQUIRE_NAMESPACES")
    assert problems[name] == "", problems[name]
