"""OpenTelemetry traces: client -> gateway -> extract, compile, each case.

Off unless the setting `tracing` is on; then OpenTelemetry has to be there (extra `otel`).
What happens to the spans is the SDK's business, configured as usual (`OTEL_*`, or
`opentelemetry-instrument`).

A request's span is real: it begins and ends with the request. The spans below it are made when
the answer is there, from the timings in it: the engine has no hook, and a trace must not be what
a case waits for. So their durations are exact and their order is the suite's, but where they lie
inside of the request is not known. They are laid end to end behind the time in line, and
`verifier.placed` says so; cases that ran side by side on several slots are longer together than
the request. At most 256 cases of a request have a span.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from verifier.errors import ConfigError
from verifier.types import Outcome, Result, RunOutcome

if TYPE_CHECKING:
    from verifier.telemetry.current import Incoming, Seen

__all__ = ["MAX_CASE_SPANS", "Tracing", "export_spans"]

MAX_CASE_SPANS = 256
_NS = 1_000_000_000


def export_spans() -> None:
    """Send this process' spans where `OTEL_*` say, unless it has a provider of its own already.

    Raises:
        ConfigError: The SDK or its exporter is not installed.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as exc:
        raise _missing(exc) from exc
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)


def _missing(error: ModuleNotFoundError) -> ConfigError:
    return ConfigError(f"tracing: it needs {error.name}; pip install 'sandbox-verifier[otel]'")


class Tracing:
    """Makes the gateway's spans.

    Args:
        provider: In the place of the global one.

    Raises:
        ConfigError: OpenTelemetry is not installed.
    """

    def __init__(self, provider: Any = None) -> None:
        """Nothing is traced yet."""
        try:
            from opentelemetry import trace
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ModuleNotFoundError as exc:
            raise _missing(exc) from exc
        self._trace = trace
        self._tracer = trace.get_tracer("verifier", tracer_provider=provider)
        self._propagator = TraceContextTextMapPropagator()

    def begin(self, seen: Seen, incoming: Incoming | None) -> None:
        """Open the span of a request, below the caller's where it sent one."""
        carrier = {} if incoming is None else dict(incoming.carrier)
        seen.started_ns = time.time_ns()
        seen.span = self._tracer.start_span(
            f"verifier.gateway/{seen.method}",
            context=self._propagator.extract(carrier) if carrier else None,
            kind=self._trace.SpanKind.SERVER,
            start_time=seen.started_ns,
            attributes={
                "rpc.method": seen.method,
                "verifier.request_id": seen.request_id,
                "verifier.client_id": seen.client_id,
            },
        )

    def end(self, seen: Seen, error: BaseException | None, code: str) -> None:
        """Make the spans below it, and close it."""
        span: Any = seen.span
        if span.is_recording():
            span.set_attribute("rpc.code", code)
            if isinstance(seen.answer, Result):
                self._result(span, seen, seen.answer)
            elif seen.answer is not None:
                self._outcome(span, seen, seen.answer)
            if error is not None or (
                isinstance(seen.answer, Result) and seen.answer.outcome is Outcome.INFRA_ERROR
            ):
                kind = type(error).__name__ if error is not None else Outcome.INFRA_ERROR.value
                span.set_status(self._trace.StatusCode.ERROR, kind)
        span.end()

    def _result(self, span: Any, seen: Seen, result: Result) -> None:
        status = (result.status or result.outcome).value
        span.set_attributes(
            {
                "verifier.verdict": status,
                "verifier.passed": result.passed,
                "verifier.total": result.total,
                "verifier.cached": result.cached,
                "verifier.queue_s": result.timing.queue_s,
                "verifier.cpu_time_s": result.timing.cpu_time_s,
            }
        )
        at = seen.started_ns
        if result.extraction is not None:
            found = result.extraction
            at = self._below(
                span,
                "verifier.extract",
                at,
                0.0,
                {"verifier.language": found.language, "verifier.blocks": found.block_count},
            )
        if result.cached:
            return
        at += int(result.timing.queue_s * _NS)
        if result.compile is not None:
            at = self._below(
                span,
                "verifier.compile",
                at,
                result.timing.compile_s,
                {
                    "verifier.ok": result.compile.ok,
                    "verifier.cached": result.compile.cached,
                    "verifier.cpu_time_s": result.compile.facts.cpu_time_s,
                },
            )
        for case in result.cases[:MAX_CASE_SPANS]:
            at = self._below(
                span,
                "verifier.case",
                at,
                case.wall_time_s,
                {
                    "verifier.case": case.index,
                    "verifier.verdict": case.status.value,
                    "verifier.cpu_time_s": case.cpu_time_s,
                    "verifier.memory_bytes": case.memory_bytes,
                },
            )

    def _outcome(self, span: Any, seen: Seen, outcome: RunOutcome) -> None:
        span.set_attributes(
            {
                "verifier.verdict": outcome.status.value,
                "verifier.queue_s": outcome.queue_s,
                "verifier.cpu_time_s": outcome.facts.cpu_time_s,
            }
        )
        self._below(
            span,
            "verifier.run",
            seen.started_ns + int(outcome.queue_s * _NS),
            outcome.facts.wall_time_s,
            {"verifier.verdict": outcome.status.value},
        )

    def _below(
        self, parent: Any, name: str, at: int, seconds: float, attributes: dict[str, Any]
    ) -> int:
        """A span that is over; its end, in nanoseconds since the epoch."""
        span = self._tracer.start_span(
            name,
            context=self._trace.set_span_in_context(parent),
            start_time=at,
            attributes={**attributes, "verifier.placed": True},
        )
        end = at + int(seconds * _NS)
        span.end(end)
        return end
