"""The tracker: observations in order -> congestion-control decisions and hop loads.

`Tracker.advance(frame)` takes observations ordered by (time_ns, ACK before data, source, frame) and returns
`Tracked(decisions, hop_loads)`. State is kept per (conversation, point), both directions, so the same packet
seen at two points drives two states once each. Any split of the input into batches gives the same bits.

`decisions`, one row for each ACK and algorithm (`DECISIONS` is the schema). time_ns, source, point, frame,
conversation are those of the ACK; `flow` is the data's flow, whose sender decided. Sequence numbers (ack, lastUpdateSeq, WindowEnd) are modulo 2**32, as on the wire. `branch` is the
name of a `hpcc.Branch` or `dctcp.Branch`; at a window's end BytesAcked and BytesMarked are those of the window
that ended, else of the open one. `quality` and `why` speak of W, Wc, R (hpcc) or alpha (dctcp); U is as good as its
telemetry (`flags`). cwnd and ssthresh are always estimates: what the application wrote is not on the wire.

`hop_loads`, one row for each row with telemetry: time_ns, source, point, frame, conversation, flow (the data's flow),
reflected (read from an ACK: the data's whole path, seen half a round trip late), hop_count, flags
(`hpcc.Flag`), u0..u{n-1} (u' of each hop between this record and the flow's one before at this point; null
when it cannot be known, so on the first), and the observation's h{i}_* columns, for n hops: the most in this batch.

Rows may carry `src_nic_bps`, `dst_nic_bps`, `base_rtt_ns` (from the topology in force); where they are absent or
null the parameters B_nic_bps and T_ns stand in, and for T then the round trip of the handshake.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from collector import HOPS, directed
from pipeline.cc import dctcp, hpcc
from pipeline.cc.parameter import Value
from pipeline.flow import capacity
from pipeline.follow import ACK, follow
from pipeline.memory import (
    COUNTERS,
    DECISION,
    KINDS,
    LOAD,
    POOLS,
    ROW,
    SLOT,
    Algorithm,
    Basis,
    Batch,
    Memory,
    Quality,
    Rules,
    Why,
)

TCP = 6
FIRST_PLACES = 64
HOP_COLUMN = re.compile(r"h\d+_\w+")
FIELDS = {
    **{
        name: name
        for name in ("conversation", "time_ns", "seq", "ack", "flags", "mss", "direction", "ecn")
    },
    **{name: name for name in ("src_nic_bps", "dst_nic_bps", "base_rtt_ns")},
    "payload": "payload_bytes",
    "telemetry": "hop_count",
}
"""Fields of `ROW` and the columns that they are read from."""


def names(kind: type[Any]) -> pl.Enum:
    """The names of an IntEnum that counts from 0 or 1, as a Polars Enum in the order of its values."""
    members = {member.value: member.name.lower() for member in kind}
    return pl.Enum([members.get(value, "none") for value in range(max(members) + 1)])


BRANCH = pl.Enum(["none", *(b.name.lower() for b in (*hpcc.Branch, *dctcp.Branch))])
"""Branches of both algorithms; their codes here are those of HPCC++, then those of DCTCP."""
DIALECT = pl.Enum(["none", *dctcp.DIALECTS])
DECISIONS = pl.Schema(
    {
        "time_ns": pl.Int64(), "source": pl.String(), "point": pl.String(), "frame": pl.UInt64(),
        "conversation": pl.UInt64(), "flow": pl.UInt64(),
        "algorithm": names(Algorithm), "branch": BRANCH, "quality": names(Quality), "why": names(Why),
        "ack": pl.UInt32(), "acked_bytes": pl.Int64(), "marked_bytes": pl.Int64(), "inflight_bytes": pl.Int64(),
        "U": pl.Float64(), "W": pl.Float64(), "Wc": pl.Float64(), "R": pl.Float64(),
        "incStage": pl.Int32(), "lastUpdateSeq": pl.UInt32(), "u_max": pl.Float64(), "u_hop": pl.Int8(),
        "hop_count": pl.Int32(), "flags": pl.Int32(),
        "alpha": pl.Float64(), "M": pl.Float64(), "BytesAcked": pl.Int64(), "BytesMarked": pl.Int64(),
        "WindowEnd": pl.UInt32(), "cwnd": pl.Float64(), "ssthresh": pl.Float64(),
        "dialect": DIALECT, "basis": names(Basis),
    }
)  # fmt: skip
"""Columns of `decisions`; those of the other algorithm are null."""
OF_HPCC = ("U", "W", "Wc", "R", "incStage", "lastUpdateSeq", "u_max", "u_hop", "hop_count", "flags")
OF_DCTCP = (
    "alpha",
    "M",
    "BytesAcked",
    "BytesMarked",
    "WindowEnd",
    "cwnd",
    "ssthresh",
    "dialect",
    "basis",
)


class Tracked(NamedTuple):
    """What a batch gave; see the module."""

    decisions: pl.DataFrame
    hop_loads: pl.DataFrame


class Tracker:
    """Follows every flow at every point.

    `hpcc_parameters` and `dctcp_parameters` change defaults of `hpcc.TABLE` and `dctcp.TABLE`; `flows`
    bounds the live flows (conversation and point), beyond which the longest idle are given up; the moduli are
    the widths of the hops' counters (0: 64 bits). ValueError names a parameter that is not accepted.
    """

    def __init__(
        self,
        hpcc_parameters: Mapping[str, Value] | None = None,
        dctcp_parameters: Mapping[str, Value] | None = None,
        flows: int = 1 << 18,
        ts_modulus_ns: int = 0,
        tx_modulus_bytes: int = 0,
    ) -> None:
        chosen = dict(dctcp_parameters or {})
        asked = dctcp.record(chosen)
        rows = [dctcp.record({**chosen, "dialect": name}) for name in ("auto", *dctcp.DIALECTS)]
        hpcc_record = hpcc.record(hpcc_parameters)
        self.rules = Rules(
            np.array([hpcc_record], hpcc_record.dtype),
            np.array(rows, asked.dtype),
            int(asked.dialect),
            ts_modulus_ns,
            tx_modulus_bytes,
        )
        self.memory = blank(capacity(flows))
        self.points: dict[str, int] = {}
        self.counts = np.zeros(len(COUNTERS), np.int64)

    @property
    def counters(self) -> dict[str, int]:
        """What moved so far, by name."""
        return dict(zip(COUNTERS, self.counts.tolist(), strict=True))

    def advance(self, frame: pl.DataFrame) -> Tracked:
        """Take the next rows; see the module."""
        batch = self.batch_of(frame)
        row = 0
        while (row := follow(batch, self.memory, self.rules, row)) < frame.height:
            self.memory = grown(self.memory)
        self.counts += batch.counts
        return Tracked(decisions_of(frame, batch), hop_loads_of(frame, batch))

    def batch_of(self, frame: pl.DataFrame) -> Batch:
        """The columns of a batch as records, and room for what comes of them."""
        rows = rows_of(frame)
        for point in frame["point"].unique(maintain_order=True):
            self.points.setdefault(point, len(self.points))
        rows["point"] = frame["point"].replace_strict(self.points, return_dtype=pl.Int32).to_numpy()
        told = frame.filter(pl.col("hop_count") > 0)
        rows["telemetry"] = np.where(
            rows["telemetry"] > 0, np.cumsum(rows["telemetry"] > 0) - 1, -1
        )
        stacks = stacks_of(told)
        loads = np.zeros(told.height, LOAD)
        loads["nhop"] = np.minimum(told["hop_count"].to_numpy(), stacks.shape[2])
        if "int_reflected" in told.columns:
            loads["reflected"] = told["int_reflected"].fill_null(value=False).to_numpy()
        acks = int(np.count_nonzero(rows["flags"] & ACK))
        return Batch(
            rows,
            stacks,
            loads,
            np.full((told.height, stacks.shape[2]), np.nan),
            np.zeros(2 * acks, DECISION),
            np.zeros(len(COUNTERS), np.int64),
        )


def blank(slots: int) -> Memory:
    """Memory that remembers nothing."""
    return Memory(
        np.zeros(slots, np.uint64),
        np.zeros(slots, np.int64),
        np.zeros(len(POOLS), np.int64),
        np.zeros(slots, SLOT),
        np.zeros(FIRST_PLACES, hpcc.STATE),
        np.zeros(FIRST_PLACES, dctcp.STATE),
        np.zeros(FIRST_PLACES, hpcc.STATE),
        np.zeros((FIRST_PLACES, len(KINDS) + 1, HOPS), np.int64),
    )


def grown(memory: Memory) -> Memory:
    """The same memory with twice the places in every pool that is full."""
    pools = {}
    for kind, used in zip(POOLS, memory.used, strict=True):
        pool = getattr(memory, kind)
        if used == len(pool):
            pools[kind] = np.concatenate([pool, np.zeros_like(pool)])
    return memory._replace(**pools)


def rows_of(frame: pl.DataFrame) -> NDArray[Any]:
    """The columns that the kernel reads as `ROW`; `telemetry` still counts hops, `point` is 0."""
    rows = np.zeros(frame.height, ROW)
    for field, name in FIELDS.items():
        if name in frame.columns:
            rows[field] = frame[name].fill_null(0).to_numpy()
    rows["tcp"] = frame["protocol"].to_numpy() == TCP
    if "ts_val" in frame.columns:
        rows["timestamps"] = frame["ts_val"].is_not_null().to_numpy()
    return rows


def stacks_of(frame: pl.DataFrame) -> NDArray[np.int64]:
    """The hop values of rows with telemetry as (row, kind, hop), as many hops as the longest stack has."""
    hops = int(np.minimum(frame["hop_count"].to_numpy().max(initial=1), HOPS))
    values = np.full((frame.height, len(KINDS), hops), -1, np.int64)
    for kind, name in enumerate(KINDS):
        for hop in range(hops):
            if f"h{hop}_{name}" in frame.columns:
                column = frame[f"h{hop}_{name}"].cast(pl.Int64, wrap_numerical=True)
                values[:, kind, hop] = column.fill_null(-1).to_numpy()
    return values


def decisions_of(frame: pl.DataFrame, batch: Batch) -> pl.DataFrame:
    """The kernel's rows as `DECISIONS`."""
    made = batch.decisions[: batch.counts[0]]
    context = ("time_ns", "source", "point", "frame", "conversation")
    columns = {name: frame[name].gather(made["row"]) for name in context}
    ours = made["algorithm"] == Algorithm.DCTCP
    columns["branch"] = as_dtype(
        pl.Series("branch", made["branch"] + ours * len(hpcc.Branch)), BRANCH
    )
    columns["flow"] = flow_of(columns["conversation"], made["direction"])
    for name, dtype in DECISIONS.items():
        if name not in columns:
            columns[name] = as_dtype(pl.Series(name, np.ascontiguousarray(made[name])), dtype)
    other = {Algorithm.HPCC: OF_DCTCP, Algorithm.DCTCP: OF_HPCC}
    return (
        pl.DataFrame(columns)
        .with_columns(
            pl.when(pl.col("algorithm") != algorithm.name.lower()).then(pl.col(name)).alias(name)
            for algorithm, fields in other.items()
            for name in fields
        )
        .with_columns(pl.when(pl.col("quality") != "exact").then("why").alias("why"))
        .select(DECISIONS.names())
        .with_columns(cs.float().fill_nan(None))
    )


def flow_of(conversation: pl.Series, direction: NDArray[Any]) -> pl.Series:
    """The flow of each conversation in the given direction."""
    flow = np.empty(len(conversation), np.uint64)
    directed(conversation.to_numpy(), direction.astype(np.uint8), flow)
    return pl.Series("flow", flow)


def as_dtype(values: pl.Series, dtype: Any) -> pl.Series:
    """A kernel's number in the dtype of its column: names from codes, sequence numbers modulo 2**32."""
    if isinstance(dtype, pl.Enum):
        return values.cast(pl.UInt32).replace_strict(
            dict(enumerate(dtype.categories)), return_dtype=dtype
        )
    if dtype == pl.UInt32:
        return values.cast(pl.Int64).cast(pl.UInt32, wrap_numerical=True)
    return values.cast(dtype)


def hop_loads_of(frame: pl.DataFrame, batch: Batch) -> pl.DataFrame:
    """The rows with telemetry, u' of their hops, and what their hops carried."""
    rows = frame.filter(pl.col("hop_count") > 0)
    reflected = batch.loads["reflected"] != 0
    given = [name for name in rows.columns if HOP_COLUMN.fullmatch(name)]
    return rows.select("time_ns", "source", "point", "frame", "conversation").with_columns(
        flow_of(rows["conversation"], rows["direction"].to_numpy() ^ reflected),
        pl.Series("reflected", reflected),
        rows["hop_count"],
        pl.Series("flags", np.ascontiguousarray(batch.loads["flags"])),
        *(
            pl.Series(f"u{hop}", batch.u[:, hop].copy()).fill_nan(None)
            for hop in range(batch.u.shape[1])
        ),
        *(rows[name] for name in given),
    )
