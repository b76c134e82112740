"""Advertised windows: what each ACK lets its sender have in flight, and whether that was all sent.

The scale of a window is told by the handshake alone (RFC 7323 section 2): of a connection that was
not seen to begin windows are not judged, but for those of 0.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import TCP, arrow, borrowing, inlined
from pipeline.cc.parameter import Record, state_dtype
from pipeline.flow import WAYS, key_of
from pipeline.point_number import PointNumbers
from pipeline.recent import placed
from pipeline.sender import ACK, RST, SYN, unwrap
from pipeline.signals import reverse

BYTES, FULL = "rwnd", "rwnd_is_full"
"""Columns of rows: the window in bytes, and whether, when it came, the one before the last was
filled but for less than a segment: what the last one let go may not have passed the tap yet."""
PLACES = 1 << 16
"""Conversations at points that are remembered."""
NO_ACK, UNSCALED = -2, -1
UNTOLD, PENDING = -1, 32
"""A scale that is not known, and one that holds if the SYN-ACK has one too."""
MOST_SCALE = 14
"""The largest scale; more in an option means this (RFC 7323 section 2.3)."""
NEEDED = ("window", "seq", "ack", "flags")

CONVERSATION = state_dtype(
    ("u8", "key"), (("u4", 2), "nxt", "edge", "before"), (("i4", 2), "largest"),
    (("i2", 2), "scale"), (("i1", 2), "sent", "allowed"),
)  # fmt: skip
"""One conversation at one point. By the direction of the data: its end so far, the ends that the
last two ACKs let it have, its largest segment, whether any came and how many of these ends are
known; scale is by that of the ACKs. Its fields leave no gap, which a snapshot would not keep."""


class Windows:
    """Follows the windows of all connections."""

    def __init__(self) -> None:
        self.points = PointNumbers()
        self.known = np.zeros(PLACES, CONVERSATION)
        self.times = np.zeros(PLACES, np.int64)

    def told(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows in order, with `rwnd` and `rwnd_is_full` where they are of TCP."""
        point = self.points.of(rows["point"])
        if any(name not in rows.columns for name in NEEDED):
            return rows
        told = {name: arrow.values(rows[name]) for name in NEEDED}
        scales = np.full(rows.height, UNTOLD, np.int8)
        if "wscale" in rows.columns:
            least = rows["wscale"].clip(upper_bound=MOST_SCALE)
            scales = least.cast(pl.Int8).fill_null(UNTOLD).to_numpy()
        octets = np.full(rows.height, NO_ACK, np.int64)
        full = np.zeros(rows.height, np.bool_)
        fields = [
            arrow.fixed(each.astype(np.int64, copy=False))
            for each in (
                *told.values(), arrow.values(rows["payload_bytes"]),
                arrow.values(rows["direction"]), arrow.values(rows["protocol"]), scales, point,
            )
        ]  # fmt: skip
        follow(
            np.stack(fields), arrow.values(rows["conversation"]), arrow.values(rows["time_ns"]),
            self.known, self.times, octets, full,
        )  # fmt: skip
        return rows.with_columns(pl.Series(BYTES, octets), pl.Series(FULL, full))


def counted_windows(rows: pl.DataFrame) -> pl.DataFrame:
    """Windows that each row's reverse flow was given: time_ns, flow, point and counts."""
    if BYTES not in rows.columns:
        return rows[["time_ns", "flow", "point"]].clear()
    needed = ("time_ns", "point", "conversation", "direction", "window", BYTES, FULL)
    told = rows.select(needed).filter(pl.col(BYTES) != NO_ACK)
    known, number = pl.col(BYTES) >= 0, pl.UInt64
    return told.select(
        "time_ns",
        reverse(told).alias("flow"),
        "point",
        known.cast(number).alias("rwnd_acks"),
        (known & pl.col(FULL)).cast(number).alias("rwnd_full"),
        (pl.col("window") == 0).cast(number).alias("rwnd_zero"),
        (~known).cast(number).alias("rwnd_unscaled"),
        pl.when(known).then(BYTES).otherwise(0).cast(number).alias("rwnd_sum_bytes"),
    )


@borrowing
def follow(
    told: NDArray[np.int64],
    conversation: NDArray[np.uint64],
    time_ns: NDArray[np.int64],
    known: NDArray[np.void],
    times: NDArray[np.int64],
    octets: NDArray[np.int64],
    full: NDArray[np.bool_],
) -> None:
    """Every TCP row: what it lets the other end send, and how far its own data goes."""
    keys = known["key"]
    for at in range(conversation.size):
        window, seq, ack, flags = told[0, at], told[1, at], told[2, at], told[3, at]
        payload, r, scale = told[4, at], told[5, at], told[7, at]
        if told[6, at] != TCP or flags & RST:
            continue
        key = key_of(conversation[at], told[8, at])
        place = placed(keys, times, key, WAYS)
        c, times[place] = known[place], time_ns[at]
        if c.key != key or flags & (SYN | ACK) == SYN:
            begin(c, key)
        if flags & SYN:
            agree(c, r, flags, scale)
            continue
        d = 1 - r
        if flags & ACK:
            room = unwrap(int(c.before[d]), int(c.nxt[d])) - int(c.nxt[d])
            full[at] = c.allowed[d] > 1 and c.sent[d] != 0 and room < c.largest[d]
            shift = c.scale[r]
            octets[at] = window << shift if 0 <= shift < PENDING else UNSCALED
            c.allowed[d] = min(c.allowed[d] + 1, 2) if octets[at] >= 0 else 0
            if octets[at] >= 0:
                c.before[d], c.edge[d] = c.edge[d], ack + octets[at] & 0xFFFFFFFF
        if payload > 0:
            end = seq + payload
            if not c.sent[r] or unwrap(end & 0xFFFFFFFF, int(c.nxt[r])) > c.nxt[r]:
                c.nxt[r] = end & 0xFFFFFFFF
            c.sent[r] = 1
            c.largest[r] = max(c.largest[r], payload)


@inlined
def begin(c: Record, key: np.uint64) -> None:
    """Another conversation, or a new connection."""
    c.key = key
    for r in range(2):
        c.nxt[r], c.edge[r], c.largest[r], c.sent[r], c.allowed[r] = 0, 0, 0, 0, 0
        c.scale[r] = UNTOLD


@inlined
def agree(c: Record, r: int, flags: int, scale: int) -> None:
    """A SYN or SYN-ACK: both ends scale, or neither."""
    if scale == UNTOLD:
        c.scale[0], c.scale[1] = 0, 0
    elif flags & ACK == 0:
        c.scale[r] = PENDING + scale
    else:
        c.scale[r] = scale
        if c.scale[1 - r] >= PENDING:
            c.scale[1 - r] -= PENDING
