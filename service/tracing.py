"""Traces of the service: each request and each question to the store, where they are asked for.

`process.traces` names where they go (OTLP over HTTP). Who sends them is OpenTelemetry's own
library, which comes with `pip install 'hopsight[traces]'`; its variables (`OTEL_…`) hold too.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fastapi.telemetry import TelemetryConfig
from opentelemetry.trace import NoOpTracerProvider, TracerProvider

from service.audit import told_query
from service.failure import ExitCode, Failure
from service.version import version

UNTRACED = ("/healthz", "/readyz", "/metrics", "/api/v1/events")
"""What is asked every few seconds by machines, or does not end."""
QUERY = "url.query"
"""Attribute of the span of a request (OpenTelemetry, semantic conventions for URLs)."""
END_MS = 3000
NOTHING: TracerProvider = NoOpTracerProvider()


@contextmanager
def tracing(url: str | None) -> Iterator[TracerProvider]:
    """Who takes spans; they are sent in the background, the last ones at the end.

    Raises Failure where the library is not installed.
    """
    if url is None:
        yield NOTHING
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import SpanProcessor
        from opentelemetry.sdk.trace import TracerProvider as Provider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise Failure(
            ExitCode.UNAVAILABLE,
            "process.traces: OpenTelemetry is not installed; pip install 'hopsight[traces]'",
        ) from None

    class Masked(SpanProcessor):
        """Keeps out of a query what the audit log leaves out."""

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            del parent_context
            if query := span.attributes.get(QUERY):
                span.set_attribute(QUERY, told_query(str(query)))

    resource = Resource.create({"service.name": "hopsight", "service.version": version()})
    provider = Provider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(Masked())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    try:
        yield provider
    finally:
        provider.force_flush(END_MS)
        provider.shutdown()


def told_of(provider: TracerProvider) -> TelemetryConfig:
    """What FastAPI is told: spans of requests only; counters are Prometheus's."""
    return {
        "tracer_provider": provider, "metrics": False, "logs": False, "operation_spans": False,
        "auto_configure": False, "tracing": provider is not NOTHING, "exclude": untraced,
    }  # fmt: skip


def untraced(scope: Mapping[str, Any]) -> bool:
    """Whether a request has no span."""
    return scope.get("path") in UNTRACED
