"""The worker: observations in any order that a tap can produce, rows of the store out.

Rows wait until no earlier one can come (per-source watermarks and a window for disorder), drive
the tracker in time order, and are summed by interval; an interval that has ended is judged. Time is
always event time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from pipeline.cc.parameter import Value
from pipeline.intervals import Intervals, flow_rows, merged
from pipeline.settings import PipelineSettings
from pipeline.tables import TABLES
from pipeline.topology import Topology
from pipeline.track import Tracked, Tracker
from pipeline.unit import GIGABIT, MICROSECOND, MILLISECOND
from pipeline.verdict import verdicts

DEFAULT_RTT_NS = 10_000
"""HPCC++ T when neither topology nor settings know it."""


@dataclass(frozen=True)
class Output:
    """What the worker made of its input since the last call."""

    tables: Mapping[str, pl.DataFrame]
    tracked: Tracked | None = None


@dataclass
class Progress:
    """How far each source has come, in event time; `late` counts rows behind what was released."""

    reached: dict[str, int | None] = field(default_factory=dict)
    released_ns: int = -(1 << 62)
    late: int = 0

    @property
    def watermark_ns(self) -> int | None:
        """No source that still runs will bring an earlier row; None while one has not begun."""
        times = list(self.reached.values())
        known = [time for time in times if time is not None]
        return min(known) if known and len(known) == len(times) else None


class Worker:
    """Keeps the state of every flow it is given; see the module.

    `sources` are those that will bring rows (others may join); `parameters` change the defaults of
    the recurrences, by algorithm. ValueError names a parameter that is not accepted.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        topology: Topology | None = None,
        sources: tuple[str, ...] = (),
        parameters: Mapping[str, Mapping[str, Value]] | None = None,
    ) -> None:
        self.settings = settings
        self.topology = topology
        told = {name: dict(values) for name, values in (parameters or {}).items()}
        self.tracker = Tracker(
            told.get("hpcc", {}), {"dialect": settings.dctcp_dialect, **told.get("dctcp", {})},
            flows=settings.flows,
        )  # fmt: skip
        self.intervals = Intervals(round(settings.interval_ms * MILLISECOND))
        self.flows = TABLES["flows"].schema.to_frame()
        self.progress = Progress(dict.fromkeys(sources))
        self.waiting: list[pl.DataFrame] = []

    @property
    def base_rtt_ns(self) -> float:
        """HPCC++ T that signals without a round trip of their own are measured against."""
        if self.settings.base_rtt_us is not None:
            return self.settings.base_rtt_us * MICROSECOND
        return float(
            self.topology.base_rtt_ns
            if self.topology and self.topology.base_rtt_ns
            else DEFAULT_RTT_NS
        )

    def advance(self, rows: pl.DataFrame) -> Output:
        """Take a batch of one source, in the order of that source."""
        if rows.height:
            source = str(rows["source"][0])
            reached = self.progress.reached.get(source)
            newest = int(rows["time_ns"].cast(pl.Int64).max())  # type: ignore[arg-type]
            self.progress.reached[source] = newest if reached is None else max(newest, reached)
            self.waiting.append(rows)
        return self._release()

    def end(self, source: str) -> Output:
        """A source brings nothing more."""
        self.progress.reached.pop(source, None)
        return self._release()

    def finish(self) -> Output:
        """All sources have ended: release and judge what is left."""
        self.progress.reached.clear()
        return self._release(everything=True)

    def _release(self, *, everything: bool = False) -> Output:
        """Rows that no earlier one can precede any more go to the tracker, in order."""
        watermark = self.progress.watermark_ns
        if not self.waiting or (watermark is None and not everything):
            return self._close(everything=everything) if everything else Output({})
        rows = pl.concat(self.waiting, how="diagonal")
        self.waiting = []
        if not everything and watermark is not None:
            bound = watermark - round(self.settings.disorder_us * MICROSECOND)
            ready = pl.col("time_ns") <= bound
            held = rows.filter(~ready)
            self.waiting = [held] if held.height else []
            rows = rows.filter(ready)
        if rows.is_empty():
            return Output({})
        self.progress.late += rows.filter(pl.col("time_ns") < self.progress.released_ns).height
        rows = rows.sort("time_ns", pl.col("payload_bytes") > 0, "source", "frame")
        self.progress.released_ns = max(self.progress.released_ns, int(rows["time_ns"][-1]))
        return self._track(rows, everything=everything)

    def _track(self, rows: pl.DataFrame, *, everything: bool) -> Output:
        """Drive the state with ordered rows and sum what came of it."""
        tracked = self.tracker.advance(self._with_paths(rows))
        self.intervals.add(rows, tracked, self.topology, self.base_rtt_ns)
        controlled = tracked.decisions.group_by("flow", maintain_order=True).agg(
            # HPCC++ is only tracked where its telemetry is seen, so it outranks the marks.
            pl.col("algorithm").cast(pl.String).max().alias("cc")
        )
        self.flows = merged(
            [self.flows, flow_rows(rows).join(controlled, on="flow", how="left")],
            "flows",
            TABLES["flows"].order,
        )
        closed = self._close(everything=everything)
        return Output({**closed.tables, "observations": rows}, tracked)

    def _close(self, *, everything: bool) -> Output:
        """Judge the intervals that have ended."""
        before = 1 << 62 if everything else self.progress.released_ns
        flow_intervals, hop_intervals = self.intervals.close(before)
        if flow_intervals.is_empty():
            return Output({})
        seen = self.flows.join(flow_intervals.select("flow").unique(), on="flow", how="semi")
        judged = verdicts(seen, flow_intervals, hop_intervals, self.topology, self.settings)
        tables = {
            "flows": seen,
            "flow_intervals": flow_intervals,
            "hop_intervals": hop_intervals,
            "verdicts": judged,
        }
        return Output(tables)

    def _with_paths(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What topology and settings know of each sender's line rate and round trip."""
        known: list[pl.Expr] = []
        if self.settings.base_rtt_us is not None or (self.topology and self.topology.base_rtt_ns):
            known.append(pl.lit(round(self.base_rtt_ns), pl.Int64).alias("base_rtt_ns"))
        if self.settings.nic_gbps is not None:
            nic = pl.lit(round(self.settings.nic_gbps * GIGABIT), pl.Int64)
            known += [nic.alias("src_nic_bps"), nic.alias("dst_nic_bps")]
        elif self.topology and self.topology.hosts:
            for end in ("src", "dst"):
                words = rows.select(f"{end}_hi", f"{end}_lo").unique()
                found = [self.topology.host(*pair) for pair in words.iter_rows()]
                nics = pl.Series(
                    f"{end}_nic_bps", [host.nic_bps if host else None for host in found], pl.Int64
                )
                rows = rows.join(
                    words.with_columns(nics), on=words.columns, how="left", maintain_order="left"
                )
        return rows.with_columns(known)
