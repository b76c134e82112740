"""Counters of what a port has sent that are below what they were: they wrapped, or began anew.

Which of both it was only what came of it tells: taken for a wrap, a count that began anew makes a
load that no port can have. That is no sample of the hop's load, though a sender whose telemetry it
was has acted on it. Either way what was sent in the interval cannot be told from where its counts
begin and end (`timed`).
"""

import polars as pl

from pipeline.cc.hpcc import Fault
from pipeline.load_unit import IMPLAUSIBLE_U

FELL = "fell"
"""The column of hop loads with a bit for each hop whose count fell."""
FELL_NS = -(1 << 61)
"""Stands for what a port has sent by a count that fell: no time lies between it and another."""


def fell(hop: int) -> pl.Expr:
    """Whether the count of a hop fell."""
    return pl.col(FELL) & (1 << hop) != 0


def any_fell(loads: pl.DataFrame) -> bool:
    """Whether the count of any hop fell."""
    return FELL in loads.columns and bool((loads[FELL] != 0).any())


def begun_anew(loads: pl.DataFrame, hops: int) -> pl.DataFrame:
    """Hop loads without those that counts made which began anew; their rows have the fault."""
    if not any_fell(loads):
        return loads
    anew = [fell(hop) & (pl.col(f"u{hop}") > IMPLAUSIBLE_U) for hop in range(hops)]
    fault = pl.when(pl.any_horizontal(anew)).then(Fault.COUNTER_BACKWARDS.value).otherwise(0)
    return loads.with_columns(
        (pl.col("faults") | fault).cast(loads.schema["faults"]),
        *(pl.when(~each.fill_null(value=False)).then(f"u{hop}").alias(f"u{hop}")
          for hop, each in enumerate(anew)),
    )  # fmt: skip
