"""Observations and decisions summed by interval: the rows that verdicts and the store are made of.

Sums are sums of integers and the last state is that of the latest frame, so any split of the input
into batches gives the same rows.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from collector import TCP, arrow
from pipeline.accecn import how_marked
from pipeline.cc.hpcc import Fault
from pipeline.fallen import begun_anew
from pipeline.feedback import counted_feedback
from pipeline.first_sight import at_first_sight, at_own_time
from pipeline.gaps import OPEN, timed, with_gaps
from pipeline.groups import Word, hops
from pipeline.heaps import Heaps
from pipeline.hop_samples import hop_count, samples_of_signals, samples_of_stacks
from pipeline.hop_time import hop_times
from pipeline.load_unit import nano
from pipeline.open_rows import OpenRows
from pipeline.sender import CE
from pipeline.signals import Signals, csig_terms, placed_tags
from pipeline.standing import Standing
from pipeline.tallies import Tallies
from pipeline.told_samples import samples_of_told
from pipeline.topology import Topology
from pipeline.track import Tracked
from pipeline.windows import counted_windows

COUNTER_BACKWARDS = Fault.COUNTER_BACKWARDS.value
BUCKET = ["time_ns", "interval_ns"]
"""Start and length of an interval."""
FLOW_KEY = [*BUCKET, "flow", "point"]
HOP_KEY = [*FLOW_KEY, "node", "port", "hop_index", "source"]
INFLIGHT_RATIO = 1
"""The bit of `aecn_saturated` that speaks of the inflight ratio."""
SLICES = 32
"""Parts of an interval of which is kept whether a flow sent in them."""
STATE = {"hpcc": ("U", "W", "Wc", "R"), "dctcp": ("alpha",)}
"""State that an interval keeps as it was at its end, by algorithm."""
TELLS = pl.col("u").is_not_null() & ~pl.col("source").cast(pl.String).str.contains("_echo_")
"""Of terms of tags and reflections: that a tag tells a load."""

COUNTERS = {"seen": "time_ns", "ts": "ts_ns", "sent": "sent_ns"}
"""Of what rises in an interval the first and the last are kept: what was sent between is exact."""


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
        hops = hop_count(loads)
        loads = begun_anew(hop_times(loads, hops), hops)
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
            if topology is not None and not topology.delta_ts.is_empty():
                self.flow_rows.add(self._tagged(tags, terms))
        self.hop_rows.add(self._summed(each) for each in samples if each.height)

    def close(self, before_ns: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Take out the intervals that ended by `before_ns`: (flow_intervals, hop_intervals).

        None takes out all. Rows are in the order of their keys.
        """
        last_ns = None if before_ns is None else before_ns - self.interval_ns
        hops = self.hop_rows.close(last_ns)
        told = hops["samples"] > 0  # a count that began anew is none
        return with_gaps(self.flow_rows.close(last_ns)), hops if told.all() else hops.filter(told)

    def _bucket(self) -> list[pl.Expr]:
        """Start and length of the interval that a row falls into."""
        start = pl.col("time_ns") - pl.col("time_ns") % self.interval_ns
        return [start.alias("time_ns"), pl.lit(self.interval_ns, pl.Int64).alias("interval_ns")]

    def _heaps(
        self, rows: pl.DataFrame, names: Sequence[str], words: Sequence[str | Word] = ()
    ) -> tuple[Heaps, pl.DataFrame]:
        """Rows by interval, flow, point and more `words`, and what each heap has of some names."""
        times = arrow.values(rows["time_ns"]) // self.interval_ns
        heaps = Heaps(rows, [times, "flow", "point", *words])
        named = rows[[name for name in names if name not in BUCKET]][heaps.first]
        begun = pl.Series(BUCKET[0], times[heaps.first] * self.interval_ns)
        length = pl.Series(BUCKET[1], np.full(len(begun), self.interval_ns))
        return heaps, pl.DataFrame([begun, length, *named.get_columns()])

    def _sent(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What each flow sent, and the path's AECN information."""
        heaps, key = self._heaps(rows, FLOW_KEY)
        payload, times = rows["payload_bytes"], arrow.values(rows["time_ns"])
        data = arrow.values(payload) > 0
        marked = np.zeros_like(data)
        if "ecn" in rows.columns:
            marked = data & (arrow.values(rows["ecn"]) == CE)
        place = times % self.interval_ns * SLICES // self.interval_ns
        totals = [
            heaps.count().alias("frames"),
            heaps.total(octets(rows["length"])).alias("bytes"),
            heaps.total(octets(payload)).alias("data_bytes"),
            heaps.count(data).alias("data_frames"),
            heaps.count(marked).alias("ce_frames"),
            heaps.bits(np.uint32(1) << place.astype(np.uint32), data).alias("slices"),
        ]
        # Of a flow's own frames ACKs tell SND.NXT too.
        if "seq" in rows.columns:
            number = pl.col("seq").cast(pl.Int64)
            ends = rows.select(
                "protocol",
                timed(number, self.interval_ns).alias("seq"),
                timed(number + pl.col("payload_bytes"), self.interval_ns).alias("end"),
            )
            first, last = ends[heaps.first], ends[heaps.last]
            is_tcp = first["protocol"] == TCP
            nothing = pl.Series([None], dtype=pl.Int64)
            totals += [
                first["seq"].zip_with(is_tcp, nothing).alias("seq_first"),
                last["end"].zip_with(is_tcp, nothing).alias("seq_end"),
            ]
        sent = key.hstack(totals)
        further = self._further(rows.columns)
        return sent.hstack(heaps.told(rows, further)) if further else sent

    def _further(self, known: Sequence[str]) -> list[pl.Expr]:
        """What only some frames tell of a flow: samples, what was shed, AECN options."""
        data, totals = pl.col("payload_bytes") > 0, []
        if "sampling_rate" in known:
            told = pl.col("sampling_rate").cast(pl.Float64)
            rate = pl.coalesce(told, pl.lit(self.sampling, pl.Float64))
            totals.append(whole_frames(rate.sum(), rate.count()).alias("sampled_from"))
        elif self.sampling is not None:
            of = pl.lit(self.sampling) * pl.len()
            totals.append(whole_frames(of, pl.len()).alias("sampled_from"))
        if "shed_from" in known:
            others = pl.col("shed_from").cast(pl.UInt64) - 1
            totals.append(summed_up(others).alias("shed_frames"))
        if "aecn_u" in known:
            told = nano(pl.col("aecn_u")).filter(data)
            totals += [
                counted(told.count()).alias("aecn_samples"),
                told.sum().alias("aecn_u_sum_n"),
                told.max().alias("aecn_u_max_n"),
            ]
        if "aecn_saturated" in known:
            full = (pl.col("aecn_saturated") & INFLIGHT_RATIO) != 0
            totals.append(counted((full & data).sum()).alias("aecn_saturated"))
        if "aecn_queue_delay" in known:
            delay = pl.col("aecn_queue_delay").filter(data)
            totals.append(counted(delay.cast(pl.UInt64).sum()).alias("aecn_queue_delay_sum"))
        if "aecn_congested_hops" in known:
            hops = pl.col("aecn_congested_hops").filter(data)
            totals.append(hops.max().alias("aecn_congested_hops_max"))
        return totals

    def _reflected(self, rows: pl.DataFrame, loads: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """What came back to each flow's sender, and how much of it cannot be right."""
        for told in (counted_feedback(rows), counted_windows(rows)):
            if told.height:
                heaps, key = self._heaps(told, FLOW_KEY)
                yield key.hstack([heaps.total(each) for each in told if each.name not in FLOW_KEY])
        back = loads.filter(pl.col("faults") & COUNTER_BACKWARDS != 0)
        if back.height:
            heaps, key = self._heaps(back, FLOW_KEY)
            yield key.with_columns(heaps.count().alias("feedback_backwards"))

    def _tagged(self, tags: Signals, terms: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """Frames with a load in a tag, by when they came."""
        seen = tags.seen.filter(terms.select(TELLS).to_series()[tags.which])
        if seen.height:
            heaps, key = self._heaps(seen, FLOW_KEY)
            yield key.with_columns(heaps.count().alias("tagged_frames"))

    def _decided(self, decisions: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """What each flow's sender decided, and the state that it was left in."""
        if decisions.is_empty():
            return
        rows = decisions.with_columns(self._bucket())
        yield (
            rows.filter(pl.col("again") == 0)
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
        heaps, key = self._heaps(samples, HOP_KEY, [*hops(samples), "hop_index", "source"])
        queue = samples["queue_bytes"].cast(pl.Int64)
        totals = [
            heaps.count(samples["u_n"].is_not_null().to_numpy()).alias("samples"),
            heaps.total(samples["u_n"]).alias("u_sum_n"),
            heaps.most(samples["u_n"]).alias("u_max_n"),
            heaps.total(queue).alias("queue_sum_bytes"),
            heaps.most(queue).alias("queue_max_bytes"),
            heaps.count(samples["standing"].to_numpy()).alias("standing"),
            heaps.count(arrow.values(queue) > 0).alias("waiting"),
        ]
        if "queue_n" in samples.columns:
            totals.append(heaps.total(samples["queue_n"]).alias("queue_u_sum_n"))
        if "ts_ns" in samples.columns:
            for name, column in COUNTERS.items():
                for end, each in (("first", heaps.least), ("last", heaps.most)):
                    totals.append(each(samples[column]).alias(f"{name}_{end}_ns"))
        if "stood_n" in samples.columns:
            totals.append(heaps.total(samples["stood_n"]).alias("stood_sum_n"))
        return key.with_columns(pl.col("source").cast(pl.String)).hstack(totals)


def octets(lengths: pl.Series) -> pl.Series:
    """Lengths as what sums have room for; none where none is told."""
    return pl.Series(arrow.values(lengths).astype(np.uint64))


def summed_up(value: pl.Expr) -> pl.Expr:
    """A sum that is null where nothing is known."""
    return pl.when(value.count() > 0).then(value.sum())


def counted(value: pl.Expr) -> pl.Expr:
    """A count as its column has it."""
    return value.cast(pl.UInt64)


def whole_frames(frames: pl.Expr, told: pl.Expr) -> pl.Expr:
    """A number of frames as its column has it, null where nothing is told of any."""
    return pl.when(told > 0).then(frames.round().cast(pl.UInt64))
