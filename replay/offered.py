"""Offers: whether a sender sent all that its application gave it, by interval.

A flow is limited by its sender where for most of the interval its script offers a rate, or nothing,
and what it sent came to that. A flow that may offer more than the network lets through is held
back, whatever its script says.
"""

import numpy as np
import polars as pl

from replay.fabric import Run
from replay.state import DATA

NS, BITS = 1_000_000_000, 8
ALL_BUT = 0.1
"""Part of an offer that may be missing: senders jitter, and packets are whole."""
MOST = 0.5
"""Share of an interval from which its offers say what limits it."""


def limited_frame(run: Run, interval_ns: int) -> pl.DataFrame:
    """flow_row, at (interval) and `limited`, of every flow and interval from its start on."""
    sent = sent_frame(run, interval_ns)
    begun = sent.group_by("flow_row").agg(pl.col("first_ns").min().alias("begun_ns"))
    offers = offer_frame(run, interval_ns).join(begun, on="flow_row", how="left")
    since = pl.max_horizontal("from_ns", pl.col("begun_ns").fill_null(0))
    lasts = (pl.col("until_ns") - since).clip(0)
    offered = (pl.col("rate_bps").clip(0) * lasts).sum() / (BITS * NS)
    held = lasts.filter(pl.col("rate_bps") != 0).sum()
    kept = pl.col("bytes").fill_null(0) + run.world.payload_bytes >= (1 - ALL_BUT) * pl.col("offer")
    return (
        offers.group_by("flow_row", "at")
        .agg(offered.alias("offer"), (held > MOST * lasts.sum()).alias("held"))
        .join(sent.select("flow_row", "at", "bytes"), on=["flow_row", "at"], how="left")
        .select("flow_row", "at", (pl.col("held") & kept).alias("limited"))
    )


def sent_frame(run: Run, interval_ns: int) -> pl.DataFrame:
    """Payload that each flow sent, and when its first packet of the interval left."""
    packets = run.packets[(run.packets["kind"] == DATA) & (run.packets["first_ns"] >= 0)]
    return (
        pl.DataFrame(
            {
                "flow_row": packets["flow"],
                "at": packets["first_ns"] // interval_ns,
                "first_ns": packets["first_ns"],
            }
        )
        .group_by("flow_row", "at")
        .agg((pl.len() * run.world.payload_bytes).alias("bytes"), pl.col("first_ns").min())
    )


def offer_frame(run: Run, interval_ns: int) -> pl.DataFrame:
    """Phases of each flow cut by intervals: flow_row, at, rate_bps (0: all), from_ns, until_ns."""
    rows = []
    for row, flow in enumerate(run.flows):
        phases = run.phases[int(flow["phases"]) : int(flow["phases_end"])]
        ends = [*phases["at_ns"][1:].tolist(), run.world.duration_ns]
        for phase, end in zip(phases, ends, strict=True):
            edges = np.arange(int(phase["at_ns"]) // interval_ns, -(-end // interval_ns))
            rows += [
                (row, int(at), int(phase["rate_bps"]),
                 max(int(phase["at_ns"]), int(at) * interval_ns),
                 min(end, (int(at) + 1) * interval_ns))
                for at in edges
            ]  # fmt: skip
    columns = ["flow_row", "at", "rate_bps", "from_ns", "until_ns"]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.Int64), orient="row")
