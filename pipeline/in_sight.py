"""How many hops of a flow's path telemetry spoke of: those behind a tap along the way it did not.

Semantics.md section 1: a stack or a tag that is read in the middle of a path tells of the hops that
it has met.
"""

import polars as pl

from pipeline.locate import HOP, KEY
from pipeline.tapped import sending_into
from pipeline.topology import Topology

TAPS = {"seen_at": pl.String, "node": pl.UInt32, "port": pl.UInt32}


def in_sight(
    candidates: pl.DataFrame, possible: pl.DataFrame, topology: Topology | None
) -> pl.DataFrame:
    """Hops of each flow-interval's path that telemetry spoke of: time_ns, flow, hops_seen, hops.

    `hops` is the length of a shortest path; null where the topology knows none.
    """
    length = possible.group_by("flow").agg((pl.col("place").max() + 1).alias("hops"))
    own = candidates.filter(
        (pl.col("signal") == "int") | ((pl.col("signal") == "csig") & (pl.col("samples") > 0))
    )
    seen = own.group_by(KEY).agg(
        pl.col("node").filter(signal="int").len().alias("stack"),
        (pl.col("signal") != "int").any().alias("summarised"),
    )
    rows = seen.join(length, on="flow", how="left")
    rows = rows.join(met(own, possible, topology), on=KEY, how="left")
    # A tag speaks of every hop that it has met, by its largest or least.
    tag = pl.max_horizontal("stack", pl.coalesce("met", "hops"))
    told = pl.when("summarised").then(tag).otherwise("stack")
    return rows.select(*KEY, told.cast(pl.UInt32).alias("hops_seen"), "hops")


def met(own: pl.DataFrame, possible: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Hops that tags on data had met at the tap where they were read: time_ns, flow, met.

    No row where it is not known to stand on a link of the flow's way: it is taken for an end, and
    a reflection comes from there.
    """
    tags = own.filter((pl.col("signal") == "csig") & ~pl.col("echo").fill_null(value=True))
    tags = tags.select(*KEY, "seen_at").unique()
    points = tags["seen_at"].unique().drop_nulls().to_list() if topology else []
    taps = [(point, *hop) for point in points for hop in sending_into(topology, point)]
    stand = pl.DataFrame(taps, schema=TAPS, orient="row")
    on_way = possible.select("flow", *HOP, "place").unique()
    found = tags.join(stand, on="seen_at").join(on_way, on=["flow", *HOP])
    return found.group_by(KEY).agg((pl.col("place").max() + 1).cast(pl.UInt32).alias("met"))
