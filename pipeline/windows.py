"""Advertised windows: what each ACK lets its sender have in flight, and whether that was all sent.

The scale of a window is told by the handshake alone (RFC 7323 section 2): of a connection that was
not seen to begin windows are not judged, but for those of 0.

Beside it is told what ACKs acknowledge that no point has seen: of a flow whose data goes another
way, or of which only ACKs are captured, it says when data was sent. Trailing ACKs tell none.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import TCP, arrow, borrowing, inlined
from pipeline.cc.parameter import Record, state_dtype
from pipeline.far_numbers import FAR
from pipeline.flow import WAYS, key_of
from pipeline.point_number import PointNumbers
from pipeline.recent import placed
from pipeline.sender import ACK, RST, SYN, unwrap
from pipeline.signals import reverse

BYTES, FULL = "rwnd", "rwnd_is_full"
"""Columns of rows: the window in bytes, and whether, when it came, the one before the last was
filled but for less than a segment: what the last one let go may not have passed the tap yet."""
UNSEEN = "acked_unseen"
"""Column of rows: bytes that an ACK acknowledges first and of which no point has seen the data."""
PLACES = 1 << 16
"""Conversations at points that are remembered."""
NO_ACK, UNSCALED = -2, -1
UNTOLD, PENDING = -1, 32
"""A scale that is not known, and one that holds if the SYN-ACK has one too."""
SEEN, ACKED = 1, 2
"""What told the end of a sender's data: the data itself, or the last ACK."""
ANYWHERE = 1 << 32
"""Stands for all points in the key of what is known of a conversation at any of them."""
MOST_SCALE = 14
"""The largest scale; more in an option means this (RFC 7323 section 2.3)."""
NEEDED = ("window", "seq", "ack", "flags")

CONVERSATION = state_dtype(
    ("u8", "key"), (("u4", 2), "nxt", "edge", "before"), (("i4", 2), "largest"),
    (("i2", 2), "scale"), (("i1", 2), "sent", "allowed"),
)  # fmt: skip
"""One conversation at one point. By the direction of the data: its end so far, the ends that the
last two ACKs let it have, its largest segment, whether any came and how many of these ends are
known; scale is by that of the ACKs. Its fields leave no gap, which a snapshot would not keep.

Of one at any point `nxt` is the end that data or ACKs tell, and `sent` which of them did last
(`SEEN`, `ACKED`)."""


class Windows:
    """Follows the windows of all connections."""

    def __init__(self) -> None:
        self.points = PointNumbers()
        self.known = np.zeros(PLACES, CONVERSATION)
        self.times = np.zeros(PLACES, np.int64)

    def told(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows in order, with `rwnd`, `rwnd_is_full`, `acked_unseen` where they are of TCP."""
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
        unseen = np.zeros(rows.height, np.int64)
        fields = [
            arrow.fixed(each.astype(np.int64, copy=False))
            for each in (
                *told.values(), arrow.values(rows["payload_bytes"]),
                arrow.values(rows["direction"]), arrow.values(rows["protocol"]), scales, point,
            )
        ]  # fmt: skip
        follow(
            np.stack(fields), arrow.values(rows["conversation"]), arrow.values(rows["time_ns"]),
            self.known, self.times, octets, full, unseen,
        )  # fmt: skip
        made = (pl.Series(BYTES, octets), pl.Series(FULL, full), pl.Series(UNSEEN, unseen))
        return rows.with_columns(made)


def counted_windows(rows: pl.DataFrame) -> pl.DataFrame:
    """Windows that each row's reverse flow was given: time_ns, flow, point and counts.

    With them goes what was acknowledged of it unseen.
    """
    if BYTES not in rows.columns:
        return rows[["time_ns", "flow", "point"]].clear()
    needed = ("time_ns", "point", "conversation", "direction", "window", BYTES, FULL, UNSEEN)
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
        UNSEEN,
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
    unseen: NDArray[np.int64],
) -> None:
    """Every TCP row: what it lets the other end send, and how far its own data goes."""
    for at in range(conversation.size):
        window, seq, ack, flags = told[0, at], told[1, at], told[2, at], told[3, at]
        payload, r, scale = told[4, at], told[5, at], told[7, at]
        if told[6, at] != TCP or flags & RST:
            continue
        anew = flags & (SYN | ACK) == SYN
        key = key_of(conversation[at], ANYWHERE)
        c = known[seen_at(known, times, key, time_ns[at], anew)]
        unseen[at] = acked_unseen(c, r, seq, ack, flags, payload)
        key = key_of(conversation[at], told[8, at])
        c = known[seen_at(known, times, key, time_ns[at], anew)]
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
def seen_at(
    known: NDArray[np.void], times: NDArray[np.int64], key: np.uint64, time_ns: int, anew: bool
) -> int:
    """The place of a conversation that is seen now, from its beginning where there is another."""
    place = placed(known["key"], times, key, WAYS)
    times[place] = time_ns
    if anew or known[place].key != key:
        begin(known[place], key)
    return int(place)


@inlined
def begin(c: Record, key: np.uint64) -> None:
    """Another conversation, or a new connection."""
    c.key = key
    for r in range(2):
        c.nxt[r], c.edge[r], c.largest[r], c.sent[r], c.allowed[r] = 0, 0, 0, 0, 0
        c.scale[r] = UNTOLD


@inlined
def acked_unseen(c: Record, r: int, seq: int, ack: int, flags: int, payload: int) -> int:
    """What a row acknowledges beyond all that was seen or acknowledged at any point, bytes.

    The first ACK beyond data that was seen tells none: a frame or a FIN that was not captured is no
    data that goes another way.
    """
    d, beyond = 1 - r, 0
    if flags & SYN:
        if c.sent[r] == 0:
            c.nxt[r], c.sent[r] = seq + 1 + payload & 0xFFFFFFFF, SEEN if payload > 0 else ACKED
        return 0
    if flags & ACK:
        ahead = unwrap(ack, int(c.nxt[d])) - int(c.nxt[d])
        if c.sent[d] == 0 or abs(ahead) > FAR:
            c.nxt[d], c.sent[d] = ack, ACKED
        elif ahead > 0:
            beyond = ahead if c.sent[d] == ACKED else 0
            c.nxt[d], c.sent[d] = ack, ACKED
    if payload > 0:
        end = seq + payload & 0xFFFFFFFF
        ahead = unwrap(end, int(c.nxt[r])) - int(c.nxt[r])
        if c.sent[r] == 0 or ahead > 0 or ahead < -FAR:
            c.nxt[r] = end
        c.sent[r] = SEEN
    return beyond


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
