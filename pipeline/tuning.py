"""Which settings a worker takes while it runs, and where each of them is kept.

The others shape the state itself (lengths of intervals, companions, tables of flows): they hold for
workers that begin with empty state.
"""

from typing import Any

from pipeline.settings import PipelineSettings

TUNED = ("congested_u", "standing_queue", "standing_bytes", "sampling", "disorder_us", "idle_ms")


def tune(worker: Any, settings: PipelineSettings) -> None:
    """Put the settings of a worker where its parts look for them."""
    worker.order.disorder_ns = settings.disorder_ns
    worker.order.idle_ns = settings.idle_ns
    worker.intervals.standing_queue = settings.standing_queue
    worker.intervals.standing_bytes = settings.standing_bytes
    worker.intervals.sampling = settings.sampling
