"""The open-loop load generator: when requests are due, and what a latency counts from."""

from __future__ import annotations

import itertools
import json
import random

import pytest

from benchmarks import load
from verifier.errors import OverloadedError
from verifier.types import Outcome, Result, Status


def test_arrivals_are_a_poisson_process():
    times = load.due_times(200.0, 50.0, random.Random(1))
    assert times == sorted(times)
    assert times[0] > 0
    assert times[-1] < 50
    assert 9500 < len(times) < 10_500
    gaps = [after - before for before, after in itertools.pairwise(times)]
    # Exponential: a share of 1/e of the gaps is longer than the mean.
    assert 0.35 < sum(gap > 1 / 200 for gap in gaps) / len(gaps) < 0.39


class Clock:
    """A second passes each time somebody looks."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        self.now += 1.0
        return self.now


class Client:
    """Answers at once."""

    def __init__(self, answer):
        self.answer = answer

    async def score(self, *_, **__):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


RIGHT = Result(Outcome.SCORED, score=1.0, status=Status.ACCEPTED)


async def test_a_latency_counts_from_the_moment_that_a_request_was_due(monkeypatch):
    """Each request is sent seconds late, and answered at once: the seconds are in its latency."""
    monkeypatch.setattr(load, "time", Clock())
    step = await load.hold(Client(RIGHT), [("case", 1.0)], 5.0, 3.0, random.Random(1))
    assert len(step.latency_ms) == step.arrivals > 5
    assert step.latest_ms > 5000
    assert step.at(100) >= step.latest_ms


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (OverloadedError("full"), "OverloadedError"),
        (RIGHT.replace(score=0.0, status=Status.WRONG_ANSWER), "Status.WRONG_ANSWER"),
        (Result(Outcome.INFRA_ERROR, error="gone"), "Outcome.INFRA_ERROR"),
    ],
)
async def test_what_is_no_right_score_is_an_error_and_saturates(answer, error):
    step = await load.hold(Client(answer), [("case", 1.0)], 2000.0, 0.01, random.Random(1))
    assert step.errors == {error: step.arrivals}
    assert step.saturated(60.0)
    assert step.at(99) is None
    assert f"'{error}'" in load.line(step)


def test_a_mix_names_kinds_and_shares():
    assert load.read_mix("suite=0.9,burn=0.1") == [("suite", 0.9), ("burn", 0.1)]
    assert load.read_mix("cpp") == [("cpp", 1.0)]
    for bad in ("none", "suite=0", "suite=-1"):
        with pytest.raises(ValueError, match="a kind of"):
            load.read_mix(bad)


@pytest.mark.namespaces
@pytest.mark.parametrize("backend", ["namespaces"], indirect=True)
def test_against_a_gateway(backend, tmp_path, capsys):
    out = tmp_path / "load.json"
    load.main(
        [
            *("--backend", backend, "--mix", "case=1,suite=1", "--rates", "10,20"),
            *("--seconds", "0.5", "--json", str(out)),
            *("--accept", "memory_limit,cpu_accounting,process_limit"),
        ]
    )
    found = json.loads(out.read_text())
    assert [step["rate_per_s"] for step in found["steps"]] == [10.0, 20.0]
    for step in found["steps"]:
        assert not step["errors"]
        latency = step["latency_ms"]
        assert list(latency) == ["p50", "p90", "p99", "p99.9", "p100"]
        assert list(latency.values()) == sorted(latency.values())
    assert len(capsys.readouterr().out.splitlines()) == 3
