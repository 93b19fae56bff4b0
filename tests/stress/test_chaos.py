"""Faults under load, each once; `python -m benchmarks.chaos` repeats them and writes the table."""

from __future__ import annotations

import os

import pytest

from benchmarks.chaos import engine, report
from benchmarks.chaos.faults import FAULTS, one_after_the_other
from benchmarks.chaos.load import ONCE
from benchmarks.chaos.run import Pace, run
from tests.conftest import require_backend

pytestmark = [pytest.mark.timeout(320)]
root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk, lowers a group's limit")
FAKED = [] if FAULTS["clock"].missing() else ["clock"]


@pytest.fixture
def own_engine():
    """A Docker engine of the test's own: nobody else's is killed."""
    require_backend("docker")
    if reason := engine.why_not():
        pytest.skip(reason)
    with engine.PrivateEngine() as own:
        yield own


def check(row):
    assert row.ok, "\n".join(report.problems(row))
    assert row.tally.answered == row.tally.requests > 0
    assert len(row.heal_s) == row.repeats


@root
@pytest.mark.namespaces
@pytest.mark.usefixtures("namespaces")
async def test_namespaces():
    names = ["runner", "pause", "disk", "pids", "runners", "gateway", *FAKED]
    check(await run(one_after_the_other(names), "namespaces", Pace(len(names), before=6)))


@root
@pytest.mark.docker
async def test_docker(own_engine):
    names = ["container", "pause", "pids", "engine", "disk", *FAKED]
    pace = Pace(len(names), before=6)
    check(await run(one_after_the_other(names), "docker", pace, own_engine))


@pytest.mark.namespaces
@pytest.mark.usefixtures("namespaces")
async def test_control_without_retries_a_restart_of_the_gateway_loses_requests():
    """That nothing is lost elsewhere is not for want of looking."""
    row = await run(FAULTS["gateway"], "namespaces", Pace(1, before=6, cpp=False, retry=ONCE))
    assert row.tally.lost
    assert not row.ok
    assert (row.tally.wrong, row.tally.twice, row.left) == ([], [], [])
    assert report.cells(row)[4] != "0"
