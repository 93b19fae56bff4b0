"""Our managers give what the managers of verl give, to the bit, but for what is listed.

The checks are in managers.py; they run in the environment that `scripts/verl-venv` makes.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from verl_python import ROOT, run_in_verl

pytestmark = pytest.mark.timeout(600)

INSIDE = Path(__file__).with_name("managers.py")
PAGE = ROOT / "docs" / "differences.md"
PREFIXES = ("check_", "difference_", "limit_")
NAMES = [
    node.name
    for node in ast.parse(INSIDE.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith(PREFIXES)
]


@pytest.fixture(scope="module")
def problems() -> dict[str, str]:
    said = run_in_verl(INSIDE, timeout_s=590, path=(INSIDE.parent,))
    lines = [line for line in said.splitlines() if line.startswith("CHECK ")]
    answers = [json.loads(line.removeprefix("CHECK ")) for line in lines]
    return {answer["name"]: answer["problem"] for answer in answers}


@pytest.mark.parametrize("name", NAMES)
def test_managers(problems, name):
    assert problems[name] == "", problems[name]


def test_the_page_lists_the_same_differences():
    text = PAGE.read_text()
    section = text[text.index("# Differences from verl's reward managers") :]
    listed = re.findall(r"^\*\*([a-z-]+)\.\*\*", section, re.MULTILINE)
    held = [
        name.partition("_")[2].replace("_", "-") for name in NAMES if not name.startswith("check_")
    ]
    assert listed == held
