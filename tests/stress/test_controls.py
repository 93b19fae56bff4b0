"""Each wall is what stops its attack: with that one off, the attack gets through."""

from __future__ import annotations

import inspect
import os

import pytest

from verifier.config import Settings
from verifier.engine import make_sandbox
from verifier.errors import ConfigError
from verifier.sandbox.controls import MECHANISMS, SWITCH, check
from verifier.sandbox.namespaces import NamespaceSandbox
from verifier.stress import catalogue
from verifier.stress.controls import control

CONTROLLED = [attack for attack in catalogue.load() if attack.control]
# Walls that are off at once, and the attacks that then get through.
BY_WALLS = {
    walls: [attack for attack in CONTROLLED if attack.control == walls]
    for walls in dict.fromkeys(attack.control for attack in CONTROLLED)
}
# Where two walls stand, one of them alone still holds.
DOUBLE = {name: a for a in CONTROLLED if len(a.control) > 1 for name in a.control}

pytestmark = pytest.mark.namespaces


@pytest.fixture
def allowed(monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("a control needs all walls to stand but one, which takes root")
    monkeypatch.setenv(SWITCH, "1")


@pytest.mark.parametrize("backend", ["namespaces"], indirect=True)
@pytest.mark.parametrize("walls", BY_WALLS, ids="-".join)
async def test_without_its_wall_an_attack_gets_through(backend, walls, allowed):
    held = [
        (seen.finding.key, seen.finding.printed, seen.finding.problems, seen.finding.left)
        for seen in await control(BY_WALLS[walls], walls)
        if not seen.succeeded or not (seen.finding.problems or seen.finding.left)
    ]
    assert held == []


@pytest.mark.parametrize("backend", ["namespaces"], indirect=True)
@pytest.mark.parametrize("wall", DOUBLE)
async def test_one_wall_of_two_is_enough(backend, wall, allowed):
    (seen,) = await control([DOUBLE[wall]], [wall])
    assert not seen.succeeded
    assert seen.finding.left == ()


def test_a_control_needs_the_environment_to_allow_it(monkeypatch):
    monkeypatch.delenv(SWITCH, raising=False)
    with pytest.raises(ConfigError, match="only for control runs"):
        NamespaceSandbox(_control_without=["seccomp"])
    monkeypatch.setenv(SWITCH, "1")
    with pytest.raises(ConfigError, match="no mechanism everything"):
        NamespaceSandbox(_control_without=["everything"])
    assert check(()) == frozenset()


def test_no_setting_and_no_factory_reaches_it(monkeypatch):
    monkeypatch.setenv(SWITCH, "1")
    assert not any("control" in name or "without" in name for name in Settings.model_fields)
    parameters = inspect.signature(make_sandbox).parameters
    assert not any("control" in name or "without" in name for name in parameters)
    sandbox = make_sandbox("namespaces")
    assert sandbox._without == frozenset()
    assert MECHANISMS
