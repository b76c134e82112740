"""Counters of collector, pipeline and store, as they stand when Prometheus asks for them.

Each stage counts by itself; what is asked reads these counts and adds none of its own. `STAGES` is
the table that the reference page is made from.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from collector import Accounting, Bus, Shed
from service.failure import ExitCode, Failure
from service.metrics import Metric
from service.sources import port_of

if TYPE_CHECKING:
    from pipeline import Crew, Meeting, Worker

NANO = 1e-9
EVERY = "all"
"""The partition of what is told of all of them."""
STAGES = (
    Metric(
        "hopsight_collector_frames_total",
        "counter",
        ("status",),
        "Frames by how they ended: decoded, or a reason; what was shed or dropped is among them.",
    ),
    Metric(
        "hopsight_collector_queue_ratio",
        "gauge",
        (),
        "Share of the room before the bus that is taken; 1: the next batch waits or is shed.",
    ),
    Metric(
        "hopsight_collector_shed_from",
        "gauge",
        (),
        "Of so many conversations one is passed on now; 1: all.",
    ),
    Metric(
        "hopsight_collector_spill_bytes", "gauge", (), "Bytes of batches that wait on disk now."
    ),
    Metric(
        "hopsight_collector_spill_total",
        "counter",
        ("event",),
        "What went to disk: spilled_batches, spilled_octets; spill_failed: tries that the disk"
        " refused, to write or to read; spill_damaged: files without a whole batch.",
    ),
    Metric(
        "hopsight_bus_sent_total",
        "counter",
        ("what",),
        "What was written to the bus: rows, messages, octets, and messages sent again.",
    ),
    Metric(
        "hopsight_pipeline_events_total",
        "counter",
        ("event",),
        "What a worker of a group did: messages, rows, cuts, claims, snapshots, repeated messages"
        " and cuts, fenced, tries that bus_away or store_away ended, dead letters by reason; with"
        " `meeting_` before it the same of judging several partitions together.",
    ),
    Metric(
        "hopsight_pipeline_rows_total",
        "counter",
        ("event",),
        "What became of observations and verdicts: late, too_late, copies, revised, unknown_hops,"
        " impatient (judged without partitions that were behind), and what trackers counted.",
    ),
    Metric(
        "hopsight_pipeline_partitions", "gauge", (), "Partitions that this worker has now."
    ),
    Metric(
        "hopsight_pipeline_behind_seconds",
        "gauge",
        ("partition",),
        "Time between now and the newest observation that was worked on, seconds; of partition"
        " `all` the newest interval on which all partitions were judged together.",
    ),
    Metric(
        "hopsight_pipeline_flows", "gauge", ("partition",), "Flows that are known now."
    ),
    Metric(
        "hopsight_store_kept_total",
        "counter",
        ("event",),
        "Rows that this process stored, by table (rows_TABLE), and tries that a store ended which"
        " took nothing (store_away).",
    ),
)  # fmt: skip
"""Every metric of a stage; those of the service are in `service/metrics.py`."""
KINDS = {metric.name: metric for metric in STAGES}
Families = dict[str, Any]


class Told(NamedTuple):
    """One value of a metric, with its labels in the table's order."""

    name: str
    value: float
    labels: tuple[str, ...] = ()


Reading = Callable[[], Iterator[Told]]
"""Reads the counters of one stage."""


class Stages(Collector):
    """The stages of one process; more may join while it is asked."""

    def __init__(self) -> None:
        """No stage yet."""
        self._turn = threading.Lock()
        self._readings: list[Reading] = []

    def add(self, *readings: Reading) -> None:
        """Ask these too from now on."""
        with self._turn:
            self._readings += readings

    def collect(self) -> Iterator[Any]:
        """Every metric of every stage, as it stands."""
        with self._turn:
            readings = [*self._readings]
        families: Families = {}
        for reading in readings:
            for told in reading():
                family(families, told.name).add_metric(told.labels, told.value)
        yield from families.values()

    def values(self, name: str) -> dict[tuple[str, ...], float]:
        """One metric of all stages as it stands, by its labels."""
        with self._turn:
            readings = [*self._readings]
        found: dict[tuple[str, ...], float] = defaultdict(float)
        for told in (each for reading in readings for each in reading()):
            if told.name == name:
                found[told.labels] += told.value
        return found

    def describe(self) -> list[Any]:
        """Nothing ahead: what there is shows when it is asked for."""
        return []

    def serve(self, address: str) -> Callable[[], None]:
        """Answer at HOST:PORT from now on; gives what ends that. Raises Failure."""
        port = port_of(address)
        registry = CollectorRegistry()
        registry.register(self)
        try:
            server, thread = start_http_server(
                port, address.rpartition(":")[0].strip("[]"), registry
            )
        except OSError as error:
            said = f"process.metrics: {address} cannot be listened on: {error.strerror}"
            raise Failure(ExitCode.UNAVAILABLE, said) from None

        def end() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return end


@contextmanager
def telling(address: str | None) -> Iterator[Stages]:
    """Stages of this process, told at HOST:PORT where one is given. Raises Failure."""
    stages = Stages()
    end = stages.serve(address) if address else None
    try:
        yield stages
    finally:
        if end is not None:
            end()


def family(families: Families, name: str) -> Any:
    """The family of a metric, made at its first value."""
    if name not in families:
        metric = KINDS[name]
        kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
        families[name] = kind(name, metric.doc, labels=metric.labels)
    return families[name]


def counted(name: str, counts: Callable[[], Mapping[str, float]]) -> Reading:
    """A counter whose one label is the name of what is counted."""
    return lambda: (Told(name, value, (label,)) for label, value in dict(counts()).items())


def of_frames(accounting: Accounting) -> Reading:
    """How frames ended."""
    return counted("hopsight_collector_frames_total", lambda: accounting.settled)


def of_bus(bus: Bus, shed: Shed | None = None) -> Reading:
    """How full the way is, and what was shed, spilled and sent."""

    def read() -> Iterator[Told]:
        yield Told("hopsight_collector_queue_ratio", bus.fill)
        yield Told("hopsight_collector_shed_from", shed.of if shed else 1)
        spill = getattr(bus, "spill", None)
        if spill is not None:
            yield Told("hopsight_collector_spill_bytes", spill.octets)
        for event, value in dict(getattr(bus, "counts", {})).items():
            yield Told("hopsight_collector_spill_total", value, (event,))
        inner = getattr(bus, "inner", bus)
        for what, value in dict(getattr(inner, "sent", {})).items():
            yield Told("hopsight_bus_sent_total", value, (what,))

    return read


def of_worker(worker: "Worker", partition: str = "0") -> Reading:
    """What became of observations, and how far time has come."""

    def read() -> Iterator[Told]:
        for event, value in worker.counters.items():
            yield Told("hopsight_pipeline_rows_total", value, (event,))
        yield from standing(worker, partition)

    return read


def standing(worker: "Worker", partition: str) -> Iterator[Told]:
    """How far behind a worker is, and how many flows it knows."""
    if worker.order.released_ns > 0:
        behind_s = time.time() - worker.order.released_ns * NANO
        yield Told("hopsight_pipeline_behind_seconds", behind_s, (partition,))
    yield Told("hopsight_pipeline_flows", worker.flows.height, (partition,))


def of_crew(crew: "Crew") -> Reading:
    """What a worker of a group did, partition by partition where that differs."""

    def read() -> Iterator[Told]:
        parts = dict(crew.observing.parts)
        yield Told("hopsight_pipeline_partitions", len(parts))
        for event, value in crew.counters.items():
            yield Told("hopsight_pipeline_events_total", value, (event,))
        for number, part in parts.items():
            yield from standing(cast("Worker", part.kept.worker), str(number))
        for part in list(crew.meeting.parts.values()):
            yield from met(cast("Meeting", part.kept.worker))
        for event, value in crew.worked.items():
            yield Told("hopsight_pipeline_rows_total", value, (event,))

    return read


def met(meeting: "Meeting") -> Iterator[Told]:
    """How far behind what judges all partitions together is."""
    if meeting.judged_ns is not None:
        behind_s = time.time() - meeting.judged_ns * NANO
        yield Told("hopsight_pipeline_behind_seconds", behind_s, (EVERY,))


def of_sink(counts: Counter[str]) -> Reading:
    """What was stored."""
    return counted("hopsight_store_kept_total", lambda: counts)
