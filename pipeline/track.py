"""The tracker: observations in order in, congestion-control decisions and hop loads out.

`Tracker.advance(frame)` takes observations ordered by (time_ns, ACK before data, source, frame) and
returns `Tracked(decisions, hop_loads)`, whose columns `decided` describes. State is kept per
(conversation, point), both directions, so that a packet seen at two points drives each state once.
Any split of the input into batches gives the same bits.

Rows may carry `src_nic_bps`, `dst_nic_bps` and `base_rtt_ns` (from the topology in force); where
they are absent or null the parameters B_nic_bps and T_ns stand in, and for T then the round trip of
the handshake.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import HOPS
from pipeline.cc import dctcp, hpcc
from pipeline.cc.hop_record import KEPT, KINDS, MAX_HOPS, mask
from pipeline.cc.parameter import Value
from pipeline.decided import DECISIONS, decisions_of, hop_loads_of
from pipeline.flow import capacity
from pipeline.follow import follow
from pipeline.memory import (
    DECISION,
    LOAD,
    PENDING,
    POOLS,
    ROW,
    SLOT,
    Batch,
    Count,
    Memory,
    Rules,
)
from pipeline.sender import ACK

__all__ = ["DECISIONS", "Tracked", "Tracker"]

TCP = 6
FIRST_PLACES = 64
FIELDS = {
    "conversation": "conversation", "time_ns": "time_ns", "direction": "direction", "seq": "seq",
    "ack": "ack", "tcp_flags": "flags", "payload": "payload_bytes", "mss": "mss", "ecn": "ecn",
    "src_nic_bps": "src_nic_bps", "dst_nic_bps": "dst_nic_bps", "base_rtt_ns": "base_rtt_ns",
    "telemetry": "hop_count",
}  # fmt: skip
"""Fields of `ROW` and the columns that they are read from."""


class Tracked(NamedTuple):
    """What a batch gave; the columns are described in `decided`."""

    decisions: pl.DataFrame
    hop_loads: pl.DataFrame


class Tracker:
    """Follows every flow at every point.

    `hpcc_parameters` and `dctcp_parameters` change defaults of `hpcc.TABLE` and `dctcp.TABLE`;
    `flows` bounds the live flows (a conversation at a point), beyond which the longest idle are
    given up; the moduli are the widths of the hops' counters (0: 64 bits). ValueError names a
    parameter that is not accepted.
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
            mask(ts_modulus_ns),
            mask(tx_modulus_bytes),
        )
        self.memory = blank(capacity(flows))
        self.points: dict[str, int] = {}
        self.counts = np.zeros(len(Count), np.int64)

    @property
    def counters(self) -> dict[str, int]:
        """What moved so far, by name."""
        return {count.name.lower(): int(self.counts[count]) for count in Count}

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
        loads["nhop"] = np.minimum(told["hop_count"].to_numpy(), stacks.shape[1])
        if "int_reflected" in told.columns:
            loads["reflected"] = told["int_reflected"].fill_null(value=False).to_numpy()
        acks = int(np.count_nonzero(rows["tcp_flags"] & ACK))
        return Batch(
            rows,
            stacks,
            loads,
            np.full((told.height, stacks.shape[1]), np.nan),
            np.zeros(2 * acks, DECISION),
            np.zeros(len(Count), np.int64),
        )


def blank(slots: int) -> Memory:
    """Memory that remembers nothing."""
    return Memory(
        np.zeros(slots, np.uint64),
        np.zeros(slots, np.int64),
        np.zeros(len(POOLS) + 1, np.int64),
        np.zeros(slots, SLOT),
        np.zeros(FIRST_PLACES, hpcc.STATE),
        np.zeros(FIRST_PLACES, dctcp.STATE),
        np.zeros(FIRST_PLACES, hpcc.STATE),
        np.zeros(FIRST_PLACES, PENDING),
        np.zeros((FIRST_PLACES, KEPT), np.int64),
        np.zeros(MAX_HOPS + 1, np.int64),
    )


def grown(memory: Memory) -> Memory:
    """The same memory with more places in every pool that is full."""
    pools = {}
    for kind, used in zip((*POOLS, "links"), memory.used, strict=True):
        pool = getattr(memory, kind)
        if used + 2 * MAX_HOPS > len(pool):
            more = np.zeros((max(len(pool) // 2, 4 * MAX_HOPS), *pool.shape[1:]), pool.dtype)
            pools[kind] = np.concatenate([pool, more])
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
    """Hop values of rows with telemetry as (kind, hop, row), hops as the longest stack has."""
    hops = int(np.minimum(frame["hop_count"].to_numpy().max(initial=1), HOPS))
    values = np.full((len(KINDS), hops, frame.height), -1, np.int64)
    for kind, name in enumerate(KINDS):
        for hop in range(hops):
            if f"h{hop}_{name}" in frame.columns:
                column = frame[f"h{hop}_{name}"]
                if column.null_count():
                    column = column.cast(pl.Int64, wrap_numerical=True).fill_null(-1)
                values[kind, hop] = column.to_numpy()
    return values
