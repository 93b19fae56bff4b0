"""The reward functions in the trainers' own hands, each in an environment of its own.

`scripts/trainer-venvs` makes the environments; a variable may name another python for each. Without
one its test is skipped; with VERIFIER_REQUIRE_TRAINERS=1, as in CI, it fails.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest

from verifier.cli.doctor import examine

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def cannot(reason, unless):
    (pytest.fail if os.environ.get(unless) == "1" else pytest.skip)(reason)


def answer_of(script, environment, variable):
    python = os.environ.get(variable) or ROOT / ".venv-trainers" / environment / "bin" / "python"
    if not Path(python).exists():
        reason = f"there is no {python}: scripts/trainer-venvs makes it (or set {variable})"
        cannot(reason, unless="VERIFIER_REQUIRE_TRAINERS")
    found = asyncio.run(examine("namespaces"))
    if found.problem:
        cannot(f"namespaces: {found.problem}", unless="VERIFIER_REQUIRE_NAMESPACES")
    done = subprocess.run(
        [python, HERE / script, *found.missing],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TOKENIZERS_PARALLELISM": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    return json.loads(line.removeprefix("ANSWER "))


@pytest.mark.namespaces
def test_a_step_of_trls_trainer():
    answer = answer_of("beyond_trl.py", "trl", "VERIFIER_TEST_TRL_PYTHON")
    assert {"completions", "prompts", "ground_truth", "log_metric"} <= set(answer["given"])
    assert answer["said"] == [1.0, 0.0, None, None]
    assert answer["advantages"] == [0.707, -0.707, 0.0, 0.0]
    assert (answer["mean"], answer["unscored"]) == (0.5, 0.5)
    assert answer["finite"]


@pytest.mark.namespaces
def test_a_task_of_verifiers():
    right, wrong, broken, dead = answer_of(
        "beyond_verifiers_v1.py", "verifiers", "VERIFIER_TEST_VERIFIERS_PYTHON"
    )
    assert right == {"rewards": {"sandbox": 1.0}, "error": ""}
    assert wrong == {"rewards": {"sandbox": 0.0}, "error": ""}
    assert broken["rewards"] == dead["rewards"] == {"sandbox": None}
    assert "INVALID_SUITE" in broken["error"]
    assert "GatewayUnavailableError" in dead["error"]


@pytest.mark.namespaces
def test_a_rubric_of_verifiers():
    right, wrong, broken, dead = answer_of(
        "beyond_rubric.py", "rubric", "VERIFIER_TEST_RUBRIC_PYTHON"
    )
    assert (right["metrics"], right["error"]) == ({"sandbox_reward": 1.0}, "")
    assert (wrong["reward"], wrong["error"]) == (0.0, "")
    assert (broken["error"], broken["retried"]) == ("Error", False)
    assert (dead["error"], dead["retried"]) == ("SandboxError", True)


@pytest.mark.namespaces
def test_a_rollout_of_openrlhfs_executor():
    right, wrong, called, broken = answer_of(
        "beyond_openrlhf.py", "trl", "VERIFIER_TEST_OPENRLHF_PYTHON"
    )
    assert right == called == {"reward": [1.0], "scores": [1.0], "acc": [1.0]}
    assert wrong == {"reward": [0.0], "scores": [0.0], "acc": [0.0]}
    assert broken == {"reward": None, "scores": None, "acc": None}
