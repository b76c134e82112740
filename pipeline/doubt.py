"""What cannot be true of the telemetry behind a verdict: flags by name, when, and in words."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from collector import arrow, at_once
from pipeline.agreement import DIFFER
from pipeline.groups import HOP
from pipeline.locate import KEY
from pipeline.reserved import LOCATOR, PLACE, UNTOLD
from pipeline.signals import SOURCES
from pipeline.topology import Topology
from pipeline.unit import BITS, SECOND

FINER, FINER_AECN = "interval_finer_than_csig", "interval_finer_than_aecn"
TOO_FINE = (FINER, FINER_AECN)
"""Flags of verdicts that are finer than what fed them."""
IN_PART = "hop_load_in_part"
"""Flag of a load that is a bound."""
ESTIMATED, UNSEEN = "marks_estimated", "ecn_form_unknown"
"""Flags of how marks were told (`ecn_echo` of flow_intervals)."""
UNSCALED = "window_scale_unknown"
"""Flag of a calm verdict on a flow that its receiver's window may hold back."""
MOST_RATE = 3.0
"""What no port sends, as a share of its capacity: more than a packet on the wrong side of the
shortest time between two records makes of it."""
LONGEST_QUEUE_NS = float(SECOND)
"""Time to drain a queue that no port's buffer holds."""
MOST_CARRIED = 1.1
"""Share of a port's capacity that its flows send, above which a rate or the capacity is wrong."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """One flag, and how it is said."""

    name: str
    sentence: str


DOUBTS = {
    doubt.name: doubt
    for doubt in (
        Doubt("hop_not_in_topology", "the topology lacks the hop that is named"),
        Doubt(
            "locator_not_in_topology",
            "telemetry names other hops or locators that the topology lacks",
        ),
        Doubt(
            "hop_load_above_reason",
            "a load was told that no port can have: it sends more than its capacity, or its queue"
            " is longer than any buffer",
        ),
        Doubt("hop_load_below_zero", "a load below zero was told"),
        Doubt(
            "rate_above_line_rate", "the hop's flows send more than the port can: a rate or the"
            " capacity is wrong",
        ),
        Doubt("counter_backwards", "a hop's counters ran backwards"),
        Doubt(
            FINER,
            "the interval is shorter than the time over which the device measures the signal",
        ),
        Doubt(
            FINER_AECN,
            "the interval is shorter than the time over which the device takes its AECN ratio",
        ),
        Doubt(
            ESTIMATED,
            "marked bytes are estimated from Accurate ECN's count of packets, modulo 8",
        ),
        Doubt(
            UNSEEN,
            "the connection's beginning was not seen, so that what is read as ECE may be a counter",
        ),
        Doubt(
            IN_PART,
            "of the hop's load a part alone is told, or the most that telemetry can tell, so that"
            " it is at least what is said",
        ),
        Doubt(
            UNSCALED,
            "the connection's beginning was not seen, so that the scale of the receiver's window is"
            " not known: whether that window holds the flow back is not either",
        ),
        Doubt("telemetry_disagrees", "kinds of telemetry contradict each other on this hop"),
    )
}  # fmt: skip
"""Flags by their names in the column `plausibility`."""


FLAGS = {
    "hop_not_in_topology": pl.col("unknown_hop"),
    "locator_not_in_topology": pl.col("lacking") & ~pl.col("unknown_hop"),
    "hop_load_above_reason": (pl.col("rate") > MOST_RATE)
    | (pl.col("drained_ns") > LONGEST_QUEUE_NS),
    "hop_load_below_zero": pl.col("u_mean") < 0.0,
    "rate_above_line_rate": pl.col("carried") > MOST_CARRIED,
    "counter_backwards": pl.col("backwards") > 0,
    FINER: (pl.col("signal") == "csig") & (pl.col("delta_t_ns") > pl.col("interval_ns")),
    FINER_AECN: (pl.col("signal") == "aecn") & (pl.col("t_ns") > pl.col("interval_ns")),
    ESTIMATED: pl.col("ecn_echo") & 2 != 0,
    UNSEEN: pl.col("ecn_echo") & 4 != 0,
    IN_PART: pl.col("bounded").fill_null(value=False) | (pl.col("above") > 0),
    UNSCALED: pl.col("unscaled"),
    "telemetry_disagrees": pl.col("agreement") < DIFFER,
}
"""When a flag holds of a headline, with what the flow did, `lacking` (`with_lacking`), and
`unscaled` (`judgment.may_be_shut`)."""
T = (
    pl.col("source").str.split("_").list.last()
    .replace_strict({name: number for number, name in SOURCES.items()}, default=None)
    .cast(pl.Int64).alias("t")
)  # fmt: skip
"""The type of a signal that a locator came with."""
HOLDS = [when.alias(name) for name, when in FLAGS.items()]


def terms() -> list[pl.Expr]:
    """Of a load at its most what the port sends at least, and how long its queue takes to drain.

    A queue whose part of it is not told is divided by what the topology knows. Where it is not
    known which part is a queue all of it may be one.
    """
    longest_ns = pl.col("queue_most_bytes") * float(BITS * SECOND) / pl.col("capacity_bps")
    longest_ns = pl.when(pl.col("capacity_bps") > 0).then(longest_ns)
    return [
        pl.coalesce("rate_most", pl.col("u_max") - longest_ns / pl.col("base_t_ns")).alias("rate"),
        pl.coalesce(longest_ns, pl.col("u_max") * pl.col("base_t_ns")).alias("drained_ns"),
    ]


TERMS = terms()


def doubts(rows: pl.DataFrame, t_ns: float) -> pl.Series:
    """The flags of headlines; `t_ns` is the least T of their loads (`testimony.shortest_t`)."""
    told = rows.lazy().with_columns(pl.lit(t_ns).alias("base_t_ns")).with_columns(TERMS)
    bits = np.zeros(rows.height, np.uint16)
    for place, holds in enumerate(at_once(told.select(HOLDS))):
        if holds.any():
            bits |= arrow.values(holds).astype(np.uint16) << np.uint16(place)
    # There are few sets of flags beside the rows that they are said of.
    sets, number = np.unique(bits, return_inverse=True)
    said = [[name for place, name in enumerate(FLAGS) if each >> place & 1] for each in sets]
    return pl.Series("plausibility", said, pl.List(pl.String)).gather(number)


def with_lacking(
    rows: pl.DataFrame, hop_intervals: pl.DataFrame, topology: Topology | None
) -> pl.DataFrame:
    """Headlines with `lacking`, whether the flow's telemetry names what the topology lacks."""
    if topology is None:
        return rows.with_columns(pl.lit(value=False).alias("lacking"))
    told = hop_intervals[[*KEY, *HOP, "source"]].filter(pl.col("port") != UNTOLD)
    whole, known_hops = told.lazy().filter(pl.col("node") < PLACE), topology.frame[HOP].lazy()
    found = [at_once(whole.join(known_hops, on=HOP, how="anti").select(KEY))]
    raw = told[np.flatnonzero(arrow.values(told["node"]) == LOCATOR)]
    if raw.height:
        known = topology.locators.select(pl.col("t", "lm").cast(pl.Int64)).unique()
        locators = raw.select(*KEY, T, pl.col("port").cast(pl.Int64).alias("lm"))
        found.append(locators.join(known, on=["t", "lm"], how="anti")[KEY])
    unknown = pl.concat(found)
    if unknown.is_empty():
        return rows.with_columns(pl.lit(value=False).alias("lacking"))
    lacking = unknown.unique().with_columns(pl.lit(value=True).alias("lacking"))
    return rows.join(lacking, on=KEY, how="left", maintain_order="left").with_columns(
        pl.col("lacking").fill_null(value=False)
    )
