"""Counters of what a port has sent that are below what they were: they wrapped, or began anew.

A count that began anew, taken for a wrap, makes a load that no port can have: that is no sample of
the hop's load, though a sender whose telemetry it was has acted on it. Either way what was sent in
the interval cannot be told from where its counts begin and end (`timed`).
"""

import polars as pl

from pipeline.cc.hpcc import Fault

FELL, ANEW = "fell", "anew"
"""Columns of hop loads with a bit for each hop (`hop_record.fallen`)."""
FELL_NS = -(1 << 61)
"""Stands for what a port has sent by a count that fell: no time lies between it and another."""


def of_hop(column: str, hop: int) -> pl.Expr:
    """Whether the count of a hop fell, or began anew."""
    return pl.col(column) & (1 << hop) != 0


def any_fell(loads: pl.DataFrame) -> bool:
    """Whether the count of any hop fell."""
    return FELL in loads.columns and bool((loads[FELL] != 0).any())


def begun_anew(loads: pl.DataFrame, hops: int) -> pl.DataFrame:
    """Hop loads without those that counts made which began anew; their rows have the fault."""
    if not any_fell(loads):
        return loads
    fault = pl.when(pl.col(ANEW) != 0).then(Fault.COUNTER_BACKWARDS.value).otherwise(0)
    return loads.with_columns(
        (pl.col("faults") | fault).cast(loads.schema["faults"]),
        *(pl.when(~of_hop(ANEW, hop)).then(f"u{hop}").alias(f"u{hop}") for hop in range(hops)),
    )
