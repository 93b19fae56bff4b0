"""Reward models over real HTTP: servers, router, our client and verl's, as real processes.

The checks are in reward_models.py; they run in the environment that `scripts/verl-venv` makes,
which has transformers.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from verl_python import run_in_verl

pytestmark = pytest.mark.timeout(600)

INSIDE = Path(__file__).with_name("reward_models.py")
CHECKS = [
    node.name
    for node in ast.parse(INSIDE.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
]


@pytest.fixture(scope="module")
def problems() -> dict[str, str]:
    said = run_in_verl(INSIDE, timeout_s=590, path=(INSIDE.parent, INSIDE.parents[1] / "rewards"))
    lines = [line for line in said.splitlines() if line.startswith("CHECK ")]
    answers = [json.loads(line.removeprefix("CHECK ")) for line in lines]
    return {answer["name"]: answer["problem"] for answer in answers}


@pytest.mark.parametrize("name", CHECKS)
def test_reward_model(problems, name):
    assert problems[name] == "", problems[name]
