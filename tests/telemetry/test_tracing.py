"""Traces from the client through a real gateway to the cases."""

from __future__ import annotations

import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.telemetry.gateways import truth, world
from verifier.client import ScoreCall

# OpenTelemetry has one global provider in a process, for good.
EXPORTER = InMemorySpanExporter()


@pytest.fixture
def spans():
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
        trace.set_tracer_provider(provider)
    EXPORTER.clear()
    yield EXPORTER.get_finished_spans
    EXPORTER.clear()


def named(spans, name):
    return [span for span in spans() if span.name == name]


async def test_one_trace_from_the_trainer_to_each_case(spans):
    async with world(tracing=True) as gateway:
        with trace.get_tracer("trainer").start_as_current_span("step") as step:
            await gateway.score("1\n", "crash\n", request_id="r-1")
    (client,) = named(spans, "verifier.client/score")
    (request,) = named(spans, "verifier.gateway/Score")
    cases = named(spans, "verifier.case")
    assert {s.context.trace_id for s in (client, request, *cases)} == {
        step.get_span_context().trace_id
    }
    assert client.parent.span_id == step.get_span_context().span_id
    assert request.parent.span_id == client.context.span_id
    assert request.parent.is_remote
    assert request.attributes["verifier.request_id"] == "r-1"
    assert request.attributes["verifier.verdict"] == "RUNTIME_ERROR"
    assert (request.attributes["verifier.passed"], request.attributes["verifier.total"]) == (1, 2)
    assert request.attributes["rpc.code"] == "OK"
    (extract,) = named(spans, "verifier.extract")
    assert extract.attributes["verifier.language"] == "python"
    assert [c.attributes["verifier.verdict"] for c in cases] == ["ACCEPTED", "RUNTIME_ERROR"]
    assert [c.attributes["verifier.cpu_time_s"] for c in cases] == [0.012, 0.02]
    for case, wall_s in zip(cases, (0.015, 0.03), strict=True):
        assert case.parent.span_id == request.context.span_id
        assert (case.end_time - case.start_time) / 1e9 == pytest.approx(wall_s)
        assert case.attributes["verifier.placed"]
        assert case.start_time >= request.start_time
    assert cases[0].end_time <= cases[1].start_time


async def test_the_requests_of_a_stream_are_in_the_trace_of_who_opened_it(spans):
    async with world(tracing=True) as gateway:
        calls = [ScoreCall(f"```python\n{n}\n```", truth("1\n")) for n in range(3)]
        await gateway.client.score_many(calls)
    (client,) = named(spans, "verifier.client/score_many")
    requests = named(spans, "verifier.gateway/ScoreStream")
    assert [r.parent.span_id for r in requests] == [client.context.span_id] * 3


async def test_what_fails_is_marked_as_an_error(spans):
    async with world(tracing=True) as gateway:
        with pytest.raises(Exception, match="extraction_policy"):
            await gateway.score("1\n", extraction_policy="nonsense")
        await gateway.score("fault\n")
        await gateway.client.run("print(1)", language="python")
    refused, fault = named(spans, "verifier.gateway/Score")
    assert refused.attributes["rpc.code"] == "INVALID_ARGUMENT"
    assert refused.status.status_code is trace.StatusCode.ERROR
    assert refused.status.description == "RequestError"
    assert fault.status.description == "INFRA_ERROR"
    (run,) = named(spans, "verifier.run")
    assert run.attributes["verifier.verdict"] == "ACCEPTED"


async def test_a_gateway_makes_no_spans_unless_it_is_told_to(spans):
    async with world() as gateway:
        await gateway.score("1\n")
    assert {span.name for span in spans()} == {"verifier.client/score"}


def test_a_client_without_opentelemetry_does_not_load_it():
    code = (
        "import sys, verifier.client.aio, verifier.gateway\n"
        "from verifier.wire.trace import call_span, trace_metadata\n"
        "with call_span('x'): assert trace_metadata() == ()\n"
        "heavy = {'opentelemetry', 'prometheus_client', 'structlog'}\n"
        "print(sorted(heavy.intersection(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
