"""Accurate ECN (RFC 9768): connections that negotiated it, and what each ACK says was marked.

On such a connection AE, CWR and ECE of every segment but SYNs are one number, ACE: the packets that
came with CE, modulo 8. It must not be read as ECE. An option may count the bytes that came with CE,
modulo 2**24. A SYN with all three flags asks for it, a SYN-ACK agrees (section 3.1.1, table 2). Of
a connection whose handshake was not seen its option tells it, or the flag AE, which nothing else in
use sets; of one that shows neither it is not known (`Echo.UNKNOWN`).
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collector import TCP, arrow, borrowing, inlined
from pipeline.cc.parameter import Record, state_dtype
from pipeline.far_numbers import FAR
from pipeline.flow import WAYS, key_of
from pipeline.memory import Echo
from pipeline.point_number import PointNumbers
from pipeline.recent import placed
from pipeline.sender import ACK, RST, SYN, unwrap

ECHO, MARKED, CE_BYTES = "ecn_echo", "ecn_marked", "accecn_ceb"
AE, ACE_AT, ACE, ACE_FIRST = 256, 6, 7, 5
"""The flag AE, where ACE begins in the flags, its bits, and what it counts from."""
ACE_FLAGS = np.uint16(ACE << ACE_AT)
AGREES = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6
"""ACE of the SYN-ACKs that agree: by it they say how the SYN arrived."""
COUNTED = 1 << 24
PLACES = 1 << 14
"""Conversations at points that are remembered."""
NONE, ASKED, AGREED = range(3)
UNTOLD, SHAKING = -1, -2
"""A counter that was not heard yet; ACE of a sender whose first segment behind its SYN says in it
how the SYN-ACK arrived."""
ECHO_BITS = {echo.name.lower(): 1 << echo >> 1 for echo in Echo}
"""Bits of the column `ecn_echo` of intervals: none of ECE."""

CONNECTION = state_dtype(
    ("u8", "key"), (("u4", 2), "ack"), (("i4", 2), "ceb"), (("i1", 2), "ace", "told"),
    ("i4", "state"),
)  # fmt: skip
"""One conversation at one point, pairs by the direction of the ACK: its highest number, the
counters that it had, and whether an option told bytes. Fields leave no gap, which a snapshot would
not keep."""


class AccurateEcn:
    """Knows which connections count; memory is taken when the first one shows."""

    def __init__(self) -> None:
        self.points = PointNumbers()
        self.known = np.zeros(0, CONNECTION)
        self.times = np.zeros(PLACES, np.int64)

    def told(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows in order, with `ecn_echo` (`Echo`) and `ecn_marked` once a connection has shown.

        The latter is what each ACK is the first to call marked, in what the former says.
        """
        point = self.points.of(rows["point"])
        if "flags" not in rows.columns:
            return rows
        flags = arrow.fixed(arrow.values(rows["flags"]).astype(np.uint16, copy=False))
        counted = CE_BYTES in rows.columns
        first = 0
        if not self.known.size:
            shown = flags & AE != 0
            if counted:
                shown |= rows[CE_BYTES].is_not_null().to_numpy()
            if shown.any():
                shown &= rows["protocol"].to_numpy() == TCP
            if not shown.any():
                return rows
            self.known, first = np.zeros(PLACES, CONNECTION), int(shown.argmax())
        ce_bytes = np.full(rows.height, UNTOLD, np.int32)
        if counted:
            ce_bytes = rows[CE_BYTES].cast(pl.Int32).fill_null(UNTOLD).to_numpy()
        echo, marked = np.zeros(rows.height, np.uint8), np.zeros(rows.height, np.int32)
        kind = np.stack([rows["protocol"].to_numpy(), rows["direction"].to_numpy()])
        follow(
            arrow.values(rows["conversation"]), arrow.fixed(point), arrow.values(rows["time_ns"]),
            kind, flags, rows["ack"].fill_null(0).to_numpy(), arrow.fixed(ce_bytes), first,
            self.known, self.times, echo, marked,
        )  # fmt: skip
        return rows.with_columns(pl.Series(ECHO, echo), pl.Series(MARKED, marked))


def how_marked() -> pl.Expr:
    """How marked bytes of decisions were told, as bits (`ecn_echo`)."""
    bits = pl.col("echo").replace_strict(ECHO_BITS, return_dtype=pl.UInt8)
    marked = bits.filter(pl.col("marked_bytes") > 0)
    return marked.bitwise_or().fill_null(0).alias("ecn_echo")


@borrowing
def follow(
    conversation: NDArray[np.uint64],
    point: NDArray[np.int32],
    time_ns: NDArray[np.int64],
    kind: NDArray[np.uint8],
    flags: NDArray[np.uint16],
    ack: NDArray[np.uint32],
    ce_bytes: NDArray[np.int32],
    first: int,
    known: NDArray[np.void],
    times: NDArray[np.int64],
    echo: NDArray[np.uint8],
    marked: NDArray[np.int32],
) -> None:
    """Every TCP row from `first` on: what it negotiates, or what it says was marked.

    `kind` is the protocol and the direction of each.
    """
    keys = known["key"]
    for at in range(first, flags.size):
        if kind[0, at] != TCP or flags[at] & RST:
            continue
        key, r, told = key_of(conversation[at], point[at]), kind[1, at] | 0, flags[at] | 0
        place = placed(keys, times, key, WAYS)
        c = known[place]
        if told & SYN:
            negotiate(c, key, r, told)
        elif counts(c, key, told, ce_bytes[at]):
            echo[at], marked[at] = Echo.BYTES.value, 0
            if told & ACK:
                echo[at], marked[at] = hear(c, r, told >> ACE_AT & ACE, ack[at], ce_bytes[at])
        if c.key == key:
            times[place] = time_ns[at]


@inlined
def counts(c: Record, key: np.uint64, flags: int, ce_bytes: int) -> bool:
    """Whether a connection counts, or shows by this segment that it does."""
    known = c.key == key
    if known and c.state == AGREED:
        return True
    shows = flags & ACK and (flags & AE or ce_bytes != UNTOLD)
    if not shows or (known and c.state != ASKED):
        return False
    begin(c, key)
    c.state = AGREED
    return True


@inlined
def begin(c: Record, key: np.uint64) -> None:
    """Another conversation takes the place."""
    c.key = key
    c.state = NONE
    for r in range(2):
        c.ack[r], c.ceb[r], c.ace[r], c.told[r] = 0, UNTOLD, UNTOLD, 0


@inlined
def negotiate(c: Record, key: np.uint64, r: int, flags: int) -> None:
    """SYN and SYN-ACK. What the ends count begins with 5 packets and 0 bytes."""
    said = flags >> ACE_AT & ACE
    if flags & ACK == 0:
        if said == ACE or c.key == key:
            begin(c, key)
            c.state = ASKED if said == ACE else NONE
        return
    if c.key == key and c.state == AGREED:
        return
    if AGREES >> said & 1 and (c.key != key or c.state == ASKED):
        begin(c, key)
        c.state = AGREED
        c.ace[r], c.ace[1 - r] = ACE_FIRST, SHAKING
        c.ceb[0], c.ceb[1] = 0, 0
    elif c.key == key:
        c.state = NONE


@inlined
def hear(c: Record, r: int, ace: int, ack: int, ce_bytes: int) -> tuple[int, int]:
    """What an ACK of direction r is the first to call marked, and in what (`Echo`).

    Bytes count from the first option on; of an ACK without one the next one tells.
    """
    if c.ace[r] == SHAKING:
        c.ace[r] = ACE_FIRST
        ace = ACE_FIRST
    behind = int(c.ack[r]) - unwrap(ack, int(c.ack[r])) if c.ack[r] != 0 else 0
    if behind > FAR:  # another connection's, of which nothing was told before
        c.ace[r], c.ceb[r] = UNTOLD, UNTOLD
    heard = c.ace[r] != UNTOLD
    if 0 < behind <= FAR:
        return Echo.BYTES.value if c.told[r] else Echo.SEGMENTS.value, 0
    more = (ace - c.ace[r]) & ACE if heard else 0
    c.ace[r], c.ack[r] = ace, ack
    if ce_bytes == UNTOLD:
        if c.told[r]:
            return Echo.BYTES.value, 0
        if more:  # what it tells of must not be told again by an option
            c.ceb[r] = UNTOLD
        return Echo.SEGMENTS.value, more
    before, c.told[r] = int(c.ceb[r]), 1
    octets = ce_bytes - before & COUNTED - 1
    if before != UNTOLD and octets >= COUNTED >> 1:
        return Echo.BYTES.value, 0
    c.ceb[r] = ce_bytes
    if before == UNTOLD:
        return (Echo.SEGMENTS.value, more) if more else (Echo.BYTES.value, 0)
    return Echo.BYTES.value, octets
