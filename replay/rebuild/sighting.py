"""Sightings: what captured frames say of each sender, as two flat tables in the flows' own bytes.

`sends` has one row a frame of data: flow (row of `flows`), time_ns, begin and end in the stream
(0 is its first byte that was seen), `again` where it had been sent before, `octets` of the frame.
`acks` has one row an acknowledgment that its sender heard: flow, time_ns, ack (the next byte
expected), `ece`, and what the stack that it reflects says of each hop, h{i}_*. Decisions of the
recurrences stand beside them: `window` in bytes and `rate_bps` as they were after this ACK.

Sequence numbers are unwrapped by their differences, so a stream may be longer than 4 GB.
"""

from typing import NamedTuple

import polars as pl

from collector import TCP
from pipeline import MOST_SCALE

KEY = ("src_hi", "src_lo", "sport", "dst_hi", "dst_lo", "dport", "protocol")
SYN, ACK, FIN, ECE = 2, 16, 1, 64
TURN, HALF = 1 << 32, 1 << 31
CE = 3
MOST_HOPS = 5
"""Hops that the simulator has room for."""
HOP = ("qlen_bytes", "b_bps", "node", "port", "tx_bytes")
"""What is kept of each hop of a stack."""
READ = {
    "seq": pl.UInt32, "ack": pl.UInt32, "flags": pl.UInt16, "window": pl.UInt16,
    "wscale": pl.UInt8, "ecn": pl.UInt8, "hpcc_kind": pl.UInt8, "roce_psn": pl.UInt32,
}  # fmt: skip
"""Columns that rows may lack."""


class Sightings(NamedTuple):
    """See the module; `flows` has one row a direction that carried data, in order of beginning.

    Its columns: the key, `started_ns` (of the handshake, else of the first data), `handshake`
    (whether it was seen), `ended` (FIN), `payload`, `data_octets`, `ack_octets`, `window`
    (largest that was advertised), `each` (segments that an ACK stands for), `algorithm`,
    `dialect`, `t_ns`, `marked_seen` (CE on data here: the tap is behind a queue that marks),
    `ecn` (its data is ECN-capable), `third_ns` (when its handshake was over), `behind_ns` (round
    trip from the tap back to the sender).
    """

    flows: pl.DataFrame
    sends: pl.DataFrame
    acks: pl.DataFrame
    roce: int = 0
    """Frames of RoCE data, which counts packets and asks for them by messages: no stream here."""


def sightings(rows: pl.DataFrame, decisions: pl.DataFrame) -> Sightings:
    """What observations of one point, in order of time, and their decisions say."""
    absent = [pl.lit(None, kind).alias(name) for name, kind in READ.items()
              if name not in rows.columns]  # fmt: skip
    numbered = rows.with_columns(absent).with_row_index("at")
    data = data_of(numbered)
    heads = data.group_by("flow", maintain_order=True).agg(
        pl.col("conversation", "direction", *KEY, "time_ns").first(), pl.col("begin").first()
    )
    acks = acks_of(numbered, heads, decisions)
    sends = relative(data)
    flows = flows_of(numbered, heads, sends, acks)
    order = flows.select("flow", number=pl.int_range(pl.len(), dtype=pl.Int64))
    sends, acks = (renumbered(each, order) for each in (sends, acks))
    kept = ("flow", "time_ns", "begin", "end", "again", "octets", *hop_columns(sends))
    roce = numbered.filter(pl.col("roce_psn").is_not_null(), pl.col("payload_bytes") > 0).height
    return Sightings(flows.drop("flow"), sends.select(kept), acks, roce)


def from_one_point(
    rows: pl.DataFrame, decisions: pl.DataFrame, point: str | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of each conversation the rows of one point: that with the most exact decisions, then rows."""
    if point is not None:
        return rows.filter(point=point), decisions.filter(point=point)
    if rows["point"].n_unique() == 1:
        return rows, decisions
    sure = pl.col("quality").cast(pl.String) == "exact"
    known = decisions.join(
        rows.select("source", "frame", "conversation"), on=["source", "frame"], how="left"
    ).group_by("conversation", "point").agg(exact=sure.sum())  # fmt: skip
    seen = rows.group_by("conversation", "point").len().join(
        known, on=["conversation", "point"], how="left"
    ).sort("conversation", "exact", "len", "point",
           descending=[False, True, True, False], nulls_last=True)  # fmt: skip
    best = seen.unique("conversation", keep="first", maintain_order=True)
    kept = rows.join(best, on=["conversation", "point"], how="semi", maintain_order="left")
    return kept, decisions.join(kept, on=["source", "frame"], how="semi", maintain_order="left")


def is_hop(name: str) -> bool:
    """Whether a column of observations is of what is kept of stacks."""
    hop, _, rest = name.partition("_")
    numbers = {f"h{number}" for number in range(MOST_HOPS)}
    return name == "hop_count" or (hop in numbers and rest in HOP)


def data_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that carry data of a stream, with `begin` as on the wire and `bytes`."""
    of_stream = (pl.col("protocol") == TCP) | (pl.col("hpcc_kind") == 0)
    return rows.filter(pl.col("payload_bytes") > 0, of_stream, pl.col("seq").is_not_null()).select(
        "at", "flow", "conversation", "direction", "time_ns", *KEY, "ecn", "flags",
        *hop_columns(rows),
        begin=pl.col("seq").cast(pl.Int64),
        bytes=pl.col("payload_bytes").cast(pl.Int64),
        octets=pl.col("length").cast(pl.Int64),
    )  # fmt: skip


def hop_columns(rows: pl.DataFrame) -> list[str]:
    """The columns of stacks that are there."""
    wanted = [f"h{hop}_{name}" for hop in range(MOST_HOPS) for name in HOP]
    return [name for name in ("hop_count", *wanted) if name in rows.columns]


def unwrapped(name: str) -> pl.Expr:
    """A sequence number by its differences from row to row of its flow."""
    step = (pl.col(name) - pl.col(name).shift(1) + HALF) % TURN - HALF
    return step.fill_null(0).cum_sum().over("flow", order_by="at")


def relative(data: pl.DataFrame) -> pl.DataFrame:
    """Data in bytes of its stream from the first that was seen; `again`: it was sent before."""
    data = data.with_columns(begin=unwrapped("begin")).filter(pl.col("begin") >= 0)
    data = data.with_columns(end=pl.col("begin") + pl.col("bytes"))
    highest = pl.col("end").cum_max().shift(1).over("flow", order_by="at")
    return data.with_columns(again=(pl.col("begin") < highest).fill_null(value=False))


def acks_of(rows: pl.DataFrame, heads: pl.DataFrame, decisions: pl.DataFrame) -> pl.DataFrame:
    """Acknowledgments of each stream, with what its sender decided."""
    is_ack = (
        (pl.col("protocol") == TCP) & (pl.col("flags") & ACK > 0) & (pl.col("flags") & SYN == 0)
    )
    is_ack = is_ack.fill_null(value=False) | (pl.col("hpcc_kind") == 1)
    back = heads.select(
        "flow", "conversation", "begin", direction=(1 - pl.col("direction")).cast(pl.UInt8)
    )
    found = (
        rows.filter(is_ack, pl.col("ack").is_not_null())
        .drop("flow")
        .join(back, on=["conversation", "direction"], maintain_order="left")
    )
    ece = (pl.col("flags").cast(pl.Int64) & ECE > 0).fill_null(value=False)
    found = found.select(
        "at", "flow", "time_ns", "source", "frame", *hop_columns(found), "payload_bytes",
        base=pl.col("begin"),
        ack=pl.col("ack").cast(pl.Int64),
        ece=ece,
        octets=pl.col("length").cast(pl.Int64),
        window=pl.col("window").cast(pl.Int64),
    ).sort("at")  # fmt: skip
    first = (pl.col("ack") - pl.col("base") + HALF) % TURN - HALF
    found = found.with_columns(first=first.first().over("flow", order_by="at"))
    found = found.with_columns(ack=pl.col("first") + unwrapped("ack")).drop("first", "base")
    decided = decisions.select(
        "source", "frame", "flow", "algorithm", "quality", "alpha", "R", "dialect",
        decided=pl.coalesce("W", "cwnd"),
    ).unique(["source", "frame", "flow"], keep="first")  # fmt: skip
    return found.join(
        decided, on=["source", "frame", "flow"], how="left", maintain_order="left"
    ).rename({"R": "rate_bps", "window": "advertised", "decided": "window"})


def flows_of(
    rows: pl.DataFrame,
    heads: pl.DataFrame,
    sends: pl.DataFrame,
    acks: pl.DataFrame,
) -> pl.DataFrame:
    """One row a flow; see `Sightings`."""
    sent = sends.group_by("flow").agg(
        payload=pl.col("bytes").max(),
        data_octets=pl.col("octets").sort_by("bytes").last(),
        marked_seen=(pl.col("ecn") == CE).any(),
        ecn=(pl.col("ecn") > 0).any(),
        ended=(pl.col("flags").cast(pl.Int64) & FIN > 0).any(),
    )
    pure = pl.col("octets").filter(pl.col("payload_bytes") == 0)
    moved = pl.col("ack").diff().over("flow", order_by="at")
    heard = acks.with_columns(moved=moved).group_by("flow").agg(
        ack_octets=pl.coalesce(pure.median(), pl.col("octets").min()).cast(pl.Int64),
        moved=pl.col("moved").filter(pl.col("moved") > 0).median(),
        advertised=pl.col("advertised").max(),
        algorithm=pl.col("algorithm").drop_nulls().mode().first(),
        dialect=pl.col("dialect").drop_nulls().mode().first(),
    )  # fmt: skip
    flows = (
        heads.drop("begin")
        .join(sent, on="flow", how="left", maintain_order="left")
        .join(heard, on="flow", how="left", maintain_order="left")
    )
    flows = flows.join(handshakes(rows, heads), on="flow", how="left", maintain_order="left")
    each = (pl.col("moved") / pl.col("payload")).round().clip(1, 64).fill_null(1).cast(pl.Int64)
    window = pl.col("advertised") * (2 ** pl.col("scale").fill_null(0).cast(pl.Int64))
    return flows.with_columns(
        started_ns=pl.coalesce("syn_ns", "time_ns"),
        handshake=pl.col("syn_ns").is_not_null(),
        each=each,
        window=window.fill_null(1 << 40),
    ).sort("started_ns", maintain_order=True)  # fmt: skip


def handshakes(rows: pl.DataFrame, heads: pl.DataFrame) -> pl.DataFrame:
    """Of each flow that opened its connection here: when, its receiver's scale, its round trips."""
    flags = pl.col("flags").cast(pl.Int64)
    opening = rows.filter(pl.col("protocol") == TCP, flags & SYN > 0)
    syn = opening.filter(flags & ACK == 0).group_by("flow").agg(syn_ns=pl.col("time_ns").min())
    answer = (
        opening.filter(flags & ACK > 0)
        .group_by("conversation")
        .agg(
            answer_ns=pl.col("time_ns").min(),
            scale=pl.col("wscale").cast(pl.Int64).first().clip(upper_bound=MOST_SCALE),
        )
    )
    third = (
        rows.join(heads.select("flow"), on="flow", how="semi")
        .filter(pl.col("protocol") == TCP, (flags & (SYN | ACK)) == ACK)
        .group_by("flow")
        .agg(third_ns=pl.col("time_ns").min())
    )
    return (
        heads.select("flow", "conversation")
        .join(syn, on="flow", how="left")
        .join(answer, on="conversation", how="left")
        .join(third, on="flow", how="left")
        .select(
            "flow", "syn_ns", "scale", "third_ns",
            behind_ns=pl.when(pl.col("syn_ns").is_not_null())
            .then(pl.col("third_ns") - pl.col("answer_ns")).fill_null(0).clip(0),
        )
    )  # fmt: skip


def renumbered(rows: pl.DataFrame, order: pl.DataFrame) -> pl.DataFrame:
    """Rows by the number of their flow."""
    return (
        rows.join(order, on="flow", maintain_order="left").drop("flow").rename({"number": "flow"})
    )
