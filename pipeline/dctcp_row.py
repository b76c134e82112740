"""What a TCP segment does to DCTCP of the sender that it acknowledges, or that sent it."""

import numpy as np
from numpy.typing import NDArray

from collector import inlined, step
from pipeline import late
from pipeline.batch import Batch, write
from pipeline.cc import classic, dctcp, recovery, scoreboard
from pipeline.cc.parameter import Record
from pipeline.memory import Basis, Echo, Mark, Memory, Rules
from pipeline.pool import BOARDS, LATE, place
from pipeline.sender import (
    CLASSIC,
    CWR,
    ECE,
    FIN,
    dialect_of,
    gets_telemetry,
    quality_of_alpha,
    segment_size,
    unwrap,
    waits,
)
from pipeline.tell import (
    decision,
    tell_accecn,
    tell_before,
    tell_classic,
    tell_dctcp,
    tell_dialect,
    tell_quality,
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
def hear(
    slot: Record,
    row: Record,
    at: int,
    ack: int,
    acked: int,
    repeats: bool,
    batch: Batch,
    memory: Memory,
    rules: Rules,
) -> None:
    """An ACK that passes the tap: heard now, or after the time from the tap to the sender and back.

    What waits loses its SACK blocks.
    """
    d = 1 - row.direction
    ece, again = row.tcp_flags & ECE != 0, gets_telemetry(slot, d)
    if not waits(slot, d):
        answer(slot, d, at, ack, acked, ece, repeats, again, row.sacked, batch, memory, rules)
        return
    s = state_of(slot, d, ack - acked, memory, rules)
    if s.late == 0:
        memory.used[LATE] += 1
        s.late = memory.used[LATE]
    ring = memory.late[s.late - 1]
    if not slot.marks[d] & Mark.LATE.value:
        slot.marks[d] |= Mark.LATE.value
        ring.count = 0
    if ring.count == late.PLACES:
        hear_first(slot, d, at, ring, batch, memory, rules)
    told = (late.REPEATS if repeats else 0) | (late.AGAIN if again else 0)
    late.put(ring, row.time_ns + slot.lag_ns[d], ack, acked, ece, told)


@inlined
def hear_due(
    slot: Record, row: Record, at: int, batch: Batch, memory: Memory, rules: Rules
) -> None:
    """Let the ACKs that have reached their sender by now be heard."""
    for d in range(2):
        if slot.marks[d] & Mark.LATE.value:
            ring = memory.late[memory.dctcp[slot.dctcp[d] - 1].late - 1]
            while late.is_due(ring, row.time_ns):
                hear_first(slot, d, at, ring, batch, memory, rules)


@step
def hear_first(
    slot: Record, d: int, at: int, ring: Record, batch: Batch, memory: Memory, rules: Rules
) -> None:
    """The ACK that waits the longest reaches its sender."""
    i = late.take(ring)
    ece, told = ring.ece[i] != 0, ring.repeats[i]
    repeats, again = told & late.REPEATS != 0, told & late.AGAIN != 0
    answer(slot, d, at, ring.ack[i], ring.acked[i], ece, repeats, again, -1, batch, memory, rules)


@inlined
def answer(
    slot: Record,
    d: int,
    at: int,
    ack: int,
    acked: int,
    ece: bool,
    repeats: bool,
    again: bool,
    sacked: int,
    batch: Batch,
    memory: Memory,
    rules: Rules,
) -> None:
    """DCTCP of sender d hears an ACK, and what it decides is told."""
    dialect, basis = dialect_of(slot, d, rules.dialect)
    s = state_of(slot, d, ack - acked, memory, rules)
    tell_before(batch, s.alpha)
    run_dctcp(slot, d, s, ack, acked, ece, repeats, sacked, batch, memory, rules.dctcp[dialect])
    if acked == 0 and not slot.marks[d] & Mark.SENT.value:
        return
    marked = acked if ece else 0
    decision(slot, d, at, ack, acked, Echo.ECE.value, marked, again, batch)
    tell_dctcp(batch, s)
    tell_quality(batch, quality_of_alpha(slot, d, s))
    if dialect == CLASSIC or (basis != Basis.SET.value and classic.is_classic(s)):
        basis = Basis.SET.value if dialect == CLASSIC else Basis.REACTIONS.value
        dialect = CLASSIC
        tell_classic(batch)
    tell_dialect(batch, dialect, basis)
    write(batch)


@inlined
def counted(slot: Record, d: int, row: Record, rules: Rules) -> int:
    """Bytes that an ACK by Accurate ECN is the first to call marked; segments are taken as full."""
    if row.echo == Echo.BYTES.value:
        return int(row.marked)
    dialect, _ = dialect_of(slot, d, rules.dialect)
    return int(row.marked) * segment_size(slot, d, rules.dctcp[dialect].mss)


@step
def answer_counted(
    slot: Record,
    row: Record,
    at: int,
    ack: int,
    acked: int,
    repeats: bool,
    marked: int,
    batch: Batch,
    memory: Memory,
    rules: Rules,
) -> None:
    """DCTCP of a sender to whom ACKs count what was marked (`accecn`), in the place of step 3.

    No ECE comes, so that nothing tells when its window falls.
    """
    d = 1 - row.direction
    dialect, basis = dialect_of(slot, d, rules.dialect)
    p = rules.dctcp[dialect]
    s = state_of(slot, d, ack - acked, memory, rules)
    tell_before(batch, s.alpha)
    dctcp.mark(s, p, marked, acked)
    run_dctcp(slot, d, s, ack, acked, False, repeats, row.sacked, batch, memory, p)
    if acked == 0 and marked == 0 and not slot.marks[d] & Mark.SENT.value:
        return
    again = gets_telemetry(slot, d)
    decision(slot, d, at, ack, acked, row.echo, marked, again, batch)
    tell_dctcp(batch, s)
    tell_quality(batch, quality_of_alpha(slot, d, s))
    tell_accecn(batch, row.echo)
    if dialect == CLASSIC:
        tell_classic(batch)
    tell_dialect(batch, dialect, basis if basis == Basis.SET.value else Basis.ASSUMED.value)
    write(batch)


@inlined
def state_of(slot: Record, d: int, snd_una: int, memory: Memory, rules: Rules) -> Record:
    """DCTCP's state of sender d, made ready when it is new."""
    s = memory.dctcp[place(slot.dctcp, d, memory.used, 1)]
    p = rules.dctcp[dialect_of(slot, d, rules.dialect)[0]]
    mss = segment_size(slot, d, p.mss)
    if not slot.marks[d] & Mark.DCTCP.value:
        slot.marks[d] |= Mark.DCTCP.value
        dctcp.reset(s, p)
        dctcp.establish(s, p, snd_una, mss)
        if not slot.marks[d] & Mark.SYN_SEEN.value:
            s.WindowEnd = slot.snd_nxt[d]
    s.mss = mss
    return s


@inlined
def run_dctcp(
    slot: Record,
    d: int,
    s: Record,
    ack: int,
    acked: int,
    ece: bool,
    repeats: bool,
    sacked: int,
    batch: Batch,
    memory: Memory,
    p: Record,
) -> None:
    """DCTCP of a sender at an ACK; SND.UNA of the slot has moved already.

    An ACK that repeats another but for ECE tells of a CE change (RFC 8257 section 3.2), not of
    loss, when its sender delays ACKs.
    """
    mss = int(s.mss)
    turned = ece != (slot.marks[d] & Mark.ECE_LAST.value != 0)
    turned = turned and slot.marks[d] & Mark.DELAYS_ACKS.value != 0
    duplicate = repeats and (sacked >= 0 or not turned)
    slot.marks[d] &= ~Mark.ECE_LAST.value
    slot.marks[d] |= Mark.ECE_LAST.value if ece else 0
    snd_nxt = slot.snd_nxt[d]
    if p.recovery == 1 and slot.marks[d] & Mark.FIN_SENT.value:
        snd_nxt -= 1
    if acked > 0 and s.ca_state in (recovery.OPEN, recovery.CWR):
        classic.hear(s, ack, ece)
    if acked > mss and not slot.marks[d] & Mark.BOARD.value:
        slot.marks[d] |= Mark.DELAYS_ACKS.value
    if slot.marks[d] & Mark.BOARD.value or repeats or sacked >= 0:
        b = board_of(slot, d, s, memory)
        newly, units = 0, 0
        if sacked >= 0:
            newly, units = take_blocks(b, batch.sacks[sacked], ack, snd_nxt, mss)
        dctcp.lossy_ack(s, p, b, ack, snd_nxt, ece, newly, units, duplicate)
    else:
        dctcp.new_ack(s, p, ack, snd_nxt, ece, 0, False)


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
    if row.tcp_flags & FIN:
        slot.marks[d] |= Mark.FIN_SENT.value
    if row.payload == 0:
        return
    if seq < slot.snd_nxt[d]:
        # A byte alone has asked for a window (RFC 9293 section 3.8.6.1), and was not lost.
        asked = slot.snd_nxt[d] - slot.snd_una[d] == 1
        if seq >= slot.snd_una[d] and not asked:
            recovery.sent_again(s, p, board_of(slot, d, s, memory), seq, end, slot.snd_nxt[d])
        return
    if row.tcp_flags & CWR:
        s.echoed = 0
        classic.answer(s, end)
    if slot.marks[d] & Mark.BOARD.value:
        memory.boards[s.board - 1].nxt = seq + row.payload
