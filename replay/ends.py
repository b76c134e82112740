"""Ends: whether a flow's own hosts hold it back, by interval, from what they sent and read.

A receiver holds a flow back while its application reads all the time: as much came as it can read.
A sender's host does while it hands over all that it can, and the flow would send more.
"""

import numpy as np
import polars as pl

from replay.fabric import Run
from replay.state import DATA

NS, BITS = 1_000_000_000, 8
BUSY = 0.9
"""Share of what a host can do from which it does all that it can: packets are whole, and windows
open by segments."""
RECEIVER, SENDER = "receiver_host", "sender_host"
SEEN_AS = {SENDER: "sender_limited"}
"""What packets show of it: nothing tells a slow host from an application that sends little."""
WITHOUT_WINDOW = {RECEIVER: "sender_limited"}
"""The same of transports whose acknowledgments say no window."""


def ends_frame(run: Run, interval_ns: int) -> pl.DataFrame:
    """flow_row, at (interval), `end`: kind of the host that holds the flow back, if one does."""
    rows = [*receivers(run, interval_ns), *senders(run, interval_ns)]
    schema = {"flow_row": pl.Int64, "at": pl.Int64, "end": pl.String}
    found = pl.DataFrame(rows, schema, orient="row")
    return found.unique(["flow_row", "at"], keep="first", maintain_order=True)


def receivers(run: Run, interval_ns: int) -> list[tuple[int, int, str]]:
    """Flows whose receivers read all the time."""
    reads = run.flows["drain_bps"]
    if not (reads > 0).any():
        return []
    packets = run.packets[(run.packets["kind"] == DATA) & (run.packets["last_ns"] > 0)]
    flow = packets["flow"]
    came = pl.DataFrame({"flow_row": flow, "end": flow, "most": reads[flow],
                         "time_ns": packets["last_ns"]})  # fmt: skip
    return busy(came, run.world.payload_bytes, interval_ns, RECEIVER)


def senders(run: Run, interval_ns: int) -> list[tuple[int, int, str]]:
    """Flows that share hosts which hand over all that they can."""
    hands = np.array([run.world.cpu_bps.get(name, 0) for name in run.world.host_names()])
    if not hands.any():
        return []
    packets = run.packets[(run.packets["kind"] == DATA) & (run.packets["first_ns"] >= 0)]
    host = run.flows["src"][packets["flow"]]
    sent = pl.DataFrame({"flow_row": packets["flow"], "end": host, "most": hands[host],
                         "time_ns": packets["first_ns"]})  # fmt: skip
    return busy(sent, run.world.payload_bytes, interval_ns, SENDER)


def busy(
    packets: pl.DataFrame, payload: int, interval_ns: int, kind: str
) -> list[tuple[int, int, str]]:
    """Flows of ends that do all that they can (`most`, bit/s) from their first packet on."""
    begun = pl.col("time_ns").min().over("end")
    at = pl.col("time_ns") // interval_ns
    lasts = (pl.col("at") + 1) * interval_ns - pl.max_horizontal(
        "begun", pl.col("at") * interval_ns
    )
    rate = pl.len().over("end", "at") * (payload * BITS * NS) / lasts
    found = (
        packets.filter(pl.col("most") > 0)
        .with_columns(begun.alias("begun"), at.alias("at"))
        .filter(rate >= BUSY * pl.col("most"))
        .unique(["flow_row", "at"])
        .sort("flow_row", "at")
    )
    return [(flow, at, kind) for flow, at in found.select("flow_row", "at").iter_rows()]


def observable(kind: str) -> pl.Expr:
    """What the best observer of packets can call a kind, from the columns `kind` and `windows`."""
    seen = pl.col(kind).replace(SEEN_AS)
    return pl.when(pl.col("windows")).then(seen).otherwise(seen.replace(WITHOUT_WINDOW))
