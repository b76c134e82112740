"""How many hops of a flow's path telemetry spoke of: those behind a tap along the way it did not.

Semantics.md section 1: a stack or a tag that is read in the middle of a path tells of the hops that
it has met.
"""

import polars as pl

from collector import at_once
from pipeline.groups import HOP
from pipeline.locate import KEY
from pipeline.tags import VIEW, views
from pipeline.tapped import STANDING, taps
from pipeline.topology import Topology


def in_sight(
    candidates: pl.DataFrame, met_by_tags: pl.DataFrame, possible: pl.DataFrame
) -> pl.DataFrame:
    """Hops of each flow-interval's path that telemetry spoke of: time_ns, flow, hops_seen, hops.

    `hops` is the length of a shortest path; null where the topology knows none. `met_by_tags` is
    what `met` tells.
    """
    length = possible.lazy().group_by("flow").agg((pl.col("place").max() + 1).alias("hops"))
    own = candidates.lazy().filter(
        (pl.col("signal") == "int") | ((pl.col("signal") == "csig") & (pl.col("samples") > 0))
    )
    tagged = pl.col("signal") != "int"
    seen = own.group_by(KEY).agg(
        (~tagged).sum().alias("stack"),
        tagged.any().alias("summarised"),
        pl.col("seen_at", "echo").filter(tagged).first(),
    )
    rows = seen.join(length, on="flow", how="left").rename({"seen_at": "point"})
    rows = rows.join(met_by_tags.lazy(), on=VIEW, how="left")
    # A tag speaks of every hop that it has met, by its largest or least.
    tag = pl.max_horizontal("stack", pl.coalesce("met", "hops"))
    told = pl.when("summarised").then(tag).otherwise("stack")
    return at_once(rows.select(*KEY, told.cast(pl.UInt32).alias("hops_seen"), "hops"))


def met(
    hop_intervals: pl.DataFrame, possible: pl.DataFrame, topology: Topology | None
) -> pl.DataFrame:
    """Hops that tags had met in each view of a flow and interval: those of `VIEW`, met.

    `met` is null where they were read at the end of the path: behind its last hop, at a point of
    which it is not known that it stands on a link of the flow's way, or by the receiver, which
    reflects them.
    """
    tags = views(hop_intervals)[VIEW].unique(maintain_order=True)
    stand = taps(tags["point"], topology) if topology else pl.DataFrame(schema=STANDING)
    if stand.is_empty():
        return tags.with_columns(pl.lit(None, pl.UInt32).alias("met"))
    end = pl.col("place").max().over("flow").alias("end")
    on_way = possible.lazy().select("flow", *HOP, "place", end).unique()
    stood = stand.lazy().join(on_way, on=HOP).group_by("flow", "point")
    places = stood.agg(pl.col("place", "end").max())
    found = tags.lazy().join(places, on=["flow", "point"], how="left", maintain_order="left")
    along = ~pl.col("echo") & (pl.col("place") < pl.col("end"))
    before = pl.when(along).then(pl.col("place") + 1).cast(pl.UInt32)
    return at_once(found.select(*VIEW, before.alias("met")))
