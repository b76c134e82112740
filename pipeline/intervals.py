"""Observations and decisions summed by interval: the rows that verdicts and the store are made of.

Sums are sums of integers and the last state is that of the latest frame, so any split of the input
into batches gives the same rows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import polars as pl

from pipeline.locate import NANO
from pipeline.sender import CE
from pipeline.signals import csig_terms
from pipeline.tables import TABLES
from pipeline.topology import Topology
from pipeline.track import Tracked

FLOW_KEY = ["time_ns", "interval_ns", "flow", "point"]
HOP_KEY = [*FLOW_KEY, "node", "port", "hop_index", "source"]
KEY_COLUMNS = ("tenant", "vrf", "vni", "src_hi", "src_lo", "dst_hi", "dst_lo", "sport", "dport",
               "protocol", "conversation", "direction")  # fmt: skip
STATE = {"hpcc": ("U", "W", "Wc", "R"), "dctcp": ("alpha",)}
"""State that an interval keeps as it was at its end, by algorithm."""
UNPLACED = 255
"""Hop index of a hop whose place on the path is not told."""
PER_UNIT = round(1 / NANO)


def nano(value: pl.Expr) -> pl.Expr:
    """A hop load as an integer of 1e-9; what is not finite is null."""
    return pl.when(value.is_finite()).then((value * PER_UNIT).round().cast(pl.Int64))


def merged(parts: Iterable[pl.DataFrame], table: str, key: Sequence[str]) -> pl.DataFrame:
    """Partial rows joined by the functions that the table names, later parts over earlier ones."""
    rows = pl.concat(parts, how="diagonal_relaxed")
    columns = {c.name: c.merge for c in TABLES[table].columns if c.merge and c.name in rows.columns}
    return rows.group_by(key, maintain_order=True).agg(
        JOINS[merge](pl.col(name)).alias(name) for name, merge in columns.items()
    )


JOINS: Mapping[str, Callable[[pl.Expr], pl.Expr]] = {
    "sum": lambda values: pl.when(values.count() > 0).then(values.sum()),
    "max": lambda values: values.max(),
    "min": lambda values: values.min(),
    "any": lambda values: values.drop_nulls().first(),
    "anyLast": lambda values: values.drop_nulls().last(),
}
"""What the functions that join rows in the store do, as expressions."""


class Intervals:
    """Open intervals of all flows and hops; an interval is closed once, when time has passed it."""

    def __init__(self, interval_ns: int) -> None:
        self.interval_ns = interval_ns
        self.flow_rows = TABLES["flow_intervals"].schema.to_frame()
        self.hop_rows = TABLES["hop_intervals"].schema.to_frame()

    def add(
        self, rows: pl.DataFrame, tracked: Tracked, topology: Topology | None, base_rtt_ns: float
    ) -> None:
        """Count a batch of ordered observations and what the tracker made of them."""
        self.flow_rows = merged(
            [self.flow_rows, self._sent(rows), *self._decided(tracked.decisions)],
            "flow_intervals",
            FLOW_KEY,
        )
        terms = csig_terms(rows, topology, base_rtt_ns)
        self.hop_rows = merged(
            [self.hop_rows, *self._stacks(tracked.hop_loads), self._signals(terms)],
            "hop_intervals",
            HOP_KEY,
        )

    def close(self, before_ns: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Take out the intervals that ended by `before_ns`: (flow_intervals, hop_intervals)."""
        ended = (pl.col("time_ns") + pl.col("interval_ns")) <= before_ns
        closed = self.flow_rows.filter(ended), self.hop_rows.filter(ended)
        self.flow_rows = self.flow_rows.filter(~ended)
        self.hop_rows = self.hop_rows.filter(~ended)
        return closed

    def _bucket(self) -> list[pl.Expr]:
        """Start and length of the interval that a row falls into."""
        start = pl.col("time_ns") - pl.col("time_ns") % self.interval_ns
        return [start.alias("time_ns"), pl.lit(self.interval_ns, pl.Int64).alias("interval_ns")]

    def _sent(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What each flow sent, and the path's AECN information."""
        data = pl.col("payload_bytes") > 0
        ecn = pl.col("ecn") if "ecn" in rows.columns else pl.lit(0)
        totals = [
            pl.len().cast(pl.UInt64).alias("frames"),
            pl.col("length").cast(pl.UInt64).sum().alias("bytes"),
            pl.col("payload_bytes").cast(pl.UInt64).sum().alias("data_bytes"),
            data.sum().cast(pl.UInt64).alias("data_frames"),
            (data & (ecn == CE)).sum().cast(pl.UInt64).alias("ce_frames"),
        ]
        if "aecn_u" in rows.columns:
            told = pl.col("aecn_u").filter(data)
            totals += [
                told.count().cast(pl.UInt64).alias("aecn_samples"),
                nano(told).sum().alias("aecn_u_sum_n"),
                nano(told).max().alias("aecn_u_max_n"),
                pl.col("aecn_queue_delay")
                .filter(data)
                .cast(pl.UInt64)
                .sum()
                .alias("aecn_queue_delay_sum"),
                pl.col("aecn_congested_hops").filter(data).max().alias("aecn_congested_hops_max"),
            ]
        return rows.with_columns(self._bucket()).group_by(FLOW_KEY, maintain_order=True).agg(totals)

    def _decided(self, decisions: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """What each flow's sender decided, and the state that it was left in."""
        rows = decisions.with_columns(self._bucket())
        # Every ACK drives each of the flow's algorithms once: counts are taken from one of them.
        first = pl.col("algorithm") == pl.col("algorithm").first().over("flow", "point")
        yield (
            rows.filter(first)
            .group_by(FLOW_KEY, maintain_order=True)
            .agg(
                pl.len().cast(pl.UInt64).alias("acks"),
                pl.col("acked_bytes").cast(pl.UInt64).sum(),
                pl.col("marked_bytes").cast(pl.UInt64).sum(),
                pl.col("inflight_bytes").last(),
            )
        )
        for algorithm, names in STATE.items():
            yield (
                rows.filter(pl.col("algorithm") == algorithm)
                .group_by(FLOW_KEY, maintain_order=True)
                .agg(pl.len().cast(pl.UInt64).alias("decisions"), pl.col(names).drop_nulls().last())
            )

    def _stacks(self, loads: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """Hop loads of INT stacks, one row a hop."""
        rows = loads.with_columns(self._bucket())
        hop = 0
        while f"u{hop}" in rows.columns and f"h{hop}_node" in rows.columns:
            queue = f"h{hop}_qlen_bytes"
            names = {"node": f"h{hop}_node", "port": f"h{hop}_port"}
            there = {key: name for key, name in names.items() if name in rows.columns}
            yield (
                rows.filter(pl.col(f"u{hop}").is_not_null() & pl.col(f"h{hop}_node").is_not_null())
                .with_columns(
                    *(pl.col(name).alias(key) for key, name in there.items()),
                    *(pl.lit(0, pl.UInt32).alias(key) for key in names.keys() - there.keys()),
                    pl.lit(hop, pl.UInt8).alias("hop_index"),
                    pl.lit("int").alias("source"),
                    nano(pl.col(f"u{hop}")).alias("u"),
                    (pl.col(queue) if queue in rows.columns else pl.lit(None))
                    .cast(pl.Int64)
                    .alias("queue"),
                )
                .group_by(HOP_KEY, maintain_order=True)
                .agg(SUMS)
            )
            hop += 1

    def _signals(self, terms: pl.DataFrame) -> pl.DataFrame:
        """Terms of CSIG signals, one row a named hop and signal type."""
        return (
            terms.with_columns(
                *self._bucket(),
                pl.lit(UNPLACED, pl.UInt8).alias("hop_index"),
                nano(pl.col("u")).alias("u"),
                pl.col("queue_bytes").round().cast(pl.Int64).alias("queue"),
            )
            .group_by(HOP_KEY, maintain_order=True)
            .agg(SUMS)
        )


SUMS = [
    pl.col("u").count().cast(pl.UInt64).alias("samples"),
    pl.col("u").sum().alias("u_sum_n"),
    pl.col("u").max().alias("u_max_n"),
    pl.when(pl.col("queue").count() > 0).then(pl.col("queue").sum()).alias("queue_sum_bytes"),
    pl.col("queue").max().alias("queue_max_bytes"),
]


def flow_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """The flows of a batch as rows of the table `flows`, without their congestion control."""
    return rows.group_by("flow", maintain_order=True).agg(
        *(pl.col(name).first() for name in KEY_COLUMNS if name in rows.columns),
        pl.col("time_ns").min().alias("first_ns"),
        pl.col("time_ns").max().alias("last_ns"),
    )
