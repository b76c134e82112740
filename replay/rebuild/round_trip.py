"""Round trips: how long data took to be acknowledged, and how much of that it waited in queues.

A sample is an ACK of new data beside the sending of the byte before the one that it expects, where
that was sent once. What a pair of hosts needs without queues is the least of its samples. A pair
that never saw its path empty is compared with others of the same last hop: at the same time both
wait in the same queue, so their samples differ by what their ways differ.
"""

import polars as pl

BINS = 3
"""Bins of time that two pairs must share to be compared."""


def samples(sends: pl.DataFrame, acks: pl.DataFrame) -> pl.DataFrame:
    """One row a sample: flow, time_ns (of the ACK), sent_ns, rtt_ns, ece, octets."""
    once = sends.filter(~pl.col("again")).select("flow", "octets", ack="end", sent_ns="time_ns")
    again = sends.filter("again").select("flow", ack="end").unique()
    once = once.join(again, on=["flow", "ack"], how="anti", maintain_order="left")
    heard = acks.select("flow", "ack", "time_ns", "ece").unique(
        ["flow", "ack"], keep="first", maintain_order=True
    )
    found = heard.join(once, on=["flow", "ack"], maintain_order="left")
    return found.with_columns(rtt_ns=pl.col("time_ns") - pl.col("sent_ns")).filter(
        pl.col("rtt_ns") > 0
    )


def waits(found: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """The samples with base_ns of their pair of hosts, and wait_ns beyond it.

    `flows` has one row a flow in order: src, dst (numbers of hosts) and last (that of its last
    hop).
    """
    ends = flows.select("src", "dst", "last", flow=pl.int_range(pl.len(), dtype=pl.Int64))
    told = found.join(ends, on="flow", maintain_order="left")
    own = told.group_by("src", "dst", "last", maintain_order=True).agg(
        base_ns=pl.col("rtt_ns").min(), typical_ns=pl.col("rtt_ns").median()
    )
    bases = own.join(compared(told, own), on=["src", "dst"], how="left", maintain_order="left")
    bases = bases.select(
        "src", "dst", base_ns=pl.min_horizontal("base_ns", "by_others_ns").cast(pl.Int64)
    )
    told = told.join(bases, on=["src", "dst"], maintain_order="left")
    return told.with_columns(wait_ns=(pl.col("rtt_ns") - pl.col("base_ns")).clip(0))


def compared(told: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """Base round trips by comparison: src, dst, by_others_ns.

    Of a last hop the pair with the widest range of samples is the measure.
    """
    spread = told.group_by("src", "dst", "last", maintain_order=True).agg(
        lowest=pl.col("rtt_ns").min(),
        reach=pl.col("rtt_ns").median() / pl.col("rtt_ns").min(),
    )
    measure = spread.sort("reach", descending=True, maintain_order=True).unique(
        "last", keep="first", maintain_order=True
    )
    width = max(round(own["typical_ns"].to_numpy().max()), 1)
    binned = told.with_columns(bin=pl.col("sent_ns") // width)
    middle = binned.group_by("src", "dst", "last", "bin").agg(pl.col("rtt_ns").median())
    of_measure = middle.join(measure.select("src", "dst", "last"), on=["src", "dst", "last"])
    beside = middle.join(of_measure.drop("src", "dst"), on=["last", "bin"], suffix="_measure")
    apart = beside.group_by("src", "dst", "last").agg(
        apart=(pl.col("rtt_ns") - pl.col("rtt_ns_measure")).median(), bins=pl.len()
    )
    lowest = measure.select("last", "lowest")
    return (
        apart.filter(pl.col("bins") >= BINS)
        .join(lowest, on="last")
        .select("src", "dst", by_others_ns=(pl.col("lowest") + pl.col("apart")).clip(1))
    )
