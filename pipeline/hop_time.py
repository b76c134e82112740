"""When each hop of a stack saw its packet, by the queues that the packet met after it.

A packet is counted at its first sight, and its stack is read behind the queues that it tells of. A
hop saw the packet as long before as the hops behind it held it, at first sight at the earliest. So
a queue that falls off within an interval is not taken for the one before or after it.
"""

import polars as pl

from pipeline.first_sight import OWN_NS
from pipeline.hop_value import drained_ns, value

MOST_NS = 1e7
"""Longer than this no packet waits at a port: such a hop is not believed."""


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
    names = ("qlen_bytes", "b_bps", "latency_ns")
    queue, capacity, latency = (value(loads, f"h{hop}_{name}") for name in names)
    told = pl.coalesce(drained_ns(queue, capacity), latency)
    # Times have more digits than a float holds.
    return pl.when(told.is_between(0, MOST_NS)).then(told).round().cast(pl.Int64)
