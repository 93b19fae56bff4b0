"""Workers are spread over the nodes, and a node that is lost while they score costs no sample."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from tests import ray_nodes

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    """What two_nodes.py saw."""
    with tempfile.TemporaryDirectory(prefix="ray") as place:
        done = subprocess.run(
            [sys.executable, str(HERE / "two_nodes.py")],
            cwd=tmp_path_factory.mktemp("two_nodes"),
            env=ray_nodes.environment(place, HERE.parent / "rewards", HERE),
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
    said = ray_nodes.answer(done.stdout.splitlines())
    assert said, done.stdout[-2000:] + done.stderr[-4000:]
    return said


@pytest.mark.timeout(300)
@pytest.mark.parametrize("loop", ["roomy", "full"])
def test_samples_of_a_lost_node_are_scored_once_more(answer, loop):
    scores, nodes = answer[loop]["during"]
    assert scores == [1.0] * 4
    (here,) = set(nodes)
    assert here != answer["lost"]
    calls = Counter(tuple(line.split()) for line in answer[loop]["calls"])
    # Once where they were scored; those of one worker also on the node that was lost before.
    assert {sample: calls.pop((sample, here)) for sample in "abcd"} == dict.fromkeys("abcd", 1)
    lost = "".join(sorted(sample for sample, node in calls if node == answer["lost"]))
    assert lost in {"a", "b", "ab", "c", "d", "cd"}
    assert set(calls.values()) == {1}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("loop", ["roomy", "full"])
def test_batches_and_single_samples_go_on_after_it(answer, loop):
    scores, nodes = answer[loop]["after"]
    assert scores == [1.0] * 4
    assert set(nodes) == set(answer[loop]["during"][1])
    assert answer[loop]["single"] == 1.0
