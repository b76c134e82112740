"""Occupancy: how busy stacks without byte counters show a port: by utilisation, queue or delay.

- A switch reports its own utilisation; of a stretch the smallest counts.
- A queue keeps its port sending for as long as it takes to drain, and so does the time that a
  packet waited. A slot of a stretch counts where a packet in it met a queue of at least two slots:
  such slots that follow each other leave no gap, so that the port was busy at least so long.
- A stack that names a port and tells none of these leaves open how full it was: it is bare.
"""

import polars as pl

from pipeline.health.place import Places
from pipeline.health.tally import FIRST, first_frame
from pipeline.unit import BITS, SECOND

SLOTS = 32
"""Slots of a stretch."""
FEW_SAMPLES = 4
"""Reports of utilisation in a stretch from which they count."""
MOST = 1.25
"""Utilisation that no port has; what is larger was scaled otherwise."""
BY_UTILISATION, BY_QUEUE, BARE = "int_utilization", "int_queue", "none"
COUNTERS = ("tx_bytes", "ts_ns")
"""What makes all else of a stack needless here."""
TOLD = ("utilization", "qlen_bytes", "latency_ns")
OCCUPANCY = {"used": "min", "used_n": "sum", "busy": "bitwise_or", "bare_n": "sum",
             **dict.fromkeys(FIRST, "first")}  # fmt: skip
"""What is kept of a port in a stretch, and how parts of it are joined."""


def occupancy(rows: pl.DataFrame, places: Places, bin_ns: int) -> list[pl.DataFrame]:
    """Partial stretches of a batch with its `bin`, a hop each."""
    parts = []
    for node in [name for name in rows.columns if name.endswith("_node") and name[0] == "h"]:
        hop = node.removesuffix("_node")
        if f"{hop}_port" not in rows.columns:
            continue
        names = [each for name in (*COUNTERS, *TOLD) if (each := f"{hop}_{name}") in rows.columns]
        lacking = [pl.col(f"{hop}_{name}").is_null() for name in COUNTERS
                   if f"{hop}_{name}" in names]  # fmt: skip
        bare = pl.any_horizontal(lacking) if len(lacking) == len(COUNTERS) else pl.lit(value=True)
        seen = rows.select("bin", "time_ns", "source", "frame", node, f"{hop}_port", *names)
        seen = seen.filter(pl.col(node).is_not_null() & bare)
        if seen.is_empty():
            continue
        values = [
            (pl.col(f"{hop}_{name}") if f"{hop}_{name}" in rows.columns else pl.lit(None))
            .cast(pl.Float64)
            .alias(name)
            for name in TOLD
        ]
        own = (pl.col(node).alias("node"), pl.col(f"{hop}_port").alias("number"))
        seen = seen.select("bin", "time_ns", "source", "frame", *own, *values)
        named = with_base(seen.join(places.numbers, on=["node", "number"], how="inner"), places)
        if named.height:
            parts.append(of_stretches(named, bin_ns))
    return parts


def with_base(rows: pl.DataFrame, places: Places) -> pl.DataFrame:
    """The rows with base_ns, what a packet takes without a queue; null where nobody knows it."""
    if places.topology is None:
        return rows.with_columns(pl.lit(None, pl.Int64).alias("base_ns"))
    known = places.topology.base_delays.rename({"port": "number"})
    return rows.join(known, on=["node", "number"], how="left", maintain_order="left")


def of_stretches(rows: pl.DataFrame, bin_ns: int) -> pl.DataFrame:
    """The stretches of ports that rows of one hop tell of."""
    slot_ns = bin_ns / SLOTS
    drained = pl.col("qlen_bytes") * (BITS * SECOND) / pl.col("bps")
    waits = pl.max_horizontal(drained, pl.col("latency_ns") - pl.col("base_ns")) >= 2 * slot_ns
    slot = ((pl.col("time_ns") - pl.col("bin") * bin_ns) * SLOTS // bin_ns).clip(0, SLOTS - 1)
    used = pl.when(pl.col("utilization").is_between(0, MOST)).then("utilization")
    waited = pl.col("latency_ns").is_not_null() & pl.col("base_ns").is_not_null()
    told = used.is_not_null() | pl.col("qlen_bytes").is_not_null() | waited
    bit = (pl.lit(2.0) ** slot).cast(pl.UInt32)
    return rows.group_by("bin", "port", maintain_order=True).agg(
        used.min().alias("used"),
        used.count().cast(pl.Int64).alias("used_n"),
        bit.filter(waits.fill_null(value=False)).bitwise_or().fill_null(0).alias("busy"),
        (~told).sum().cast(pl.Int64).alias("bare_n"),
        *first_frame(),
    )


def left(stretches: pl.DataFrame) -> pl.DataFrame:
    """What utilisation, and what queues, leave of each port at most: bin, port, free, by."""
    used = stretches.filter(pl.col("used_n") >= FEW_SAMPLES).with_columns(
        (1.0 - pl.col("used")).clip(0.0, 1.0).alias("free"), pl.lit(BY_UTILISATION).alias("by")
    )
    busy = stretches.filter(pl.col("busy") > 0).with_columns(
        (1.0 - pl.col("busy").bitwise_count_ones() / SLOTS).alias("free"),
        pl.lit(BY_QUEUE).alias("by"),
    )
    return pl.concat([used, busy]).select("bin", "port", "free", "by", *FIRST)
