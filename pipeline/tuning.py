"""Which settings a worker takes while it runs, and where each of them is kept.

Others are taken when it starts. Some shape the state itself (lengths of intervals, companions,
tables of flows): they hold as long as the state does, whoever takes it over.
"""

from collections.abc import Iterator
from typing import Any

from pipeline.ladder import Ladder
from pipeline.settings import PipelineSettings
from pipeline.unit import MILLISECOND

TUNED = (
    "congested_u", "standing_queue", "standing_bytes", "sampling", "disorder_us", "idle_ms",
    "lateness_ms", "copies_us", "csig_hosts",
)  # fmt: skip
SHAPES = ("interval_ms", "health_ms")
"""Settings that state goes on with as it was made; a worker with others says so."""
REFUSED = ("dctcp_dialect", "parameters", "flows", "companions", "probe_dscp")
"""Settings without which state cannot be read: a worker with others is refused."""


def taken(
    own: PipelineSettings, other: PipelineSettings
) -> tuple[PipelineSettings, frozenset[str]]:
    """Settings with those of others that are taken, and the names of those that were not."""
    made = own.model_copy(update={name: getattr(other, name) for name in TUNED})
    told, wanted = made.model_dump(), other.model_dump()
    return made, frozenset(name for name in told if told[name] != wanted[name])


def needed(left: frozenset[str]) -> Iterator[str]:
    """What settings that were not taken need, in sentences."""
    shaping = left & {*SHAPES, *REFUSED}
    for names, what in ((left - shaping, "a restart"), (shaping, "a restart with another topic")):
        if names:
            named = ", ".join(f"pipeline.{name}" for name in sorted(names))
            yield f"{named}: {'need' if len(names) > 1 else 'needs'} {what}"


def tune(worker: Any, settings: PipelineSettings) -> None:
    """Put the settings of a worker where its parts look for them."""
    tune_judging(worker, settings)
    worker.order.disorder_ns = settings.disorder_ns
    worker.order.idle_ns = settings.idle_ns
    worker.intervals.standing_queue = settings.standing_queue
    worker.intervals.standing_bytes = settings.standing_bytes
    worker.intervals.sampling = settings.sampling
    for each in (worker.copies, worker.first_sight, worker.health.pairs):
        each.within_ns = settings.copies_ns


def tune_judging(judge: Any, settings: PipelineSettings) -> None:
    """Put those settings of a worker or a meeting where they look for them that both have."""
    judge.ladder.keep_for(settings.lateness_ns)
    judge.health.may_tag = settings.csig_hosts


def resumed(worker: Any, wanted: PipelineSettings) -> list[str]:
    """Put settings into a worker or a meeting whose state was made with others; what is not taken.

    In sentences, each of which names a setting and says what to do.
    """
    held = dict(of_state(worker, wanted))
    worker.settings = wanted.model_copy(update=held)
    worker.tune(wanted)
    return [
        f"pipeline.{name} stays {told(value)}, with which the state was made, and is not"
        f" {told(getattr(wanted, name))}: begin with another topic for that"
        for name, value in held.items()
    ]


def of_state(
    worker: Any, wanted: PipelineSettings
) -> Iterator[tuple[str, float | tuple[float, ...]]]:
    """Settings by which state was made, with their values, where others are wanted."""
    ladder: Ladder = worker.ladder
    lengths_ns = wanted.lengths_ns
    if not ladder.told_ns:  # state of an older version does not say what it was told
        fresh = Ladder(lengths_ns, 0)
        fresh.reach(worker.versions.measured_ns)
        lengths_ns = fresh.lengths_ns
    found_ns = ladder.told_ns or ladder.lengths_ns
    if found_ns != lengths_ns:
        yield "interval_ms", tuple(each / MILLISECOND for each in found_ns)
    elif not ladder.told_ns:
        ladder.told_ns = wanted.lengths_ns
    if worker.health.interval_ns != wanted.health_ns:
        yield "health_ms", worker.health.interval_ns / MILLISECOND


def told(value: float | tuple[float, ...]) -> str:
    """A length or several as settings name them."""
    several = value if isinstance(value, tuple) else (value,)
    named = ", ".join(f"{each:g}" for each in several)
    return f"[{named}]" if len(several) > 1 else named
