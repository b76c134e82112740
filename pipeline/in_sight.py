"""How many hops of a flow's path telemetry spoke of: those behind a tap along the way it did not.

Semantics.md section 1: a stack or a tag that is read in the middle of a path tells of the hops that
it has met.
"""

import polars as pl

from pipeline.locate import HOP, KEY
from pipeline.reserved import UNTOLD
from pipeline.tags import views
from pipeline.tapped import STANDING, taps
from pipeline.topology import Topology


def in_sight(
    candidates: pl.DataFrame,
    hop_intervals: pl.DataFrame,
    possible: pl.DataFrame,
    topology: Topology | None,
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
    rows = rows.join(met(hop_intervals, possible, topology), on=KEY, how="left")
    # A tag speaks of every hop that it has met, by its largest or least.
    tag = pl.max_horizontal("stack", pl.coalesce("met", "hops"))
    told = pl.when("summarised").then(tag).otherwise("stack")
    return rows.select(*KEY, told.cast(pl.UInt32).alias("hops_seen"), "hops")


def met(
    hop_intervals: pl.DataFrame, possible: pl.DataFrame, topology: Topology | None
) -> pl.DataFrame:
    """Hops that tags had met where they were read last: time_ns, flow, met.

    `met` is null where they were read at the end of the path: at a point of which it is not known
    that it stands on a link of the flow's way, or by the receiver, which reflects them.
    """
    located = (pl.col("port") != UNTOLD) & (pl.col("samples") > 0)
    point = pl.col("point").cast(pl.String)
    tags = views(hop_intervals.filter(located)).select(*KEY, point, "echo").unique()
    stand = taps(tags["point"], topology) if topology else pl.DataFrame(schema=STANDING)
    on_way = possible.select("flow", *HOP, "place").unique()
    places = stand.join(on_way, on=HOP).group_by("flow", "point").agg(pl.col("place").max())
    found = tags.join(places, on=["flow", "point"], how="left")
    whole = (pl.col("echo") | pl.col("place").is_null()).any()
    last = (pl.col("place").max() + 1).cast(pl.UInt32)
    return found.group_by(KEY).agg(pl.when(~whole).then(last).alias("met"))
