"""What flows send through hops, against the hops' capacities: bounds that need no telemetry.

What surely crosses a port is the least that it carries; a port that could not be full even if all
flows that may cross it did, of those that were seen, is unlikely to hold anyone back.
"""

import polars as pl

from pipeline.locate import HOP
from pipeline.topology import Topology
from pipeline.unit import BITS, SECOND

HEADERS = 1.03
"""Bytes on the wire for a byte of payload, at least."""
FULL, FAR_FROM_FULL = 0.9, 0.8
"""Utilisation from which a port is full, and below which it is far from it."""


def utilisation(
    sent: pl.DataFrame, possible: pl.DataFrame, topology: Topology | None
) -> pl.DataFrame:
    """Bounds of each hop's utilisation by flows that were seen: time_ns, node, port, least, most.

    `possible` holds the possible paths of the flows (`ways.paths`).
    """
    kinds = {"time_ns": pl.Int64, "node": pl.UInt32, "port": pl.UInt32}
    if topology is None or possible.is_empty():
        return pl.DataFrame(schema={**kinds, "least": pl.Float64, "most": pl.Float64})
    all_paths = possible.group_by("flow").agg(pl.col("path").n_unique().alias("paths"))
    crossed = (
        possible.group_by("flow", *HOP, maintain_order=True)
        .agg(pl.col("path").n_unique().alias("through"))
        .join(all_paths, on="flow", how="left", maintain_order="left")
        .select("flow", *HOP, (pl.col("through") == pl.col("paths")).alias("sure"))
    )
    bps = pl.col("data_bytes") * (BITS * SECOND * HEADERS) / pl.col("interval_ns")
    share = pl.col("bps") / pl.col("capacity_bps")
    return (
        sent.filter(pl.col("data_bytes") > 0)
        .select("time_ns", "flow", bps.alias("bps"))
        .join(crossed, on="flow", how="inner", maintain_order="left_right")
        .join(
            topology.frame.select(*HOP, "capacity_bps"),
            on=HOP,
            how="inner",
            maintain_order="left",
        )
        .filter(pl.col("capacity_bps") > 0)
        .group_by("time_ns", *HOP, maintain_order=True)
        .agg(share.filter("sure").sum().alias("least"), share.sum().alias("most"))
    )
