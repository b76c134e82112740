"""Sights: what each point saw of each flow's tags, counted by interval.

A row of the tally is one flow at one point with tags of one variant, type and locator; variant 0
is data without a tag.
"""

import polars as pl

from collector import TCP, at_once
from pipeline.health.tally import counted, total
from pipeline.sender import CE
from pipeline.signals import ABW, DELAY, UNTOUCHED, UTILIZATION
from pipeline.topology import COMPACT
from pipeline.unit import BITS, SECOND

KEY = ("point", "flow", "dscp", "variant", "t", "lm", "touched")
QUEUE_FRAMES = 2
"""Frames of its own length that a packet may have waited for where no queue is said to be."""
LONG_RTTS = 4
"""Delay of one hop, in base round trips, at which any sensible marking has begun."""
ECT = (1, 2, CE)
"""ECN fields of ECN-capable packets."""
SYN, ACK_FLAG = 2, 16
TAG = {"csig_variant": pl.UInt8, "csig_t": pl.UInt8, "csig_s": pl.UInt32, "csig_lm": pl.UInt16,
       "csig_low": pl.Float64, "csig_high": pl.Float64}  # fmt: skip
OWN = ("interval", "time_ns", "source", "frame", "point", "flow", "protocol", "length")
OTHER = {"dscp": pl.UInt8, "ecn": pl.UInt8, "int_version": pl.UInt8, "flags": pl.UInt16,
         "sampling_rate": pl.UInt32}  # fmt: skip


def data_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Frames that carry data, with all columns that are counted."""
    absent = [
        pl.lit(None, kind).alias(name)
        for name, kind in (TAG | OTHER).items()
        if name not in rows.columns
    ]
    told = [name for name in (TAG | OTHER) if name in rows.columns]
    return at_once(
        rows.lazy()
        .select(*OWN, "payload_bytes", *told)
        .filter((pl.col("payload_bytes") > 0) | has_tag(rows))
        .select(*OWN, *told, *absent)
    )


def has_tag(rows: pl.DataFrame) -> pl.Expr:
    """Whether a frame has a tag."""
    if "csig_variant" not in rows.columns:
        return pl.lit(value=False)
    return pl.col("csig_variant").is_not_null()


def sights(data: pl.DataFrame, slowest_bps: int | None, base_rtt_ns: int) -> pl.DataFrame:
    """A batch as rows of the tally. `slowest_bps` is the smallest capacity of the topology."""
    t, s = pl.col("csig_t"), pl.col("csig_s")
    tagged = pl.col("csig_variant").is_not_null()
    top = pl.col("csig_variant").replace_strict(UNTOUCHED, default=None, return_dtype=pl.UInt32)
    smallest = t.is_in([ABW, UTILIZATION]) & (s == 0)
    rows = data.with_columns(
        pl.col("csig_variant").fill_null(0).alias("variant"),
        pl.col("csig_t").fill_null(0).alias("t"),
        pl.col("csig_lm").fill_null(0).alias("lm"),
        pl.col("dscp").fill_null(0),
        (tagged & (s != pl.when(t == DELAY).then(0).otherwise(top))).alias("touched"),
    )
    ect = pl.col("ecn").is_in(ECT)
    stacked = pl.col("int_version").is_not_null()
    long = (t == DELAY) & ect & (pl.col("csig_low") > LONG_RTTS * base_rtt_ns)
    return counted(
        rows,
        ["interval", *KEY],
        total(smallest, "low_n"),
        total(quiet(t, slowest_bps), "quiet_n"),
        total(ect, "ect_n"),
        total(ect & (pl.col("protocol") == TCP), "tcp_ect_n"),
        total(long, "long_n"),
        total(long & (pl.col("ecn") == CE), "marked_n"),
        total(pl.col("ecn") == CE, "ce_n"),
        total(tagged & pl.col("csig_low").is_null(), "odd_n"),
        total((pl.col("protocol") == TCP) & ~ect.fill_null(value=False) & ~stacked, "plain_n"),
        pl.col("csig_low").max().alias("most"),
        pl.when(pl.col("variant") == COMPACT).then(s).max().cast(pl.Int64).alias("most_s"),
        pl.col("time_ns").max().alias("last_ns"),
    )


def quiet(t: pl.Expr, slowest_bps: int | None) -> pl.Expr:
    """Whether max(PD) excludes that the packet met a queue anywhere."""
    if not slowest_bps:
        return pl.lit(value=False)
    frame_ns = pl.col("length") * (BITS * SECOND / slowest_bps)
    return (t == DELAY) & (pl.col("csig_high") <= QUEUE_FRAMES * frame_ns)


def handshakes(rows: pl.DataFrame) -> pl.DataFrame:
    """SYN that are not ECN-capable, by point and flow."""
    if "flags" not in rows.columns:
        return pl.DataFrame()
    bare = pl.lit(value=True) if "ecn" not in rows.columns else pl.col("ecn") == 0
    begun = pl.col("flags") & (SYN | ACK_FLAG) == SYN
    syn = rows.filter(begun.fill_null(value=False) & bare & (pl.col("protocol") == TCP))
    if syn.is_empty():
        return pl.DataFrame()
    return counted(syn, ["interval", "point", "flow"], pl.col("time_ns").max().alias("last_ns"))
