"""The reward path end to end: a model learns from the verdicts of a real gateway, and from nothing
else."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from verifier.cli.doctor import examine

pytest.importorskip("torch", reason="the example needs the extra 'rl'")

ROOT = Path(__file__).resolve().parents[2]
STEPS = 14


@pytest.fixture(scope="module")
def curves(tmp_path_factory):
    """Mean rewards by what was learned from, of one seed; and the plot."""
    found = asyncio.run(examine("namespaces"))
    if found.problem:
        required = os.environ.get("VERIFIER_REQUIRE_NAMESPACES") == "1"
        (pytest.fail if required else pytest.skip)(f"namespaces: {found.problem}")
    out = tmp_path_factory.mktemp("policy_gradient")
    command = [sys.executable, ROOT / "examples" / "policy_gradient.py", "--out", out]
    command += ["--seeds", "0", "--steps", str(STEPS)]
    for name in found.missing:
        command += ["--accept", name]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((out / "policy_gradient.json").read_text())
    return {row["rewards"]: row["mean_reward"] for row in rows}, out / "policy_gradient.svg"


def ends(values):
    return sum(values[:3]) / 3, sum(values[-3:]) / 3


@pytest.mark.namespaces
def test_the_mean_reward_rises(curves):
    start, end = ends(curves[0]["rewards"])
    assert len(curves[0]["rewards"]) == STEPS
    assert start < 0.3
    assert end > start + 0.25


@pytest.mark.namespaces
def test_it_does_not_when_rewards_are_shuffled(curves):
    start, end = ends(curves[0]["shuffled"])
    assert start < 0.3
    assert end < start + 0.1
    # Both runs begin with the same model and the same samples.
    assert curves[0]["shuffled"][0] == curves[0]["rewards"][0]


@pytest.mark.namespaces
def test_the_plot_has_every_step_of_every_run(curves):
    lines = ET.parse(curves[1]).getroot().findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(line.get("points").split()) for line in lines] == [STEPS, STEPS]
