"""What is known of the two senders of a conversation at one point, beside their recurrences.

Sequence numbers (unwrapped to 64 bits), the handshake and what it betrays of the stacks, where the
tap stands, and from all that how far a reconstruction can be trusted (semantics.md sections 3, 4).
"""

import numpy as np
from numpy.typing import NDArray

from collector import inlined
from pipeline.cc import hpcc
from pipeline.cc.parameter import Record
from pipeline.flow import EVICTED_LIVE, EVICTED_NEW, EXPIRED, FOUND
from pipeline.memory import DIALECT_AT, Basis, Count, Mark, Quality, Why

FIN, SYN, RST, ACK, ECE, CWR = 1, 2, 4, 16, 64, 128
CE = 3
LINUX, NS3, CLASSIC = 1, 3, 5
"""Dialects by their place in `dctcp.TABLE`."""
MOST_LAG = 20
"""A tap farther from the sender than RTT/20 reads SND.NXT too early to call the state exact."""
WORTH_WAITING = 5
"""A lag below RTT/5 is not told well enough by one handshake to let ACKs wait for it."""
WINDOWS_TO_FORGET = 44
"""(15/16)**44 < 0.06: what alpha was before the capture began matters no more than that."""
TIMESTAMP_OPTION = 12
"""Bytes that TCP timestamps take of every segment."""
HALF, WHOLE = 1 << 31, 1 << 32
MOST_NS = HALF - 1
MOST_PAYLOAD = 65535
LIVES = 1 << 16
NEAR, DIALECT, END = 8, 7, 4
"""Bits of a row's hint (`hints`) for the source; those of the destination are `END` higher."""


@inlined
def unwrap(number: int, near: int, whole: int = WHOLE) -> int:
    """The 64-bit number that is `number` modulo `whole`, 2**32 or so, and nearest to `near`."""
    apart = (number - near) & (whole - 1)
    if apart >= whole >> 1:
        apart -= whole
    return near + apart


@inlined
def within(ns: int) -> int:
    """A time that 32 bits hold."""
    return min(max(ns, -MOST_NS), MOST_NS)


@inlined
def begin(slot: Record, d: int) -> None:
    """Forget what was known of sender d; its places in the pools stay."""
    slot.marks[d] = 0
    slot.snd_nxt[d] = 0
    slot.snd_una[d] = 0
    slot.iss[d] = 0
    slot.data_ns[d] = 0
    slot.lag_ns[d] = 0
    slot.mss[d] = 0
    slot.largest[d] = 0
    slot.life[d] = (slot.life[d] + 1) % LIVES


@inlined
def enter(slot: Record, how: int, counts: NDArray[np.int64]) -> None:
    """Wipe a slot that changed hands."""
    if how != FOUND:
        counts[Count.FLOWS_NEW.value] += how != EXPIRED
        counts[Count.FLOWS_EVICTED.value] += how in (EVICTED_NEW, EVICTED_LIVE)
        counts[Count.FLOWS_EVICTED_LIVE.value] += how == EVICTED_LIVE
        counts[Count.FLOWS_EXPIRED.value] += how == EXPIRED
        slot.syn_ns = 0
        slot.rtt_ns = 0
        for d in range(2):
            begin(slot, d)


@inlined
def heed(slot: Record, row: Record) -> None:
    """Let both senders of a row's conversation be what settings say of them (`hints`)."""
    for other in range(2):
        d, hint = row.direction ^ other, row.hints >> END * other
        slot.marks[d] &= ~(DIALECT << DIALECT_AT)
        slot.marks[d] |= (hint & DIALECT) << DIALECT_AT
        if hint & NEAR:
            slot.lag_ns[d] = 0


@inlined
def handshake(
    slot: Record, row: Record, mss: int, timestamps: bool, counts: NDArray[np.int64]
) -> None:
    """A SYN or SYN-ACK: sequence numbers start, ECN is negotiated, the stack shows its hand.

    A SYN with a new number is a new connection; the same SYN again is a retransmission.
    """
    r = row.direction
    answer = row.tcp_flags & ACK != 0
    if not (slot.marks[r] & Mark.SYN_SEEN.value and slot.iss[r] == row.seq):
        if not answer:
            begin(slot, 1 - r)
            slot.rtt_ns = 0
        begin(slot, r)
        counts[Count.CONNECTIONS_NEW.value] += 0 if answer else 1
        slot.iss[r] = row.seq
        slot.snd_una[r] = row.seq + 1
        slot.snd_nxt[r] = row.seq + 1 + row.payload
        slot.mss[r] = mss
        marks = Mark.NUMBERED.value | Mark.SYN_SEEN.value
        asked = row.tcp_flags & (ECE | CWR)
        if not answer and asked == ECE | CWR:
            marks |= Mark.ECN_ASKED.value
        if answer and asked == ECE and slot.marks[1 - r] & Mark.ECN_ASKED.value:
            marks |= Mark.ECN_AGREED.value
            slot.marks[1 - r] |= Mark.ECN_AGREED.value
        marks |= Mark.ANSWERED.value if answer else 0
        marks |= Mark.TIMESTAMPS.value if timestamps else 0
        marks |= Mark.NS3_STACK.value if mss == 0 else 0
        slot.marks[r] = marks
    if answer:
        slot.lag_ns[r] = within(row.time_ns - slot.syn_ns)
    else:
        slot.syn_ns = row.time_ns


@inlined
def ends_handshake(slot: Record, row: Record, d: int) -> bool:
    """Whether this is the handshake's third segment: it times the round trip, counts nothing."""
    if not slot.marks[d] & Mark.ANSWERED.value or slot.marks[d] & Mark.SHAKEN.value:
        return False
    slot.marks[d] |= Mark.SHAKEN.value
    slot.lag_ns[1 - d] = within(row.time_ns - slot.syn_ns - slot.lag_ns[d])
    if slot.marks[1 - d] & Mark.SYN_SEEN.value:
        slot.rtt_ns = within(max(row.time_ns - slot.syn_ns, 1))
    return True


@inlined
def send(slot: Record, row: Record, counts: NDArray[np.int64]) -> None:
    """Data or FIN of direction r: SND.NXT moves; a jump over unseen data is a gap."""
    r = row.direction
    if not slot.marks[r] & Mark.NUMBERED.value:
        slot.marks[r] |= Mark.NUMBERED.value
        slot.snd_nxt[r] = row.seq
        slot.snd_una[r] = row.seq
    seq = unwrap(row.seq, slot.snd_nxt[r])
    if seq > slot.snd_nxt[r]:
        slot.marks[r] |= Mark.GAP.value
        counts[Count.GAPS.value] += 1
    end = seq + row.payload + (1 if row.tcp_flags & FIN else 0)
    slot.snd_nxt[r] = max(slot.snd_nxt[r], end)
    slot.largest[r] = max(slot.largest[r], min(row.payload, MOST_PAYLOAD))
    if row.payload > 0:
        slot.marks[r] |= Mark.SENT.value
        slot.marks[r] |= Mark.ECT_SEEN.value if row.ecn != 0 else 0
        slot.marks[r] |= Mark.CE_SEEN.value if row.ecn == CE else 0


@inlined
def end(slot: Record, row: Record, counts: NDArray[np.int64]) -> None:
    """FIN closes the sender's direction, RST both; a new SYN opens them again."""
    before = slot.marks[0] & slot.marks[1] & Mark.CLOSED.value
    slot.marks[row.direction] |= Mark.CLOSED.value
    if row.tcp_flags & RST:
        slot.marks[1 - row.direction] |= Mark.CLOSED.value
    after = slot.marks[0] & slot.marks[1] & Mark.CLOSED.value
    counts[Count.CONNECTIONS_CLOSED.value] += before != after


@inlined
def segment_size(slot: Record, d: int, otherwise: int) -> int:
    """MSS of sender d: the smaller of both options less timestamps; else the largest payload."""
    both = slot.marks[0] & slot.marks[1]
    if both & Mark.SYN_SEEN.value and slot.mss[0] > 0 and slot.mss[1] > 0:
        return int(min(slot.mss[0], slot.mss[1])) - (
            TIMESTAMP_OPTION if both & Mark.TIMESTAMPS.value else 0
        )
    return int(slot.largest[d]) if slot.largest[d] > 0 else otherwise


@inlined
def predicted(slot: Record, row: Record, within_ns: int) -> bool:
    """Whether data that repeats an ACK takes its receiver's fast path, which does not read ACKs."""
    before = slot.data_ns[row.direction]
    plain = row.payload > 0 and row.tcp_flags & (FIN | ECE | CWR) == 0
    return bool(plain and before > 0 and row.time_ns - before < within_ns)


@inlined
def dialect_of(slot: Record, d: int, asked: int) -> tuple[int, int]:
    """The dialect of sender d and its basis: as asked, else by its SYN (ns-3: no MSS option)."""
    told = slot.marks[d] >> DIALECT_AT & DIALECT
    if told | asked:
        return told or asked, Basis.SET.value
    if not slot.marks[d] & Mark.SYN_SEEN.value:
        return LINUX, Basis.ASSUMED.value
    return NS3 if slot.marks[d] & Mark.NS3_STACK.value else LINUX, Basis.HANDSHAKE.value


@inlined
def begin_path(
    s: Record, p: Record, t_ns: int, rtt_ns: int, b_nic_bps: int, window_bytes: int
) -> None:
    """Make an HPCC++ record ready with T, B_nic and W_init of its path, 0 where none was told.

    Then they are the parameters', and T the handshake's round trip where these tell none either.
    """
    hpcc.reset(s, p)
    hpcc.set_path(
        s, p,
        t_ns if t_ns > 0 else int(p.T_ns if p.T_ns > 0 else rtt_ns),
        b_nic_bps if b_nic_bps > 0 else p.B_nic_bps,
        window_bytes if window_bytes > 0 else p.window_bytes,
    )  # fmt: skip


@inlined
def why_no_window(s: Record) -> int:
    """Why W, Wc and R cannot be told of any path (`Why`); `Why.NOTHING` where they can."""
    if s.T_ns <= 0:
        return Why.T_UNKNOWN.value
    return Why.NIC_UNKNOWN.value if np.isnan(s.W) else Why.NOTHING.value


@inlined
def gets_telemetry(slot: Record, d: int) -> bool:
    """Whether every ACK drives HPCC++ of sender d, to whom telemetry is reflected."""
    return bool(slot.marks[d] & (Mark.HPCC.value | Mark.PENDING.value) != 0)


@inlined
def far_from_sender(slot: Record, d: int) -> bool:
    """Whether data that an ACK releases passes the tap noticeably later than the ACK."""
    return bool(slot.lag_ns[d] * MOST_LAG > slot.rtt_ns)


@inlined
def waits(slot: Record, d: int) -> bool:
    """Whether ACKs wait until they reach sender d (`late`)."""
    return bool(slot.lag_ns[d] * WORTH_WAITING > slot.rtt_ns)


@inlined
def quality_of_tap(slot: Record, d: int) -> tuple[int, int]:
    """What gaps and the distance between tap and sender do to either."""
    if slot.marks[d] & Mark.GAP.value:
        return Quality.ESTIMATED.value, Why.GAP.value
    if far_from_sender(slot, d):
        return Quality.ESTIMATED.value, Why.FAR_FROM_SENDER.value
    return Quality.EXACT.value, Why.NOTHING.value


@inlined
def quality_of_window(slot: Record, d: int, s: Record, p: Record) -> tuple[int, int]:
    """Quality of W, Wc, R of sender d, and why (semantics.md section 3)."""
    why = why_no_window(s)
    if why != Why.NOTHING.value:
        return Quality.UNKNOWN.value, why
    if slot.marks[d] & Mark.ANCHORED.value:
        return Quality.ESTIMATED.value, Why.ANCHORED.value
    if not slot.marks[d] & Mark.SYN_SEEN.value:
        return Quality.UNKNOWN.value, Why.MID_FLOW.value
    if slot.marks[d] & Mark.STACKED.value:
        return Quality.ESTIMATED.value, Why.RECEIVER_TIME.value
    if not slot.marks[d] & Mark.T_TOLD.value and p.T_ns == 0:
        return Quality.ESTIMATED.value, Why.T_FROM_HANDSHAKE.value
    return quality_of_tap(slot, d)


@inlined
def quality_of_alpha(slot: Record, d: int, s: Record) -> tuple[int, int]:
    """Quality of alpha of sender d, and why (semantics.md section 4)."""
    if slot.marks[d] & Mark.CE_SEEN.value:
        return Quality.UNKNOWN.value, Why.AFTER_QUEUE.value
    if not slot.marks[d] & Mark.SYN_SEEN.value:
        known = s.windows >= WINDOWS_TO_FORGET
        return Quality.ESTIMATED.value if known else Quality.UNKNOWN.value, Why.MID_FLOW.value
    return quality_of_tap(slot, d)
