"""The client's half of a trace: a span around each call, and `traceparent` in its metadata.

Nothing is configured here. Where the process has loaded OpenTelemetry, its tracer is used; where
it has not, a call costs one look into `sys.modules`. The gateway's half is
`verifier.telemetry.tracing`.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

__all__ = ["call_span", "trace_metadata"]


def call_span(operation: str) -> contextlib.AbstractContextManager[object]:
    """A client's span for a block, below the one that is running."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return contextlib.nullcontext()
    span: contextlib.AbstractContextManager[object] = trace.get_tracer(
        "verifier"
    ).start_as_current_span(f"verifier.client/{operation}", kind=trace.SpanKind.CLIENT)
    return span


def trace_metadata() -> tuple[tuple[str, str], ...]:
    """`traceparent` and `tracestate` of the running span, as a call's metadata."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None or not trace.get_current_span().get_span_context().is_valid:
        return ()
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return tuple(carrier.items())
