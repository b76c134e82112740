"""CSIG samples as terms of hop load, each with the hop that its locator names.

u' = queue/(B*T) + rate/B: min(ABW/C) gives the rate term of the fullest port, max(PD) the queue
term of the slowest one. This mapping is hopsight's, not the draft's.
"""

import numpy as np
import polars as pl

from collector import directed
from pipeline.locate import NO_HOP
from pipeline.topology import Topology
from pipeline.unit import BITS, SECOND

ABW, UTILIZATION, DELAY = 0, 1, 2
"""CSIG signal types min(ABW), min(ABW/C) and max(PD)."""
SOURCES = {ABW: "abw", UTILIZATION: "utilization", DELAY: "delay"}
COMPACT = 1
UNTOUCHED = {COMPACT: 31, COMPACT + 1: 0xFFFFF}
"""Value of a min signal that no hop has replaced, by variant; of a max signal it is 0."""


def csig_terms(rows: pl.DataFrame, topology: Topology | None, base_rtt_ns: float) -> pl.DataFrame:
    """Terms of hop load: time_ns, flow, point, source, node, port, u, queue_bytes, capacity_bps.

    Tags on data belong to their flow, reflections on ACKs to the reverse one. A term whose unit
    needs the capacity of a port that no topology names is left out.
    """
    parts = [
        part(rows, prefix, topology, base_rtt_ns)
        for prefix in ("csig", "csig_echo")
        if f"{prefix}_variant" in rows.columns
    ]
    return pl.concat(parts) if parts else EMPTY


EMPTY = pl.DataFrame(
    schema={"time_ns": pl.Int64, "flow": pl.UInt64, "point": pl.String, "source": pl.String,
            "node": pl.UInt32, "port": pl.UInt32, "u": pl.Float64, "queue_bytes": pl.Float64}
)  # fmt: skip


def part(
    rows: pl.DataFrame, prefix: str, topology: Topology | None, base_rtt_ns: float
) -> pl.DataFrame:
    """Terms of the tags or of the reflections."""
    seen = rows.filter(
        pl.col(f"{prefix}_variant").is_not_null()
        & pl.col(f"{prefix}_low").is_not_null()
        & pl.col(f"{prefix}_t").is_in(list(SOURCES))
    )
    flow = seen["flow"] if prefix == "csig" else reverse(seen)
    names = {f"{prefix}_{end}": end for end in ("variant", "t", "s", "lm", "low", "high")}
    signal = seen.select("time_ns", flow.alias("flow"), "point", *names).rename(names)
    middle = (pl.col("low") + pl.col("high").fill_null(pl.col("low"))) * 0.5
    top = pl.col("variant").replace_strict(UNTOUCHED, return_dtype=pl.UInt32)
    untouched = pl.col("s") == pl.when(pl.col("t") == DELAY).then(0).otherwise(top)
    placed = place(
        signal.with_columns(middle.alias("value"), untouched.alias("untouched")), topology
    )
    rate = 1.0 - pl.col("value")
    spare = 1.0 - pl.col("value") / pl.col("capacity_bps")
    delay = pl.col("value") / pl.lit(pl.Series([base_rtt_ns])).first()
    term = (
        pl.when(pl.col("t") == UTILIZATION).then(rate).when(pl.col("t") == ABW).then(spare)
        .otherwise(delay)
    )  # fmt: skip
    queue = pl.when(pl.col("t") == DELAY).then(
        pl.col("value") * pl.col("capacity_bps") * (1 / (BITS * SECOND))
    )
    return placed.select(
        "time_ns",
        "flow",
        "point",
        (prefix + "_" + pl.col("t").replace_strict(SOURCES, return_dtype=pl.String)).alias(
            "source"
        ),
        "node",
        "port",
        pl.when(pl.col("untouched")).then(0.0).otherwise(term).alias("u"),
        queue.alias("queue_bytes"),
    ).drop_nulls("u")


def place(signal: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Locator metadata as a hop; what no topology names is node 0 and the raw locator as port."""
    if topology is None:
        known = signal.with_columns(
            pl.lit(None, pl.UInt32).alias("node"),
            pl.lit(None, pl.UInt32).alias("port"),
            pl.lit(None, pl.Int64).alias("capacity_bps"),
        )
    else:
        ports = (
            pl.concat(
                [
                    topology.frame.select(
                        pl.lit(variant, pl.UInt8).alias("variant"),
                        pl.col(column).alias("lm"),
                        "node",
                        "port",
                        "capacity_bps",
                    )
                    for variant, column in ((COMPACT, "csig_lm_compact"), (COMPACT + 1, "csig_lm"))
                ]
            )
            .drop_nulls("lm")
            .unique(["variant", "lm"], keep="first", maintain_order=True)
        )
        known = signal.join(ports, on=["variant", "lm"], how="left", maintain_order="left")
    raw = pl.when(pl.col("untouched")).then(pl.lit(NO_HOP)).otherwise(pl.col("lm").cast(pl.UInt32))
    found = pl.col("node").is_not_null() & ~pl.col("untouched")
    return known.with_columns(
        pl.when(found).then(pl.col("node")).otherwise(0).cast(pl.UInt32).alias("node"),
        pl.when(found).then(pl.col("port")).otherwise(raw).cast(pl.UInt32).alias("port"),
    )


def reverse(rows: pl.DataFrame) -> pl.Series:
    """The reverse flow of each row: the one whose data an ACK acknowledges."""
    flow = np.empty(rows.height, np.uint64)
    other = (1 - rows["direction"]).cast(pl.UInt8).to_numpy()
    directed(rows["conversation"].to_numpy(), other, flow)
    return pl.Series("flow", flow)
