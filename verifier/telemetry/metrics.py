"""What Prometheus reads: counters and histograms of the gateway, in a registry of their own.

Facts come from what the engine answers anyway (`Result`, `RunOutcome`) and are added up in plain
dictionaries. State that exists elsewhere (the queue, the slots, the caches) is asked when
Prometheus asks, and costs nothing in between. The global registry of `prometheus_client` is never
touched: a process that embeds a gateway has metrics of its own.

Every label has a closed set of values, times the languages. Client ids are no label.
"""

from __future__ import annotations

import itertools
import platform
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from verifier._version import __version__
from verifier.telemetry.histogram import LATENCY_S, MEMORY_BYTES, RUN_S, Histogram
from verifier.telemetry.state import GatewayState
from verifier.types import CaseResult, Outcome, Result, RunOutcome, Status

__all__ = ["DECLARED", "Declared", "ServerMetrics", "cause_of"]

_V = TypeVar("_V")
_status_of = attrgetter("status")

# Nothing of the program ran in these cases.
_NOT_RUN = frozenset({Status.NO_CODE.value, Status.SKIPPED.value, Status.COMPILE_ERROR.value})


@dataclass(frozen=True, slots=True)
class Declared:
    """One metric: `name` as Prometheus shows it, without `_bucket`, `_sum` and `_count`."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str


def _table() -> Iterator[Declared]:
    yield Declared("verifier_build_info", "gauge", ("version", "backend", "python"), "1.")
    yield Declared("verifier_ready", "gauge", (), "1 while work is accepted.")
    yield Declared(
        "verifier_requests_total",
        "counter",
        ("method", "code"),
        "Requests that ended, by RPC (each one of a stream counts) or HTTP route, and by gRPC code "
        "or HTTP status.",
    )
    yield Declared(
        "verifier_request_seconds",
        "histogram",
        ("method",),
        "From the moment a request was read to its answer.",
    )
    yield Declared(
        "verifier_queue_wait_seconds",
        "histogram",
        (),
        "Time in line of the requests that were run: for a slot or a compiler.",
    )
    yield Declared("verifier_queue_requests", "gauge", (), "Requests that wait for a slot.")
    yield Declared("verifier_running_requests", "gauge", (), "Requests that have a slot.")
    yield Declared("verifier_held_requests", "gauge", (), "Requests that the gateway holds.")
    yield Declared(
        "verifier_held_requests_limit", "gauge", (), "So many are held at once (`max_queue`)."
    )
    yield Declared("verifier_held_bytes", "gauge", (), "Their bytes.")
    yield Declared(
        "verifier_held_bytes_limit", "gauge", (), "So many bytes at once (`max_queue_bytes`)."
    )
    yield Declared("verifier_slots", "gauge", ("state",), "Slots: idle, busy, replacing.")
    yield Declared("verifier_slots_replaced_total", "counter", (), "Slots closed and opened anew.")
    yield Declared("verifier_slot_faults_total", "counter", (), "Runs that a slot failed.")
    yield Declared(
        "verifier_reruns_total", "counter", (), "Wall-clock kills that were run again alone."
    )
    yield Declared(
        "verifier_responses_total",
        "counter",
        ("outcome", "status"),
        "Responses, by outcome (SCORED, INVALID_SUITE, INFRA_ERROR) and overall verdict; status is "
        "empty where there is none.",
    )
    yield Declared(
        "verifier_cases_total", "counter", ("language", "status"), "Judged cases, by verdict."
    )
    for what, unit in (("CPU", "cpu"), ("Wall-clock", "wall")):
        yield Declared(
            f"verifier_run_{unit}_seconds",
            "histogram",
            ("language", "status"),
            f"{what} time of a run. Runs answered from a cache are not in it.",
        )
    yield Declared(
        "verifier_run_memory_bytes",
        "histogram",
        ("language", "status"),
        "Peak memory of a run.",
    )
    yield Declared(
        "verifier_compiles_total",
        "counter",
        ("language", "result"),
        "Programs that had to be compiled, by result: ok, error, cached (no compiler ran).",
    )
    yield Declared(
        "verifier_compile_seconds", "histogram", ("language",), "Wall-clock time of compilers."
    )
    yield Declared(
        "verifier_cache_hits_total",
        "counter",
        ("cache",),
        "Answers from a cache: artifacts, results, suites.",
    )
    yield Declared(
        "verifier_cache_misses_total", "counter", ("cache",), "What had to be made instead."
    )
    yield Declared("verifier_suites", "gauge", (), "Suites in memory.")
    yield Declared("verifier_suite_bytes", "gauge", (), "Their cost.")
    yield Declared(
        "verifier_infra_faults_total",
        "counter",
        ("cause",),
        "Requests without a verdict for a fault of the machinery, by cause: the error's class.",
    )
    yield Declared("verifier_page_listeners", "gauge", (), "Open streams of the live page.")
    yield Declared(
        "verifier_page_listeners_dropped_total", "counter", (), "Those that read too slowly."
    )
    yield Declared(
        "verifier_log_lines_dropped_total", "counter", (), "Log lines that nobody took in time."
    )
    for name, kind, text in (
        ("virtual_memory_bytes", "gauge", "Virtual memory of the gateway's process."),
        ("resident_memory_bytes", "gauge", "Resident memory of the gateway's process."),
        ("start_time_seconds", "gauge", "When it started, since the epoch."),
        ("cpu_seconds_total", "counter", "Its CPU time, without that of programs."),
        ("open_fds", "gauge", "Its open descriptors."),
        ("max_fds", "gauge", "So many it may have."),
    ):
        yield Declared(f"verifier_process_{name}", kind, (), text)


DECLARED = {one.name: one for one in _table()}


def cause_of(error: BaseException | str) -> str:
    """The `cause` of a fault: its class without "Error", lower case ("slot", "deadline")."""
    name = error if isinstance(error, str) else type(error).__name__
    return name.removesuffix("Error").lower() or "unknown"


class _Runs:
    """The three histograms of one language and status."""

    __slots__ = ("cpu", "memory", "wall")

    def __init__(self) -> None:
        self.cpu = Histogram(RUN_S)
        self.wall = Histogram(RUN_S)
        self.memory = Histogram(MEMORY_BYTES)


# Takes what did not run.
_NOWHERE = _Runs()


class ServerMetrics(Collector):
    """See the module. Belongs to one event loop: what records and what reads run in it.

    Args:
        state: Asked at each scrape.
        registry: In the place of one of its own.
    """

    def __init__(
        self, state: Callable[[], GatewayState], registry: CollectorRegistry | None = None
    ) -> None:
        """Everything is zero."""
        self._state = state
        self._requests: defaultdict[tuple[str, ...], int] = defaultdict(int)
        self._latency: dict[str, Histogram] = {}
        self._queue = Histogram(LATENCY_S)
        self._responses: defaultdict[tuple[str, ...], int] = defaultdict(int)
        self._cases: defaultdict[tuple[str, ...], int] = defaultdict(int)
        self._runs: dict[tuple[str, str], _Runs] = {}
        self._compiles: defaultdict[tuple[str, ...], int] = defaultdict(int)
        self._compile_s: dict[str, Histogram] = {}
        self._hits: defaultdict[str, int] = defaultdict(int)
        self._misses: defaultdict[str, int] = defaultdict(int)
        self._faults: defaultdict[str, int] = defaultdict(int)
        self.registry = CollectorRegistry() if registry is None else registry
        self.registry.register(self)
        ProcessCollector(namespace="verifier", registry=self.registry)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)

    # ------------------------------------------------------------ recording

    def request(self, method: str, code: str, seconds: float) -> None:
        """A request ended."""
        self._requests[method, code] += 1
        histogram = self._latency.get(method)
        if histogram is None:
            histogram = self._latency[method] = Histogram(LATENCY_S)
        histogram.observe(seconds)

    def refused(self, method: str) -> None:
        """A call had no valid token. Its time says nothing."""
        self._requests[method, "UNAUTHENTICATED"] += 1

    def fault(self, cause: str) -> None:
        """A request had no verdict, and the machinery is at fault."""
        self._faults[cause] += 1

    def result(self, result: Result) -> None:
        """A response was scored, or could not be."""
        status = "" if result.status is None else result.status._value_
        self._responses[result.outcome._value_, status] += 1
        if result.outcome is Outcome.INFRA_ERROR:
            self.fault(cause_of(result.fault))
        language = "" if result.extraction is None else result.extraction.language
        if result.cached:
            self._hits["results"] += 1
            for case in result.cases:
                self._cases[language, case.status._value_] += 1
            return
        if result.compile is not None:
            self._compiled(language, result.compile.ok, result.compile.cached)
            if not result.compile.cached and result.timing.compile_s:
                self._compile_time(language, result.timing.compile_s)
        if result.cases and status != "NO_CODE":
            self._misses["results"] += 1
            self._queue.observe(result.timing.queue_s)
            self._judged(language, result.cases)
        else:
            self._cases[language, status] += len(result.cases)

    def outcome(self, outcome: RunOutcome, language: str = "") -> None:
        """A program was run, without judging."""
        facts, compiled = outcome.facts, outcome.compile
        self._queue.observe(outcome.queue_s)
        if compiled is not None:
            self._compiled(language, compiled.ok, compiled.cached)
            if not compiled.cached:
                self._compile_time(language, compiled.facts.wall_time_s)
        if outcome.status is not Status.COMPILE_ERROR:
            runs = self._of(language, outcome.status._value_)
            runs.cpu.observe(facts.cpu_time_s)
            runs.wall.observe(facts.wall_time_s)
            runs.memory.observe(facts.memory_bytes)

    def _judged(self, language: str, cases: tuple[CaseResult, ...]) -> None:
        # The one loop over cases: written out, it takes half of what three calls of `observe` do.
        for status, group in itertools.groupby(cases, key=_status_of):
            count, cpu_s, wall_s, memory = 0, 0.0, 0.0, 0.0
            ran = status._value_ not in _NOT_RUN
            runs = self._of(language, status._value_) if ran else _NOWHERE
            cpu_counts, wall_counts = runs.cpu.counts, runs.wall.counts
            memory_counts = runs.memory.counts
            for case in group:
                count += 1
                value = case.cpu_time_s
                cpu_counts[bisect_left(RUN_S, value)] += 1
                cpu_s += value
                value = case.wall_time_s
                wall_counts[bisect_left(RUN_S, value)] += 1
                wall_s += value
                value = case.memory_bytes
                memory_counts[bisect_left(MEMORY_BYTES, value)] += 1
                memory += value
            runs.cpu.total += cpu_s
            runs.wall.total += wall_s
            runs.memory.total += memory
            self._cases[language, status._value_] += count

    def _of(self, language: str, status: str) -> _Runs:
        runs = self._runs.get((language, status))
        if runs is None:
            runs = self._runs[language, status] = _Runs()
        return runs

    def _compiled(self, language: str, ok: bool, cached: bool) -> None:
        (self._hits if cached else self._misses)["artifacts"] += 1
        self._compiles[language, "cached" if cached else "ok" if ok else "error"] += 1

    def _compile_time(self, language: str, seconds: float) -> None:
        histogram = self._compile_s.get(language)
        if histogram is None:
            histogram = self._compile_s[language] = Histogram(LATENCY_S)
        histogram.observe(seconds)

    # ------------------------------------------------------------ reading

    def describe(self) -> Iterator[Metric]:
        """Every family without its samples, so that registering this asks nobody."""
        for one in DECLARED.values():
            if not one.name.startswith("verifier_process_"):
                yield _family(one.name)

    def collect(self) -> Iterator[Metric]:
        """For the registry."""
        state = self._state()
        samples: dict[str, Mapping[tuple[str, ...], float]] = {
            "verifier_build_info": {(__version__, state.backend, platform.python_version()): 1},
            "verifier_ready": {(): int(state.ready)},
            "verifier_queue_requests": {(): state.queued},
            "verifier_running_requests": {(): state.running},
            "verifier_held_requests": {(): state.held_requests},
            "verifier_held_requests_limit": {(): state.max_requests},
            "verifier_held_bytes": {(): state.held_bytes},
            "verifier_held_bytes_limit": {(): state.max_bytes},
            "verifier_slots": {
                ("idle",): state.slots_idle,
                ("busy",): state.slots_busy,
                ("replacing",): state.slots_replacing,
            },
            "verifier_slots_replaced_total": {(): state.slots_replaced},
            "verifier_slot_faults_total": {(): state.slot_faults},
            "verifier_reruns_total": {(): state.reruns},
            "verifier_suites": {(): state.suites},
            "verifier_suite_bytes": {(): state.suite_bytes},
            "verifier_page_listeners": {(): state.listeners},
            "verifier_page_listeners_dropped_total": {(): state.listeners_dropped},
            "verifier_log_lines_dropped_total": {(): state.log_lines_dropped},
            "verifier_requests_total": self._requests,
            "verifier_responses_total": self._responses,
            "verifier_cases_total": self._cases,
            "verifier_compiles_total": self._compiles,
            "verifier_cache_hits_total": _by_one({**self._hits, "suites": state.suite_hits}),
            "verifier_cache_misses_total": _by_one({**self._misses, "suites": state.suite_misses}),
            "verifier_infra_faults_total": _by_one(self._faults),
        }
        for name, values in samples.items():
            yield _filled(name, values)
        yield _histograms("verifier_request_seconds", _by_one(self._latency))
        yield _histograms("verifier_queue_wait_seconds", {(): self._queue})
        yield _histograms("verifier_compile_seconds", _by_one(self._compile_s))
        for part in ("cpu_seconds", "wall_seconds", "memory_bytes"):
            field = part.partition("_")[0]
            yield _histograms(
                f"verifier_run_{part}",
                {key: getattr(runs, field) for key, runs in self._runs.items()},
            )


def _by_one(given: Mapping[str, _V]) -> dict[tuple[str, ...], _V]:
    return {(key,): value for key, value in given.items()}


def _family(name: str) -> Metric:
    one = DECLARED[name]
    if one.kind == "histogram":
        return HistogramMetricFamily(name, one.help, labels=one.labels)
    return _filled(name, {})


def _filled(name: str, samples: Mapping[tuple[str, ...], float]) -> Metric:
    one = DECLARED[name]
    kind = CounterMetricFamily if one.kind == "counter" else GaugeMetricFamily
    family = kind(name, one.help, labels=one.labels)
    for labels, value in samples.items():
        family.add_metric(labels, value)
    return family


def _histograms(name: str, samples: Mapping[tuple[str, ...], Histogram]) -> Metric:
    one = DECLARED[name]
    family = HistogramMetricFamily(name, one.help, labels=one.labels)
    for labels, histogram in samples.items():
        family.add_metric(labels, buckets=histogram.cumulative(), sum_value=histogram.total)
    return family
