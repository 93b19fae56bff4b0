"""A short soak: hostile and benign programs mixed, under load. The long one is in benchmarks/."""

from __future__ import annotations

import json

import pytest

from verifier.stress import catalogue
from verifier.stress.soak import ROUND, Plan, Soak

RUNS = 2 * ROUND


@pytest.mark.timeout(300)
async def test_no_survivor_and_every_benign_verdict_right(sandbox_of):
    sandbox = sandbox_of()
    try:
        await sandbox.start()
        soak = Soak(sandbox, catalogue.load(), Plan(count=RUNS, hostile_share=0.1, slots=2))
        report = await soak.run()
    finally:
        await sandbox.close()
    assert (report.wrong, report.unserved, report.left, report.leaks) == ([], [], [], [])
    assert report.faults == 0
    assert report.benign + report.hostile == RUNS
    assert report.hostile > RUNS // 20
    assert len(report.rss_bytes) == len(report.fds) == 2
    assert report.ok


def test_the_command_wants_a_time_or_a_count(capsys):
    from typer.testing import CliRunner

    from verifier.cli.app import app

    done = CliRunner().invoke(app, ["stress", "--seconds", "5", "--count", "5"])
    assert done.exit_code == 2
    assert "give one of them" in done.stderr
    done = CliRunner().invoke(app, ["stress", "--backend", "fake"])
    assert done.exit_code == 2
    assert "isolates nothing" in done.stderr


@pytest.mark.parametrize(
    "backend", [pytest.param("namespaces", marks=pytest.mark.namespaces)], indirect=True
)
def test_the_command(backend):
    from typer.testing import CliRunner

    from verifier.cli.app import app

    args = ["stress", "--count", "60", "--hostile-share", "0.2", "--slots", "1", "--json"]
    args += ["--accept", "memory_limit,cpu_accounting"]
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["benign"] + answer["hostile"] == 60
    assert answer["left"] == []
