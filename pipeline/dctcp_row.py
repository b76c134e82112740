"""What a TCP segment does to DCTCP of the sender that it acknowledges, or that sent it."""

import numpy as np
from numpy.typing import NDArray

from collector import inlined
from pipeline.batch import Batch
from pipeline.cc import dctcp, recovery, scoreboard
from pipeline.cc.parameter import Record
from pipeline.memory import Mark, Memory
from pipeline.pool import BOARDS, place
from pipeline.sender import CWR, ECE, FIN, far_from_sender, segment_size, unwrap

COUNTED = (
    dctcp.Branch.WINDOW_END.value,
    dctcp.Branch.WINDOW_END_REDUCE.value,
    dctcp.Branch.WINDOW_OPEN.value,
    dctcp.Branch.WINDOW_OPEN_REDUCE.value,
)


@inlined
def board_of(slot: Record, d: int, s: Record, memory: Memory) -> Record:
    """The scoreboard of sender d, a fresh one when it had none."""
    if s.board == 0:
        memory.used[BOARDS] += 1
        s.board = memory.used[BOARDS]
    b = memory.boards[s.board - 1]
    if not slot.marks[d] & Mark.BOARD.value:
        slot.marks[d] |= Mark.BOARD.value
        scoreboard.clear(b, slot.snd_una[d], slot.snd_nxt[d])
    return b


@inlined
def run_dctcp(
    slot: Record,
    row: Record,
    ack: int,
    acked: int,
    repeats: bool,
    batch: Batch,
    memory: Memory,
    p: Record,
) -> Record:
    """DCTCP of the sender that this row acknowledges; SND.UNA of the slot has moved already.

    An ACK that repeats another but for ECE tells of a CE change (RFC 8257 section 3.2), not of
    loss, when its sender delays ACKs.
    """
    d = 1 - row.direction
    ece = row.tcp_flags & ECE != 0
    turned = ece != (slot.marks[d] & Mark.ECE_LAST.value != 0)
    turned = turned and slot.marks[d] & Mark.DELAYS_ACKS.value != 0
    duplicate = repeats and (row.sacked >= 0 or not turned)
    slot.marks[d] &= ~Mark.ECE_LAST.value
    slot.marks[d] |= Mark.ECE_LAST.value if ece else 0
    s = memory.dctcp[place(slot.dctcp, d, memory.used, 1)]
    mss = segment_size(slot, d, p.mss)
    if not slot.marks[d] & Mark.DCTCP.value:
        slot.marks[d] |= Mark.DCTCP.value
        dctcp.reset(s, p)
        dctcp.establish(s, p, ack - acked, mss)
        if not slot.marks[d] & Mark.SYN_SEEN.value:
            s.WindowEnd = slot.snd_nxt[d]
    s.mss = mss
    snd_nxt = slot.snd_nxt[d]
    if p.recovery == 1 and slot.marks[d] & Mark.FIN_SENT.value:
        snd_nxt -= 1
    if acked > mss and not slot.marks[d] & Mark.BOARD.value:
        slot.marks[d] |= Mark.DELAYS_ACKS.value
    if slot.marks[d] & Mark.BOARD.value or repeats or row.sacked >= 0:
        b = board_of(slot, d, s, memory)
        sacked, units = 0, 0
        if row.sacked >= 0:
            sacked, units = take_blocks(b, batch.sacks[row.sacked], ack, snd_nxt, mss)
        branch = dctcp.lossy_ack(s, p, b, ack, snd_nxt, ece, sacked, units, duplicate)
    else:
        branch = dctcp.new_ack(s, p, ack, snd_nxt, ece, 0, False)
    if branch in COUNTED:
        s.read_until = row.time_ns + slot.lag_ns[d] if far_from_sender(slot, d) else 0
    return s


@inlined
def take_blocks(
    b: Record, edges: NDArray[np.int64], ack: int, snd_nxt: int, mss: int
) -> tuple[int, int]:
    """Bytes and segments that the SACK blocks of an ACK are the first to acknowledge."""
    sacked, units = 0, 0
    for i in range(0, edges.size, 2):
        left, right = unwrap(edges[i], ack), unwrap(edges[i + 1], ack)
        if edges[i] >= 0 and edges[i + 1] >= 0 and ack <= left < right <= snd_nxt:
            if b.sack == 0:
                b.sack = 1
                b.count = 0
            sacked += right - left - scoreboard.sacked_between(b, left, right)
            units += scoreboard.segments_between(b, left, right, mss)
            scoreboard.sack(b, left, right)
    if sacked > 0:
        scoreboard.find_lost(b, mss)
    return sacked, units


@inlined
def data(slot: Record, row: Record, memory: Memory, p: Record) -> None:
    """Data of a sender, before SND.NXT of the slot moves: new, or sent again."""
    d = row.direction
    s = memory.dctcp[slot.dctcp[d] - 1]
    seq = unwrap(row.seq, slot.snd_nxt[d])
    end = seq + row.payload + (1 if row.tcp_flags & FIN else 0)
    if row.time_ns < s.read_until and end > s.WindowEnd:
        s.WindowEnd = end
    if row.tcp_flags & FIN:
        slot.marks[d] |= Mark.FIN_SENT.value
    if row.payload == 0:
        return
    if seq < slot.snd_nxt[d]:
        if seq >= slot.snd_una[d]:
            recovery.sent_again(s, p, board_of(slot, d, s, memory), seq, end, slot.snd_nxt[d])
        return
    if row.tcp_flags & CWR:
        s.echoed = 0
    if slot.marks[d] & Mark.BOARD.value:
        memory.boards[s.board - 1].nxt = seq + row.payload
