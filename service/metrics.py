"""Counters of the service, for Prometheus: a table of metrics, and a registry of their own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

LATENCY_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """One line of the reference: name, kind, labels, and what it counts."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    doc: str


CERTIFICATE_END = "hopsight_tls_certificate_end_timestamp_seconds"
DATA_AHEAD = "hopsight_data_ahead_seconds"
METRICS = (
    Metric(
        "hopsight_http_requests_total",
        "counter",
        ("route", "method", "status"),
        "Requests answered, by route pattern.",
    ),
    Metric(
        "hopsight_http_request_seconds",
        "histogram",
        ("route",),
        "Time from the request's first byte to the answer's last, seconds.",
    ),
    Metric(
        "hopsight_http_requests_in_flight",
        "gauge",
        (),
        "Requests being answered now.",
    ),
    Metric(
        "hopsight_store_query_seconds",
        "histogram",
        ("query",),
        "Time that a query of the store took by its name, waiting for its turn included, seconds.",
    ),
    Metric(
        "hopsight_store_queries_total",
        "counter",
        ("query", "outcome"),
        "Queries of the store; outcome: answered, shared (of one that was on its way), failed, or"
        " refused (no turn within the wait).",
    ),
    Metric(
        "hopsight_inserted_rows_total",
        "counter",
        ("table",),
        "Rows that other processes inserted through the owner of an embedded store.",
    ),
    Metric(
        "hopsight_unknown_hop_samples_total",
        "counter",
        (),
        "Samples in those rows of hops whose ids the topology lacks; they are kept, and shown raw.",
    ),
    Metric(
        "hopsight_topology_reads_total",
        "counter",
        ("outcome",),
        "Changed topologies read while running; outcome: taken, or refused (the one before holds).",
    ),
    Metric(
        "hopsight_audit_rows_total",
        "counter",
        ("outcome",),
        "Requests for a change in the audit log; outcome: kept, failed (they are logged), or"
        " left_out (refused, beyond a few; a row behind the next one says how many).",
    ),
    Metric(
        "hopsight_alert_deliveries_total",
        "counter",
        ("receiver", "outcome"),
        "Deliveries of alerts with all their tries; outcome: delivered, failed (tried later),"
        " or forgotten (more waited than are kept).",
    ),
    Metric(
        "hopsight_jobs_total",
        "counter",
        ("kind", "outcome"),
        "Jobs that ended, analyze or replay; outcome: done, failed or cancelled.",
    ),
    Metric(
        DATA_AHEAD,
        "gauge",
        (),
        "How far the newest verdicts are ahead of the clock of the service, seconds; 0: they are"
        " not. Rules look at nothing that is more than a minute ahead.",
    ),
    Metric(
        CERTIFICATE_END,
        "gauge",
        (),
        "When the certificate of HTTPS, or the first of its chain, is valid no more, seconds since"
        " 1970; 0: none is set.",
    ),
    Metric(
        "hopsight_build_info",
        "gauge",
        ("version",),
        "Always 1; the label is the version that runs.",
    ),
)
"""Every metric of the service; the reference page is made from this table."""


class Metrics:
    """The metrics of one running application, in their own registry."""

    def __init__(self) -> None:
        """All metrics at zero."""
        disable_created_metrics()  # type: ignore[no-untyped-call] # prometheus-client has no types here
        self.registry = CollectorRegistry()
        self._counters: dict[str, Counter] = {}
        self._gauges: dict[str, Gauge] = {}
        self._histograms: dict[str, Histogram] = {}
        for metric in METRICS:
            self._register(metric)

    def _register(self, metric: Metric) -> None:
        named, labels = metric.name, metric.labels
        if metric.kind == "counter":
            self._counters[named] = Counter(named, metric.doc, labels, registry=self.registry)
        elif metric.kind == "gauge":
            self._gauges[named] = Gauge(named, metric.doc, labels, registry=self.registry)
        else:
            self._histograms[named] = Histogram(
                named, metric.doc, labels, registry=self.registry, buckets=LATENCY_BUCKETS_S
            )

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        counter = self._counters[name]
        (counter.labels(**labels) if labels else counter).inc(amount)

    def outcome(self, name: str, outcome: str) -> None:
        """Count one outcome."""
        self.count(name, outcome=outcome)

    def move(self, name: str, amount: float, **labels: str) -> None:
        """Move a gauge up or down."""
        gauge = self._gauges[name]
        (gauge.labels(**labels) if labels else gauge).inc(amount)

    def follow(self, name: str, value: Callable[[], float]) -> None:
        """Have a gauge tell what a function says whenever it is asked for."""
        self._gauges[name].set_function(value)

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Add one value to a histogram."""
        histogram = self._histograms[name]
        (histogram.labels(**labels) if labels else histogram).observe(value)

    def text(self) -> bytes:
        """Everything in the Prometheus text format."""
        return generate_latest(self.registry)
