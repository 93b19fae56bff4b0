"""Our steps from rewards to advantages against verl 0.9.1's, in its own environment."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from verl_python import run_in_verl

SCRIPT = Path(__file__).with_name("downstream.py")
CHECKS = [
    node.name
    for node in ast.parse(SCRIPT.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
]


@pytest.fixture(scope="module")
def problems() -> dict[str, str]:
    said = run_in_verl(SCRIPT, timeout_s=170)
    lines = [line for line in said.splitlines() if line.startswith("CHECK ")]
    answers = [json.loads(line.removeprefix("CHECK ")) for line in lines]
    return {answer["name"]: answer["problem"] for answer in answers}


@pytest.mark.parametrize("name", CHECKS)
def test_as_verl(problems, name):
    assert problems[name] == "", problems[name]
