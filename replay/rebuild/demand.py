"""Demand: what the applications gave their senders to send, and when, as far as frames show it.

A sender that could have sent and did not had nothing to send. So where congestion control left room
for the next frame for longer than a sender hesitates, what follows was offered at the moment when
it was sent; all else was offered with what came before it. A flow whose last data is acknowledged
offered no more; one that was still sending offers more than can be known.

Offers are times, not answers to what came back: an application that waits for a reply before it
asks again is played at the times that were seen.
"""

import polars as pl

from replay.rebuild.sighting import Sightings

HESITATES_RTT = 0.5
"""A sender hesitates at most for so much of its base round trip."""
LEAST_NS = 20_000
GAPS = 4
"""Frames at the paced rate for which a sender may hesitate."""
NS, BITS = 1_000_000_000, 8
ENDLESS = 1 << 60
"""Bytes that a flow offers that was still sending."""


def offers(seen: Sightings, base_ns: pl.DataFrame, first_window: int) -> pl.DataFrame:
    """What each flow offered: flow, at_ns, limit (bytes of its stream that may be sent from then).

    `base_ns` has each flow's base round trip; `first_window` is that of a new sender in segments.
    """
    events = events_of(seen, base_ns, first_window)
    late = pl.col("data") & (pl.col("begin") >= pl.col("front")) & (
        (pl.col("idle_ns") > pl.col("hesitates_ns")) & pl.col("room")
    )  # fmt: skip
    first = pl.col("begin") == 0
    parts = events.filter("data", ~pl.col("again"), late | first).select(
        "flow", "time_ns", "begin"
    ).unique(["flow", "begin"], keep="first", maintain_order=True)  # fmt: skip
    ends = totals(seen)
    following = pl.col("begin").shift(-1).over("flow")
    told = parts.sort("flow", "begin").with_columns(limit=following)
    begun = seen.flows.select(
        "started_ns", "third_ns", flow=pl.int_range(pl.len(), dtype=pl.Int64)
    ).join(base_ns, on="flow", how="left")
    hesitates = pl.max_horizontal(pl.lit(LEAST_NS), pl.col("base_ns").fill_null(0) * HESITATES_RTT)
    at_once = (pl.col("begin") == 0) & (pl.col("time_ns") - pl.col("third_ns") <= hesitates)
    at_ns = pl.when(at_once).then("started_ns").otherwise("time_ns")
    return (
        told.join(ends, on="flow", maintain_order="left")
        .join(begun, on="flow", maintain_order="left")
        .select("flow", at_ns=at_ns, limit=pl.coalesce("limit", "total"))
    )


def totals(seen: Sightings) -> pl.DataFrame:
    """What each flow offered in all: flow, total, complete."""
    sent = seen.sends.group_by("flow").agg(total=pl.col("end").max())
    heard = seen.acks.group_by("flow").agg(acked=pl.col("ack").max())
    ended = seen.flows.select("ended", flow=pl.int_range(pl.len(), dtype=pl.Int64))
    told = sent.join(heard, on="flow", how="left").join(ended, on="flow", how="left")
    complete = pl.col("ended") | (pl.col("acked") >= pl.col("total")).fill_null(value=False)
    return told.select(
        "flow",
        total=pl.when(complete).then("total").otherwise(pl.lit(ENDLESS)),
        complete=complete,
    )


def events_of(seen: Sightings, base_ns: pl.DataFrame, first_window: int) -> pl.DataFrame:
    """Sends and ACKs of each flow in order, and what stood before each: window, room, idle time."""
    sends = seen.sends.select("flow", "time_ns", "begin", "end", "again", data=pl.lit(value=True))
    acks = seen.acks.select(
        "flow", "time_ns", "ack", "window", "rate_bps", data=pl.lit(value=False)
    )
    events = pl.concat([acks, sends], how="diagonal").sort(
        "flow", "time_ns", "data", maintain_order=True
    )
    own = seen.flows.select(
        "payload",
        flow=pl.int_range(pl.len(), dtype=pl.Int64),
        advertised="window",
    ).join(base_ns, on="flow", how="left", maintain_order="left")
    events = events.join(own, on="flow", how="left", maintain_order="left")
    begun = pl.lit(first_window) * pl.col("payload")
    window = pl.col("window").forward_fill().over("flow").fill_null(begun)
    events = events.with_columns(
        window=pl.min_horizontal(window, "advertised"),
        rate_bps=pl.col("rate_bps").forward_fill().over("flow"),
        front=pl.col("end").cum_max().forward_fill().over("flow").fill_null(0),
        acked=pl.col("ack").cum_max().forward_fill().over("flow").fill_null(0),
    )
    before = {
        name: pl.col(name).shift(1).over("flow")
        for name in ("time_ns", "window", "rate_bps", "front", "acked")
    }
    gap = pl.col("payload") * (BITS * NS * GAPS) / before["rate_bps"]
    hesitates = pl.max_horizontal(
        pl.lit(LEAST_NS), pl.col("base_ns").fill_null(0) * HESITATES_RTT, gap
    )
    return events.with_columns(
        room=before["front"] - before["acked"] + (pl.col("end") - pl.col("begin"))
        <= before["window"],
        idle_ns=pl.col("time_ns") - before["time_ns"],
        hesitates_ns=hesitates,
        front=before["front"].fill_null(0),
    )
