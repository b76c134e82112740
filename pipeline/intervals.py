"""Observations and decisions summed by interval: the rows that verdicts and the store are made of.

Sums are sums of integers and the last state is that of the latest frame, so any split of the input
into batches gives the same rows.
"""

from collections.abc import Callable, Iterable, Mapping

import polars as pl

from collector import TCP
from pipeline.accecn import how_marked
from pipeline.cc.hpcc import Fault
from pipeline.feedback import counted_feedback
from pipeline.first_sight import at_first_sight, at_own_time
from pipeline.gaps import OPEN, with_gaps
from pipeline.hop_samples import hop_count, samples_of_signals, samples_of_stacks
from pipeline.hop_time import hop_times
from pipeline.load_unit import nano
from pipeline.open_rows import OpenRows
from pipeline.sender import CE
from pipeline.signals import csig_terms, placed_tags
from pipeline.standing import Standing
from pipeline.tallies import Tallies
from pipeline.told_samples import samples_of_told
from pipeline.topology import Topology
from pipeline.track import Tracked
from pipeline.windows import counted_windows

COUNTER_BACKWARDS = Fault.COUNTER_BACKWARDS.value
FLOW_KEY = ["time_ns", "interval_ns", "flow", "point"]
HOP_KEY = [*FLOW_KEY, "node", "port", "hop_index", "source"]
INFLIGHT_RATIO = 1
"""The bit of `aecn_saturated` that speaks of the inflight ratio."""
SLICES = 32
"""Parts of an interval of which is kept whether a flow sent in them."""
STATE = {"hpcc": ("U", "W", "Wc", "R"), "dctcp": ("alpha",)}
"""State that an interval keeps as it was at its end, by algorithm."""

COUNTERS = ("seen_ns", "ts_ns", "sent_ns")
"""Of what rises in an interval the first and the last are kept: what was sent between is exact."""
ENDS: Mapping[str, Callable[[pl.Expr], pl.Expr]] = {"first": pl.Expr.min, "last": pl.Expr.max}


class Intervals:
    """Open intervals of all flows and hops; an interval is closed once, when time has passed it.

    A queue of more than `standing_queue` (in units of the base round trip at line rate) stands, or
    one of more than `standing_bytes` where that is told. Where frames do not say of how many they
    are a sample it is `sampling`; None: not known.
    """

    def __init__(
        self,
        interval_ns: int,
        base_rtt_ns: int,
        standing_queue: float,
        sampling: float | None = None,
        standing_bytes: int | None = None,
    ) -> None:
        self.tallies = Tallies(interval_ns)
        self.interval_ns = interval_ns
        self.base_rtt_ns = base_rtt_ns
        self.standing_queue = standing_queue
        self.sampling = sampling
        self.standing_bytes = standing_bytes
        self.flow_rows = OpenRows("flow_intervals", FLOW_KEY, OPEN)
        self.hop_rows = OpenRows("hop_intervals", HOP_KEY)

    @property
    def flows(self) -> pl.Series:
        """Every flow that an open interval tells of, each maybe more than once."""
        told = [*self.flow_rows.flows, *self.hop_rows.flows]
        return pl.concat([*told, self.tallies.paths.flows])

    def add(
        self,
        rows: pl.DataFrame,
        tracked: Tracked,
        topology: Topology | None,
        base_rtt_ns: int | None = None,
        known_rtt_ns: int = 0,
    ) -> None:
        """Count a batch of ordered observations and what the tracker made of them.

        `base_rtt_ns` is that of this batch, where it is another one; `known_rtt_ns` is T where it
        is known and the same of all paths, else 0.
        """
        base_rtt_ns = base_rtt_ns or self.base_rtt_ns
        standing = Standing(base_rtt_ns * self.standing_queue, self.standing_bytes)
        decided = self._decided(at_first_sight(tracked.decisions, rows))
        loads = at_own_time(tracked.hop_loads, rows)
        loads = hop_times(loads, hop_count(loads))
        rows = at_first_sight(rows, rows)
        self.flow_rows.add([self._sent(rows), *decided, *self._reflected(rows, loads)])
        tags = placed_tags(rows, topology)
        self.tallies.add(loads, rows, tags, known_rtt_ns)
        samples = [
            *samples_of_stacks(loads, standing, known_rtt_ns),
            *samples_of_told(loads, topology, base_rtt_ns, standing),
        ]
        if tags is not None:
            terms = csig_terms(tags.said, topology, base_rtt_ns)
            samples.append(samples_of_signals(tags, terms, standing))
        self.hop_rows.add(self._summed(each) for each in samples if each.height)

    def close(self, before_ns: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Take out the intervals that ended by `before_ns`: (flow_intervals, hop_intervals).

        None takes out all. Rows are in the order of their keys.
        """
        last_ns = None if before_ns is None else before_ns - self.interval_ns
        return with_gaps(self.flow_rows.close(last_ns)), self.hop_rows.close(last_ns)

    def _bucket(self) -> list[pl.Expr]:
        """Start and length of the interval that a row falls into."""
        start = pl.col("time_ns") - pl.col("time_ns") % self.interval_ns
        return [start.alias("time_ns"), pl.lit(self.interval_ns, pl.Int64).alias("interval_ns")]

    def _slice(self) -> pl.Expr:
        """The slice of its interval that a row falls into, as a bit."""
        # In `_sent` time_ns is the interval's start already.
        place = (pl.col("at_ns") - pl.col("time_ns")) * SLICES // self.interval_ns
        return (pl.lit(2.0) ** place).cast(pl.UInt32)

    def _sent(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What each flow sent, and the path's AECN information."""
        data = pl.col("payload_bytes") > 0
        marked = data & (pl.col("ecn") == CE) if "ecn" in rows.columns else pl.lit(value=False)
        totals = [
            counted(pl.len()).alias("frames"),
            counted(pl.col("length").cast(pl.UInt64).sum()).alias("bytes"),
            counted(pl.col("payload_bytes").cast(pl.UInt64).sum()).alias("data_bytes"),
            counted(data.sum()).alias("data_frames"),
            counted(marked.sum()).alias("ce_frames"),
            self._slice().filter(data).bitwise_or().fill_null(0).alias("slices"),
        ]
        # Of a flow's own frames ACKs tell SND.NXT too.
        if "seq" in rows.columns:
            number, is_tcp = pl.col("seq").cast(pl.Int64), pl.col("protocol") == TCP
            totals += [
                pl.when(is_tcp.first()).then(number.first()).alias("seq_first"),
                pl.when(is_tcp.first())
                .then((number + pl.col("payload_bytes")).last())
                .alias("seq_end"),
            ]
        if "sampling_rate" in rows.columns:
            told = pl.col("sampling_rate").cast(pl.Float64)
            rate = pl.coalesce(told, pl.lit(self.sampling, pl.Float64))
            totals.append(whole_frames(rate.sum(), rate.count()).alias("sampled_from"))
        elif self.sampling is not None:
            of = pl.lit(self.sampling) * pl.len()
            totals.append(whole_frames(of, pl.len()).alias("sampled_from"))
        if "shed_from" in rows.columns:
            others = pl.col("shed_from").cast(pl.UInt64) - 1
            totals.append(summed_up(others).alias("shed_frames"))
        if "aecn_u" in rows.columns:
            told = nano(pl.col("aecn_u")).filter(data)
            totals += [
                counted(told.count()).alias("aecn_samples"),
                told.sum().alias("aecn_u_sum_n"),
                told.max().alias("aecn_u_max_n"),
            ]
        if "aecn_saturated" in rows.columns:
            full = (pl.col("aecn_saturated") & INFLIGHT_RATIO) != 0
            totals.append(counted((full & data).sum()).alias("aecn_saturated"))
        if "aecn_queue_delay" in rows.columns:
            delay = pl.col("aecn_queue_delay").filter(data)
            totals.append(counted(delay.cast(pl.UInt64).sum()).alias("aecn_queue_delay_sum"))
        if "aecn_congested_hops" in rows.columns:
            hops = pl.col("aecn_congested_hops").filter(data)
            totals.append(hops.max().alias("aecn_congested_hops_max"))
        timed = rows.with_columns(pl.col("time_ns").alias("at_ns"))
        return (
            timed.with_columns(self._bucket()).group_by(FLOW_KEY, maintain_order=True).agg(totals)
        )

    def _reflected(self, rows: pl.DataFrame, loads: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """What came back to each flow's sender, and how much of it cannot be right."""
        for told in (counted_feedback(rows), counted_windows(rows)):
            if told.height:
                yield (
                    told.with_columns(self._bucket())
                    .group_by(FLOW_KEY, maintain_order=True)
                    .agg(pl.exclude(FLOW_KEY).sum())
                )
        back = loads.filter(pl.col("faults") & COUNTER_BACKWARDS != 0)
        if back.height:
            yield (
                back.with_columns(self._bucket())
                .group_by(FLOW_KEY, maintain_order=True)
                .agg(counted(pl.len()).alias("feedback_backwards"))
            )

    def _decided(self, decisions: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """What each flow's sender decided, and the state that it was left in."""
        if decisions.is_empty():
            return
        rows = decisions.with_columns(self._bucket())
        # An ACK makes a decision of each algorithm, one after the other; it is counted once.
        again = (pl.col("frame") == pl.col("frame").shift()) & (
            pl.col("source") == pl.col("source").shift()
        )
        yield (
            rows.filter(~again.fill_null(value=False))
            .group_by(FLOW_KEY, maintain_order=True)
            .agg(
                counted(pl.len()).alias("acks"),
                pl.col("acked_bytes", "marked_bytes").cast(pl.UInt64).sum(),
                how_marked(),
                pl.col("inflight_bytes").last(),
            )
        )
        for algorithm, names in STATE.items():
            own = rows.filter(pl.col("algorithm") == algorithm)
            if own.height:
                yield own.group_by(FLOW_KEY, maintain_order=True).agg(
                    counted(pl.len()).alias("decisions"), pl.col(names).drop_nulls().last()
                )

    def _summed(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Samples of hop load, one row an interval, point and hop."""
        queue = pl.col("queue_bytes").cast(pl.Int64)
        counters = [] if "ts_ns" not in samples.columns else [
            summed_up(pl.col("queue_n")).alias("queue_u_sum_n"),
            *(each(pl.col(name)).alias(f"{name[:-3]}_{end}_ns")
              for name in COUNTERS for end, each in ENDS.items()),
        ]  # fmt: skip
        stood = [summed_up(pl.col("stood_n")).alias("stood_sum_n")]
        return (
            samples.with_columns(pl.col("time_ns").alias("seen_ns"))
            .with_columns(self._bucket())
            .group_by(HOP_KEY, maintain_order=True)
            .agg(
                counted(pl.len()).alias("samples"),
                pl.col("u_n").sum().alias("u_sum_n"),
                pl.col("u_n").max().alias("u_max_n"),
                summed_up(queue).alias("queue_sum_bytes"),
                queue.max().alias("queue_max_bytes"),
                counted(pl.col("standing").sum()).alias("standing"),
                counted((queue > 0).sum()).alias("waiting"),
                *counters,
                *stood * ("stood_n" in samples.columns),
            )
        )


def summed_up(value: pl.Expr) -> pl.Expr:
    """A sum that is null where nothing is known."""
    return pl.when(value.count() > 0).then(value.sum())


def counted(value: pl.Expr) -> pl.Expr:
    """A count as its column has it."""
    return value.cast(pl.UInt64)


def whole_frames(frames: pl.Expr, told: pl.Expr) -> pl.Expr:
    """A number of frames as its column has it, null where nothing is told of any."""
    return pl.when(told > 0).then(frames.round().cast(pl.UInt64))
