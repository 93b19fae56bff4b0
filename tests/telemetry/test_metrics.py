"""What is counted, under which names, and what it costs to read."""

from __future__ import annotations

import math

import prometheus_client
import pytest
from prometheus_client.parser import text_string_to_metric_families

from verifier.scoring.unavailable import FallbackStats
from verifier.telemetry.histogram import (
    LATENCY_S,
    MEMORY_BYTES,
    PAGE_LATENCY_S,
    RUN_S,
    Histogram,
    quantile,
)
from verifier.telemetry.metrics import DECLARED, ServerMetrics, cause_of
from verifier.telemetry.scorer import SCORER_METRICS, ScorerMetrics
from verifier.telemetry.state import GatewayState
from verifier.types import (
    CaseResult,
    CompileFacts,
    Extraction,
    Outcome,
    Result,
    RunFacts,
    RunOutcome,
    Status,
    Timing,
)


def samples(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Name and labels -> value."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def value(metrics: ServerMetrics, name: str, **labels: str) -> float:
    return samples(metrics.text())[name, tuple(sorted(labels.items()))]


def result(*statuses: Status, language: str = "python", **fields) -> Result:
    cases = tuple(
        CaseResult(i, s, cpu_time_s=0.003, wall_time_s=0.03, memory_bytes=9 * 2**20)
        for i, s in enumerate(statuses)
    )
    bad = next((s for s in statuses if s is not Status.ACCEPTED), Status.ACCEPTED)
    fields.setdefault("timing", Timing(queue_s=0.15))
    return Result(
        Outcome.SCORED,
        score=0.5,
        status=bad,
        cases=cases,
        extraction=Extraction(language, 0, 1, "the only block"),
        **fields,
    )


@pytest.fixture
def metrics() -> ServerMetrics:
    state = GatewayState(
        backend="fake", ready=True, queued=3, running=2, slots_total=4, slots_idle=1, slots_busy=2
    )
    return ServerMetrics(lambda: state)


def test_all_names_are_ours_and_declared(metrics):
    metrics.request("Score", "OK", 0.01)
    metrics.result(result(Status.ACCEPTED, compile=CompileFacts(ok=True, facts=RunFacts())))
    families = list(text_string_to_metric_families(metrics.text().decode()))
    # The parser drops the suffix of a counter's name.
    there = {f.name + "_total" if f.type == "counter" else f.name: f.type for f in families}
    assert there == {name: one.kind for name, one in DECLARED.items()}
    assert all(name.startswith("verifier_") for name in there)
    for family in families:
        declared = DECLARED[family.name + "_total" * (family.type == "counter")]
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(declared.labels)


def test_the_global_registry_is_left_alone(metrics):
    metrics.result(result(Status.ACCEPTED))
    assert b"verifier_" not in prometheus_client.generate_latest()


def test_a_result_is_counted_by_case_and_once(metrics):
    right, late = Status.ACCEPTED, Status.TIME_LIMIT
    metrics.result(result(right, right, late, right))
    of = {"language": "python"}
    assert value(metrics, "verifier_cases_total", **of, status="ACCEPTED") == 3
    assert value(metrics, "verifier_cases_total", **of, status="TIME_LIMIT") == 1
    scored = {"outcome": "SCORED", "status": "TIME_LIMIT"}
    assert value(metrics, "verifier_responses_total", **scored) == 1
    accepted = {**of, "status": "ACCEPTED"}
    assert value(metrics, "verifier_run_cpu_seconds_count", **accepted) == 3
    assert value(metrics, "verifier_run_cpu_seconds_sum", **accepted) == pytest.approx(0.009)
    assert value(metrics, "verifier_run_cpu_seconds_bucket", **accepted, le="0.002") == 0
    assert value(metrics, "verifier_run_cpu_seconds_bucket", **accepted, le="0.005") == 3
    assert value(metrics, "verifier_run_wall_seconds_bucket", **accepted, le="0.02") == 0
    assert value(metrics, "verifier_run_memory_bytes_bucket", **accepted, le="16777216.0") == 3
    assert value(metrics, "verifier_queue_wait_seconds_bucket", le="0.1") == 0
    assert value(metrics, "verifier_queue_wait_seconds_bucket", le="0.2") == 1


def test_what_did_not_run_is_a_verdict_and_no_run(metrics):
    metrics.result(result(Status.NO_CODE, Status.NO_CODE, language=""))
    metrics.result(result(Status.COMPILE_ERROR, compile=CompileFacts(ok=False, facts=RunFacts())))
    metrics.result(result(Status.TIME_LIMIT, Status.SKIPPED))
    metrics.result(result(Status.ACCEPTED, cached=True))
    there = samples(metrics.text())
    counted = {
        dict(labels)["status"]: count
        for (name, labels), count in there.items()
        if name == "verifier_cases_total"
    }
    assert counted == {
        "NO_CODE": 2,
        "COMPILE_ERROR": 1,
        "TIME_LIMIT": 1,
        "SKIPPED": 1,
        "ACCEPTED": 1,
    }
    ran = {dict(k[1])["status"] for k in there if k[0] == "verifier_run_cpu_seconds_count"}
    assert ran == {"TIME_LIMIT"}
    assert value(metrics, "verifier_cache_hits_total", cache="results") == 1
    assert value(metrics, "verifier_compiles_total", language="python", result="error") == 1


def test_faults_are_told_by_cause(metrics):
    metrics.result(Result(Outcome.INFRA_ERROR, error="the runner died", fault="SlotError"))
    metrics.result(Result(Outcome.INVALID_SUITE, error="outputs: none"))
    metrics.fault(cause_of(TimeoutError()))
    assert value(metrics, "verifier_infra_faults_total", cause="slot") == 1
    assert value(metrics, "verifier_infra_faults_total", cause="timeout") == 1
    assert value(metrics, "verifier_responses_total", outcome="INVALID_SUITE", status="") == 1


def test_a_plain_run_is_in_the_histograms_and_no_judged_case(metrics):
    facts = RunFacts(exit_code=0, cpu_time_s=0.3, wall_time_s=0.4, memory_bytes=3 * 2**20)
    metrics.outcome(RunOutcome(Status.ACCEPTED, facts), "cpp")
    of = {"language": "cpp", "status": "ACCEPTED"}
    assert value(metrics, "verifier_run_cpu_seconds_bucket", **of, le="0.25") == 0
    assert value(metrics, "verifier_run_cpu_seconds_bucket", **of, le="0.5") == 1
    assert not [k for k in samples(metrics.text()) if k[0] == "verifier_cases_total"]


def test_state_is_asked_for_at_each_scrape():
    states = iter([GatewayState(queued=0), GatewayState(queued=7, slots_total=4, slots_idle=3)])
    metrics = ServerMetrics(lambda: next(states))
    assert value(metrics, "verifier_queue_requests") == 0
    there = samples(metrics.text())
    assert there["verifier_queue_requests", ()] == 7
    assert there["verifier_slots", (("state", "replacing"),)] == 1


@pytest.mark.parametrize("bounds", [RUN_S, MEMORY_BYTES, LATENCY_S, PAGE_LATENCY_S])
def test_bounds_are_in_order_and_a_value_on_one_belongs_below_it(bounds):
    assert list(bounds) == sorted(set(bounds))
    histogram = Histogram(bounds)
    for bound in (*bounds, bounds[-1] * 2):
        histogram.observe(bound)
    assert histogram.counts == [1] * (len(bounds) + 1)
    assert [count for _, count in histogram.cumulative()] == list(range(1, len(bounds) + 2))
    assert histogram.cumulative()[-1][0] == "+Inf"


def test_quantiles_lie_where_the_values_do():
    values = [0.0005 * 1.1**n for n in range(100)]
    histogram = Histogram(PAGE_LATENCY_S)
    for one in values:
        histogram.observe(one)
    for share in (0.5, 0.9, 0.99):
        exact = values[math.ceil(share * 100) - 1]
        found = quantile(share, PAGE_LATENCY_S, histogram.counts)
        assert found == pytest.approx(exact, rel=0.25)
    assert quantile(0.5, PAGE_LATENCY_S, [0] * 31) is None
    assert quantile(0.5, (1.0, 2.0), [0, 0, 5]) == 2.0


def test_a_trainer_may_have_its_scorers_counts():
    stats = FallbackStats()
    metrics = ScorerMetrics(stats.snapshot)
    stats.count("served", 5)
    stats.count("fallback", 2, reason="GatewayUnavailableError")
    there = samples(prometheus_client.generate_latest(metrics.registry))
    assert there["verifier_scorer_samples_total", (("scored_by", "gateway"),)] == 5
    assert there["verifier_scorer_samples_total", (("scored_by", "fallback"),)] == 2
    assert there["verifier_fallbacks_total", (("reason", "GatewayUnavailableError"),)] == 2
    assert {f.name + "_total" for f in metrics.describe()} == set(SCORER_METRICS)
