"""Which settings a worker takes while it runs, and where each of them is kept.

The others shape the state itself (lengths of intervals, companions, tables of flows): they hold for
workers that begin with empty state.
"""

from typing import Any

from pipeline.settings import PipelineSettings

TUNED = ("congested_u", "standing_queue", "standing_bytes", "sampling", "disorder_us", "idle_ms")


def taken(
    own: PipelineSettings, other: PipelineSettings
) -> tuple[PipelineSettings, frozenset[str]]:
    """Settings with those of others that are taken, and the names of those that were not."""
    made = own.model_copy(update={name: getattr(other, name) for name in TUNED})
    told, wanted = made.model_dump(), other.model_dump()
    return made, frozenset(name for name in told if told[name] != wanted[name])


def tune(worker: Any, settings: PipelineSettings) -> None:
    """Put the settings of a worker where its parts look for them."""
    worker.order.disorder_ns = settings.disorder_ns
    worker.order.idle_ns = settings.idle_ns
    worker.intervals.standing_queue = settings.standing_queue
    worker.intervals.standing_bytes = settings.standing_bytes
    worker.intervals.sampling = settings.sampling
