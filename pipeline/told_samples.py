"""Samples of hop load out of what hops tell without counters: queues, utilisation, latencies.

Postcards of INT, IOAM traces and INT stacks without transmitted bytes. By semantics: a queue and a
utilisation are a load (`int`); one of them, or a latency less the port's own, is a lower bound of
it (`int_bound`). The queue is that of the sample alone: means over intervals need no filter.
"""

from collections.abc import Iterator

import polars as pl

from pipeline.hop_samples import hop_count, place_of, whole
from pipeline.hop_time import time_at
from pipeline.hop_value import drained_ns, value
from pipeline.load_unit import nano
from pipeline.standing import Standing
from pipeline.topology import Topology

LOAD, BOUND = "int", "int_bound"
BASE = {"node": pl.UInt32, "port": pl.UInt32, "base_ns": pl.Int64}


def samples_of_told(
    loads: pl.DataFrame, topology: Topology | None, base_rtt_ns: int, standing: Standing
) -> Iterator[pl.DataFrame]:
    """Samples of the hops of `Tracked.hop_loads` that tell no counter, in the shape of stacks'."""
    bases = topology.base_delays if topology else pl.DataFrame(schema=BASE)
    for hop in range(hop_count(loads) if loads.height else 0):
        named, counted = f"h{hop}_node", f"h{hop}_tx_bytes"
        if named not in loads.columns:
            continue
        silent = pl.col(named).is_not_null()
        if counted in loads.columns:
            silent &= pl.col(counted).is_null()
        told = loads.filter(silent)
        if told.height:
            yield of_hop(told, hop, bases, base_rtt_ns, standing)


def of_hop(
    rows: pl.DataFrame, hop: int, bases: pl.DataFrame, base_rtt_ns: int, standing: Standing
) -> pl.DataFrame:
    """Samples of one hop; those of which nothing is known are left out.

    A bound that is the queue's part of a load is told as such, too (`queue_n`), and so is what a
    latency is of a load, of which no queue tells that it is one.
    """
    queue, capacity, used, latency = (
        value(rows, f"h{hop}_{name}")
        for name in ("qlen_bytes", "b_bps", "utilization", "latency_ns")
    )
    placed = rows.with_columns(
        place_of(rows, hop, end).alias(end) for end in ("node", "port")
    ).join(bases, on=["node", "port"], how="left", maintain_order="left")
    waited = pl.coalesce(
        drained_ns(queue, capacity), (latency - pl.col("base_ns").fill_null(0.0)).clip(0.0)
    )
    held = waited / pl.lit(pl.Series([float(base_rtt_ns)])).first()
    whole_load = held + used
    return placed.select(
        time_at(rows, hop),
        "flow",
        "point",
        "node",
        "port",
        pl.lit(hop, pl.UInt8).alias("hop_index"),
        pl.when(whole_load.is_null()).then(pl.lit(BOUND)).otherwise(pl.lit(LOAD)).alias("source"),
        nano(pl.coalesce(whole_load, held, used)).alias("u_n"),
        whole(queue).alias("queue_bytes"),
        standing.told(queue, waited).alias("standing"),
        nano(pl.when(whole_load.is_null() | queue.is_null()).then(held)).alias("queue_n"),
    ).drop_nulls("u_n")
