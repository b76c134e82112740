"""Changes: how a packet's tag and its ECN field differ between two points, counted by kind.

The earlier point on the way is told by the hop limit, which every router lowers; clocks may be off.
Pairs of equal hop limit are of one link, where nothing can change, and say nothing.
"""

from enum import IntEnum

import polars as pl

from pipeline.health.tally import total
from pipeline.sender import CE
from pipeline.signals import DELAY


class Change(IntEnum):
    """What happened to a packet's tag between two points."""

    NONE = 0
    STRIPPED = 1
    INSERTED = 2
    TYPE = 3
    LM_ALONE = 4
    AGAINST = 5
    REPLACED = 6
    UNTAGGED = 7


class Ecn(IntEnum):
    """What became of a packet's ECN field between two points (RFC 3168, section 5)."""

    NOT_CAPABLE = 0
    CAPABLE = 1
    MARK_KEPT = 2
    MARK_CLEARED = 3
    ERASED = 4


KEY = ("change", "ecn", "before", "point", "hops", "variant", "t", "lm")
"""The pair of points, how many routers lie between, and the tag as it was at the later point."""
SIGHT = ("frame", "time_ns", "ttl", "ecn", "csig_variant", "csig_t", "csig_s", "csig_lm", "point",
         "source")  # fmt: skip


def ordered(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs with their sights as `a_` (nearer the sender) and `z_`; those of one link left out."""
    ahead = pl.col("b_ttl") > pl.col("ttl")
    sides = [
        pl.when(ahead).then(f"b_{name}").otherwise(name).alias(f"a_{name}") for name in SIGHT
    ] + [pl.when(ahead).then(name).otherwise(f"b_{name}").alias(f"z_{name}") for name in SIGHT]
    return pairs.select(*sides, "flow", "payload_bytes", "named").filter(
        pl.col("a_ttl") != pl.col("z_ttl")
    )


def change() -> pl.Expr:
    """The kind of change of an ordered pair; the first that holds."""
    had, has = pl.col("a_csig_variant") > 0, pl.col("z_csig_variant") > 0
    s, before = pl.col("z_csig_s"), pl.col("a_csig_s")
    delay = pl.col("a_csig_t") == DELAY
    other = (pl.col("a_csig_variant") != pl.col("z_csig_variant")) | (
        pl.col("a_csig_t") != pl.col("z_csig_t")
    )
    cases = (
        (~had & ~has, Change.UNTAGGED),
        (had & ~has, Change.STRIPPED),
        (~had & has, Change.INSERTED),
        (other, Change.TYPE),
        ((s == before) & (pl.col("a_csig_lm") != pl.col("z_csig_lm")), Change.LM_ALONE),
        (s == before, Change.NONE),
        ((delay & (s < before)) | (~delay & (s > before)), Change.AGAINST),
    )
    told = pl.lit(Change.REPLACED.value, pl.UInt8)
    for holds, kind in reversed(cases):
        told = pl.when(holds).then(pl.lit(kind.value, pl.UInt8)).otherwise(told)
    return told.alias("change")


def ecn() -> pl.Expr:
    """What became of the ECN field of an ordered pair; the first that holds.

    Without a number of its own the later packet may be one that was sent again, unmarked or not
    ECN-capable (RFC 3168, section 6.1.5), where clocks are off: it says nothing.
    """
    before, after = pl.col("a_ecn"), pl.col("z_ecn")
    cases = (
        ((before == 0) | ~pl.col("named"), Ecn.NOT_CAPABLE),
        (after == 0, Ecn.ERASED),
        ((before == CE) & (after == CE), Ecn.MARK_KEPT),
        (before == CE, Ecn.MARK_CLEARED),
    )
    told = (pl.when(holds).then(pl.lit(kind.value, pl.UInt8)) for holds, kind in cases)
    return pl.coalesce(*told, pl.lit(Ecn.CAPABLE.value, pl.UInt8)).alias("ecn")


def changes(pairs: pl.DataFrame, interval_ns: int) -> pl.DataFrame:
    """Ordered pairs as rows of the tally; `least` is the smallest transit by both clocks."""
    rows = pairs.with_columns(
        (pl.col("z_time_ns") - pl.col("z_time_ns") % interval_ns).alias("interval"),
        change(),
        ecn(),
        pl.col("a_point").alias("before"),
        pl.col("z_point").alias("point"),
        (pl.col("a_ttl") - pl.col("z_ttl")).alias("hops"),
        pl.when(pl.col("z_csig_variant") > 0)
        .then("z_csig_variant")
        .otherwise("a_csig_variant")
        .alias("variant"),
        pl.col("z_csig_t").alias("t"),
        pl.col("z_csig_lm").alias("lm"),
        (pl.col("z_time_ns") - pl.col("a_time_ns")).alias("transit_ns"),
    )
    marked = (pl.col("a_ecn") != CE) & (pl.col("z_ecn") == CE)
    return rows.group_by(["interval", *KEY], maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"),
        pl.col("transit_ns").min().alias("least"),
        total(marked, "ce_n"),
        pl.col("z_time_ns").first().alias("seen_ns"),
        pl.col("z_source").first().alias("source"),
        pl.col("z_frame").first().alias("frame"),
        pl.col("a_source").first().alias("before_source"),
        pl.col("a_frame").first().alias("before_frame"),
        pl.col("a_csig_lm").first().alias("before_lm"),
    )
