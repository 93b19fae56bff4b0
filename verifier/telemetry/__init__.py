"""Sight: metrics, the page's numbers, logs and traces, made of what the engine answers anyway.

Nothing below the gateway imports this: the engine hands out facts, the gateway records them.
Importing it loads neither `prometheus_client` nor OpenTelemetry nor structlog; each is loaded by
who wants it.
"""
