"""When each hop of a stack saw its packet, by the queues that the packet met after it.

A packet is counted at its first sight, and its stack is read behind the queues that it tells of. A
hop saw the packet as long before as the hops behind it held it, at first sight at the earliest. So
a queue that falls off within an interval is not taken for the one before or after it.
"""

import polars as pl

from pipeline.first_sight import OWN_NS
from pipeline.unit import BITS, SECOND

MOST_NS = 1e7
"""Longer than this no packet waits at a port: such a hop is not believed."""
WAITS = ("qlen_bytes", "b_bps", "latency_ns")


def hop_times(loads: pl.DataFrame, hops: int) -> pl.DataFrame:
    """Hop loads with `at{hop}_ns`; without, hops saw packets at time_ns.

    Of loads with time_ns (first sight), `own_ns` (see `at_own_time`) and what each hop tells. Where
    a hop behind tells neither queue nor latency, first sight stands.
    """
    if OWN_NS not in loads.columns:
        return loads
    held, times = pl.lit(0, pl.Int64), []
    for hop in reversed(range(hops)):
        # Null where a hop behind tells nothing: the later of the two is then first sight.
        at = pl.max_horizontal(pl.col(OWN_NS) - held, "time_ns")
        times.append(at.alias(at_hop(hop)))
        held += pl.when(pl.col("hop_count") > hop).then(waited(loads, hop)).otherwise(0)
    return loads.with_columns(times)


def at_hop(hop: int) -> str:
    """Name of the column that says when a hop saw the packet."""
    return f"at{hop}_ns"


def time_at(loads: pl.DataFrame, hop: int) -> pl.Expr:
    """When a hop saw the packet, as time_ns."""
    name = at_hop(hop)
    return pl.col(name if name in loads.columns else "time_ns").alias("time_ns")


def waited(loads: pl.DataFrame, hop: int) -> pl.Expr:
    """How long a packet waited at a hop, ns, by its queue at line rate, else by its latency."""
    queue, capacity, latency = (
        (pl.col(name) if name in loads.columns else pl.lit(None)).cast(pl.Float64)
        for name in (f"h{hop}_{one}" for one in WAITS)
    )
    drained = queue * (BITS * SECOND) / pl.when(capacity > 0).then(capacity)
    told = pl.coalesce(drained, latency)
    # Times have more digits than a float holds.
    return pl.when(told.is_between(0, MOST_NS)).then(told).round().cast(pl.Int64)
