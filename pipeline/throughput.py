"""What flows send through hops, against the hops' capacities: bounds that need no telemetry.

What surely crosses a port is the least that it carries; a port that could not be full even if all
flows that may cross it did, of those that were seen, is unlikely to hold anyone back.
"""

import polars as pl

from collector import at_once
from pipeline.groups import HOP
from pipeline.locate import KEY
from pipeline.sharing import sending_together
from pipeline.topology import Topology
from pipeline.unit import BITS, SECOND
from pipeline.way_choice import crossed

FULL, FAR_FROM_FULL = 0.9, 0.8
"""Utilisation from which a port is full, and below which it is far from it."""

BOTH_ENDS = 2
"""Points that see a flow where both of its ends are mirrored."""


def utilisation(sent: pl.DataFrame, ways: pl.DataFrame, topology: Topology | None) -> pl.DataFrame:
    """Bounds of each hop's utilisation by flows that were seen.

    time_ns, node, port, capacity_bps, least, most; `whole`: true where all data of the interval was
    seen at two points, so that taps are likely at all ends; `active`: the share of the interval in
    which any of the flows sent. `ways` holds the paths that each flow may have taken in each
    interval (`candidates.narrowed`).
    """
    kinds = {"time_ns": pl.Int64, "node": pl.UInt32, "port": pl.UInt32}
    if topology is None or ways.is_empty():
        bounds = {
            "capacity_bps": pl.Int64,
            "least": pl.Float64,
            "most": pl.Float64,
            "whole": pl.Boolean,
            "active": pl.Float64,
        }
        return pl.DataFrame(schema={**kinds, **bounds})
    share = pl.col("bps") / pl.col("capacity_bps")
    whole = (pl.col("points") >= BOTH_ENDS).all().over("time_ns")
    rates = topology.frame[[*HOP, "capacity_bps"]].lazy()
    return at_once(
        sent.lazy()
        .filter(pl.col("data_bytes") > 0)
        .select(*KEY, wire_bps().alias("bps"), whole.alias("whole"), "slices", "data_frames")
        .join(crossed(ways).lazy(), on=KEY, how="inner", maintain_order="left_right")
        .join(rates, on=HOP, how="inner", maintain_order="left")
        .filter(pl.col("capacity_bps") > 0)
        .group_by("time_ns", *HOP, maintain_order=True)
        .agg(
            pl.col("capacity_bps").first(),
            share.filter("sure").sum().alias("least"),
            share.sum().alias("most"),
            pl.col("whole").all(),
            sending_together().alias("active"),
        )
    )


def while_sending(bound: str) -> pl.Expr:
    """A bound as packets see it: those of a burst meet its load, however long the pause is."""
    return pl.col(bound) / pl.col("active")


def sent_bytes() -> pl.Expr:
    """What a flow sent: its frames as they were seen, or what was acknowledged, with their headers.

    Acknowledgments tell of data that nobody mirrored too, where frames are sampled or lost.
    """
    headers = pl.col("bytes") / pl.col("data_bytes")
    return pl.max_horizontal("bytes", pl.col("acked_bytes") * headers)


def wire_bps() -> pl.Expr:
    """The rate at which a flow sent over the whole interval."""
    return sent_bytes() * (BITS * SECOND) * (1.0 / pl.col("interval_ns"))  # see `timed.busy`
