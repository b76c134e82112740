"""Edges: the buckets of devices that name themselves, next to what counters of the port show.

A compact value says in which bucket the port's bandwidth was. Where the port's own counters were
steady, here and in the two stretches before, they say the same to a few percent. A bucket that
stands for other values again and again has other edges, or the port measures otherwise; of several
buckets that keep their order only the edges are left.
"""

from collections.abc import Iterator

import polars as pl

from collector import at_once
from pipeline.health.finding import CANNOT_TELL, YES
from pipeline.health.found import Found, first_of
from pipeline.health.place import Places
from pipeline.health.scene import Scene
from pipeline.health.tally import FIRST, first_frame
from pipeline.signals import ABW, UNTOUCHED, UTILIZATION
from pipeline.topology import COMPACT

KEY = ["bin", "port", "t", "s"]
TAG = ("csig_variant", "csig_t", "csig_lm", "csig_s", "csig_low", "csig_high")
JOINS = {"n": "sum", "least": "min", "most": "max", **dict.fromkeys(FIRST, "first")}
MARGIN, STEADY = 0.05, 0.05
"""Shares of the capacity: by how much a bucket must be off, and how far stretches may differ."""
MICRO = 1e-6
"""Unit in which shares are summed, so that sums do not depend on their order."""
ENOUGH, MOST = 8, 0.75
"""Stretches of a bucket, and the share of them that must be off."""
LONGEST_NS = 500_000
"""delta_t up to which steady stretches are what the port has measured."""
SEVERAL = 2
"""Buckets that must be off, in the order of their values, before edges are what is left."""


def named(rows: pl.DataFrame, places: Places) -> list[pl.DataFrame]:
    """Compact values of a batch with its `bin` whose locator names one port, by stretch."""
    if places.topology is None or "csig_low" not in rows.columns:
        return []
    tags = at_once(
        rows.lazy()
        .select("bin", "time_ns", "source", "frame", *TAG)
        .filter(
            (pl.col("csig_variant") == COMPACT)
            & pl.col("csig_t").is_in([ABW, UTILIZATION])
            & (pl.col("csig_s") != UNTOUCHED[COMPACT])
            & pl.col("csig_low").is_not_null()
        )
        .join(
            places.named.lazy(),
            left_on=["csig_variant", "csig_t", "csig_lm"],
            right_on=["variant", "t", "lm"],
            how="inner",
            maintain_order="left",
        )
    )
    if tags.is_empty():
        return []
    unit = pl.when(pl.col("csig_t") == ABW).then("bps").otherwise(1.0)
    told = tags.lazy().select(
        "bin", "port", pl.col("csig_t").alias("t"), pl.col("csig_s").cast(pl.Int64).alias("s"),
        (pl.col("csig_low") / unit).alias("least"), (pl.col("csig_high") / unit).alias("most"),
        "time_ns", "source", "frame",
    )  # fmt: skip
    summed = told.group_by(KEY, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"),
        pl.col("least").min(),
        pl.col("most").max(),
        *first_frame(),
    )
    return [at_once(summed)]


def compared(tags: pl.DataFrame, free: pl.DataFrame, back: int) -> pl.DataFrame:
    """Stretches of buckets beside what counters left of the port, `free`, where that was steady.

    `off_n` counts stretches outside of the bucket, `free_sum` adds up what was left, in `MICRO`.
    """
    rows = tags.join(free[["bin", "port", "free"]], on=["bin", "port"], how="inner")
    for before in range(1, back + 1):
        earlier = free.select(pl.col("bin") + before, "port", pl.col("free").alias("was"))
        rows = rows.join(earlier, on=["bin", "port"], how="inner")
        rows = rows.filter((pl.col("free") - pl.col("was")).abs() <= STEADY).drop("was")
    off = (pl.col("free") < pl.col("least") - MARGIN) | (pl.col("free") > pl.col("most") + MARGIN)
    return rows.sort(KEY).with_columns(
        pl.lit(1, pl.Int64).alias("n"),
        off.fill_null(value=False).cast(pl.Int64).alias("off_n"),
        (pl.col("free") / MICRO).round().cast(pl.Int64).alias("free_sum"),
    )


def other_edges(scene: Scene) -> Iterator[Found]:
    """Devices whose buckets stand for other values than the table says."""
    if scene.buckets.is_empty():
        return
    here = pl.col("port").is_in(scene.buckets["port"].unique().implode())
    enough = scene.edges.filter(here & (pl.col("n") >= ENOUGH)).sort("port", "t", "s")
    found: dict[str, Found] = {}
    for (name, t), rows in enough.group_by("port", "t", maintain_order=True):
        port = scene.places.ports.get(str(name))
        off = rows.filter(pl.col("off_n") >= MOST * pl.col("n"))
        if port is None or off.is_empty():
            continue
        shown = rows.with_columns((pl.col("free_sum") * MICRO / pl.col("n")).alias("free"))
        sure = off.height >= SEVERAL and shown["free"].is_sorted() and quick(scene, int(str(t)))
        values = {str(row["s"]): [round(row["free"], 4), row["least"], row["most"]]
                  for row in shown.iter_rows(named=True)}  # fmt: skip
        told = {"type": t, "port": name, "measured_low_high": values,
                **first_of(off.row(0, named=True))}  # fmt: skip
        verdict, count = YES if sure else CANNOT_TELL, int(off["off_n"].sum())
        each = Found("device", port.device, "other_buckets", verdict, count, told)
        best = found.get(port.device)
        if best is None or (verdict, count) > (best.verdict, best.count):
            found[port.device] = each
    yield from found.values()


def quick(scene: Scene, t: int) -> bool:
    """Whether devices measure a signal over no more than what was compared."""
    topology = scene.places.topology
    name = {ABW: "abw", UTILIZATION: "utilization"}[t]
    return topology is None or topology.slowest_ns.get(name, 0) <= LONGEST_NS
