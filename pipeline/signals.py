"""CSIG samples as terms of hop load, each with the hop that its locator names.

u' = queue/(B*T) + rate/B: min(ABW/C) gives the rate term of the fullest port, max(PD) the queue
term of the slowest one. This mapping is hopsight's, not the draft's.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl

from collector import SCHEMA, directed
from pipeline.csig_profile import SIGNALS, VARIANTS, Csig, Locator
from pipeline.own_scale import reread
from pipeline.reserved import LOCATOR, UNTOLD
from pipeline.topology import COMPACT, EXPANDED, Topology
from pipeline.unit import BITS, SECOND
from pipeline.ways import ways

ABW, UTILIZATION, DELAY = 0, 1, 2
"""CSIG signal types min(ABW), min(ABW/C) and max(PD)."""
SOURCES = {ABW: "abw", UTILIZATION: "utilization", DELAY: "delay"}
UNTOUCHED = {COMPACT: 31, EXPANDED: 0xFFFFF}
"""Value of a min signal that no hop has replaced, by variant; of a max signal it is 0."""
FIELDS = ("variant", "t", "s", "lm", "low", "high")
LOCATED = ["variant", "t", "lm"]
"""What a locator is looked up by: its meaning may depend on the type of signal."""
ENDS = {"csig": ("src", "dst"), "csig_echo": ("dst", "src")}
"""Columns of a tag or of its reflection, and which ends of the row are the flow's."""
TERMS = {"time_ns": pl.Int64, "flow": pl.UInt64, "point": pl.String, "source": pl.String,
         "node": pl.UInt32, "port": pl.UInt32, "u": pl.Float64, "delay_ns": pl.Float64,
         "queue_bytes": pl.Float64, "least_ns": pl.Float64, "most_ns": pl.Float64,
         "capacity_bps": pl.Int64, "packet_bytes": pl.UInt32}  # fmt: skip


def placed_tags(rows: pl.DataFrame, topology: Topology | None) -> dict[str, pl.DataFrame]:
    """The signals of tags and of reflections (`ENDS`), with the hops that their locators name.

    Tags on data belong to their flow, reflections on ACKs to the reverse one.
    """
    return {
        prefix: reread(place(values(rows, prefix, topology), topology), topology)
        for prefix in ENDS
        if f"{prefix}_variant" in rows.columns
    }


def csig_terms(
    tags: Mapping[str, pl.DataFrame], topology: Topology | None, base_rtt_ns: int
) -> pl.DataFrame:
    """Terms of hop load of `placed_tags`, with the columns of `TERMS`.

    A term whose unit needs the capacity of a port that no topology names is left out.
    """
    parts = [terms_of(placed, prefix, topology, base_rtt_ns) for prefix, placed in tags.items()]
    return pl.concat([pl.DataFrame(schema=TERMS), *parts])


def terms_of(
    placed: pl.DataFrame, prefix: str, topology: Topology | None, base_rtt_ns: int
) -> pl.DataFrame:
    """Terms of the tags or of the reflections, at the time of which they tell.

    A signal that a device measures over delta_t tells of the delta_t before (5.3.2).
    """
    placed = with_base(placed, topology)
    value, capacity = pl.col("value"), pl.col("capacity_bps")
    delay = pl.when(pl.col("t") == DELAY).then((value - pl.col("base_ns")).clip(0.0))
    term = (
        pl.when(pl.col("t") == UTILIZATION)
        .then(1.0 - value)
        .when(pl.col("t") == ABW)
        .then(1.0 - value / capacity)
        .otherwise(delay / pl.lit(pl.Series([float(base_rtt_ns)])).first())
    )
    signal = pl.col("t").replace_strict(SOURCES, return_dtype=pl.String)
    slowest = topology.slowest_ns if topology else dict.fromkeys(SIGNALS, 0)
    ago = pl.col("t").replace_strict(
        {kind: slowest[name] for kind, name in SOURCES.items()}, return_dtype=pl.Int64
    )
    return (
        placed.with_columns(
            pl.col("time_ns") - ago,
            (pl.lit(f"{prefix}_") + signal).alias("source"),
            pl.when(pl.col("untouched")).then(0.0).otherwise(term).alias("u"),
            delay.alias("delay_ns"),
            (delay * capacity * (1 / (BITS * SECOND))).alias("queue_bytes"),
            *(
                pl.when(pl.col("t") == DELAY)
                .then(pl.col(told) - pl.col("base_ns"))
                .alias(f"{end}_ns")
                for end, told in (("least", "low"), ("most", "high"))
            ),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in TERMS.items())
        .drop_nulls("u")
    )


def with_base(placed: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """The signals with base_ns, what a packet takes through the port that is named without a queue.

    It is 0 where no topology knows it.
    """
    if topology is None or topology.base_delays.is_empty():
        return placed.with_columns(pl.lit(0, pl.Int64).alias("base_ns"))
    known = placed.join(
        topology.base_delays, on=["node", "port"], how="left", maintain_order="left"
    )
    return known.with_columns(pl.col("base_ns").fill_null(0))


def values(rows: pl.DataFrame, prefix: str, topology: Topology | None) -> pl.DataFrame:
    """Signals with their middle value, their flow and its ends, and whether a hop replaced them."""
    told = {f"{prefix}_{field}": field for field in FIELDS}
    left_out = [pl.lit(None, SCHEMA[name]).alias(name) for name in told if name not in rows.columns]
    seen = rows.with_columns(left_out).filter(
        pl.col(f"{prefix}_variant").is_in(list(UNTOUCHED))
        & pl.col(f"{prefix}_low").is_not_null()
        & pl.col(f"{prefix}_t").is_in(list(SOURCES))
    )
    flow = seen["flow"] if prefix == "csig" else reverse(seen)
    source, destination = ENDS[prefix]
    words = [
        pl.col(f"{own}_{half}").alias(f"{end}_{half}")
        for own, end in ((source, "src"), (destination, "dst"))
        for half in ("hi", "lo")
    ]
    # A reflection does not tell how long the packet was that it reflects.
    length = pl.col("length") if prefix == "csig" and "length" in seen.columns else pl.lit(0)
    signal = seen.select(
        "time_ns", flow.alias("flow"), "point", *words, length.alias("packet_bytes"), *told
    ).rename(told)
    middle = (pl.col("low") + pl.col("high").fill_null(pl.col("low"))) * 0.5
    return signal.with_columns(
        middle.alias("value"), untouched(topology.csig if topology else None).alias("untouched")
    )


def untouched(csig: Csig | None) -> pl.Expr:
    """Whether a tag is as its sender wrote it, so that no hop reported below the top bucket.

    That is its default locator or its initial value, as the topology tells them; the initial value
    of a min signal is the largest and of a max signal 0 where nothing is told.
    """
    top = pl.col("variant").replace_strict(UNTOUCHED, return_dtype=pl.UInt32)
    found = pl.col("s") == pl.when(pl.col("t") == DELAY).then(0).otherwise(top)
    for variant, number in VARIANTS.items():
        for kind, signal in enumerate(csig.signals if csig else ()):
            told: Locator = getattr(signal, variant)
            own = (pl.col("variant") == number) & (pl.col("t") == kind)
            if told.initial_s is not None:
                found = pl.when(own).then(pl.col("s") == told.initial_s).otherwise(found)
            if told.default_lm is not None:
                found |= own & (pl.col("lm") == told.default_lm)
    return found


def place(signal: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Signals with node, port and capacity_bps of the hop that their locator names.

    A locator that several ports share names the one that lies on the flow's way. What no topology
    names is node `LOCATOR` and the locator itself as port.
    """
    if topology is None:
        nothing = {"node": pl.UInt32, "port": pl.UInt32, "capacity_bps": pl.Int64}
        known = signal.with_columns(pl.lit(None, kind).alias(n) for n, kind in nothing.items())
    else:
        own = topology.locators.filter(pl.col("ports") == 1).drop("ports")
        known = signal.join(own, on=LOCATED, how="left", maintain_order="left")
        if own.height < topology.locators.height:
            key = ["flow", *LOCATED]
            shared = on_the_way(signal, topology)
            known = known.join(shared, on=key, how="left", maintain_order="left", suffix="_shared")
            equal = of_equals(topology)
            known = known.join(equal, on=LOCATED, how="left", maintain_order="left")
            known = known.with_columns(
                pl.coalesce("node", "node_shared").alias("node"),
                pl.coalesce("port", "port_shared").alias("port"),
                pl.coalesce("capacity_bps", "capacity_bps_shared", "bps").alias("capacity_bps"),
            )
    found = pl.col("node").is_not_null() & ~pl.col("untouched")
    raw = pl.when(pl.col("untouched")).then(pl.lit(UNTOLD)).otherwise(pl.col("lm"))
    return known.with_columns(
        pl.when(found).then("node").otherwise(LOCATOR).cast(pl.UInt32).alias("node"),
        pl.when(found).then("port").otherwise(raw).cast(pl.UInt32).alias("port"),
    )


def of_equals(topology: Topology) -> pl.DataFrame:
    """Locators whose ports all have one capacity, which is `bps`."""
    return (
        topology.locators.group_by(LOCATED)
        .agg(pl.col("capacity_bps").unique().alias("each"))
        .filter(pl.col("each").list.len() == 1)
        .select(*LOCATED, pl.col("each").list.first().alias("bps"))
    )


def on_the_way(signal: pl.DataFrame, topology: Topology) -> pl.DataFrame:
    """Ports by flow and shared locator, where just one of those that share it is on the way."""
    shared = topology.locators.filter(pl.col("ports") > 1).drop("ports")
    key = ["flow", *LOCATED]
    asked = signal.unique(key, keep="first", maintain_order=True).join(
        shared, on=LOCATED, how="inner"
    )
    crossed = ways(asked.unique("flow"), topology).select("flow", "node", "port")
    return (
        asked.join(crossed, on=["flow", "node", "port"], how="semi")
        .select(*key, "node", "port", "capacity_bps")
        .filter(pl.len().over(key) == 1)
    )


def reverse_flow(conversation: int, direction: int) -> int:
    """The reverse of one flow, from its conversation and direction."""
    flow = np.empty(1, np.uint64)
    directed(np.array([conversation], np.uint64), np.array([1 - direction], np.uint8), flow)
    return int(flow[0])


def reverse(rows: pl.DataFrame) -> pl.Series:
    """The reverse flow of each row: the one whose data an ACK acknowledges."""
    flow = np.empty(rows.height, np.uint64)
    other = (1 - rows["direction"]).cast(pl.UInt8).to_numpy()
    directed(rows["conversation"].to_numpy(), other, flow)
    return pl.Series("flow", flow)
