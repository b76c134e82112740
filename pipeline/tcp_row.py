"""A TCP segment: its data moves SND.NXT, its ACK drives the recurrences of the other sender."""

from collector import inlined
from pipeline.batch import Batch, write
from pipeline.cc.parameter import Record
from pipeline.dctcp_row import answer_counted, counted, data, hear, hear_due
from pipeline.far_numbers import heeds
from pipeline.memory import Count, Echo, Mark, Memory, Rules
from pipeline.sender import (
    ACK,
    ECE,
    FIN,
    RST,
    SYN,
    dialect_of,
    end,
    ends_handshake,
    gets_telemetry,
    handshake,
    predicted,
    quality_of_window,
    send,
    unwrap,
)
from pipeline.telemetry_row import run_hpcc
from pipeline.tell import decision, tell_hpcc, tell_quality


@inlined
def segment(slot: Record, row: Record, at: int, batch: Batch, memory: Memory, rules: Rules) -> None:
    """One TCP segment, what it acknowledges before what it sends."""
    r = row.direction
    hear_due(slot, row, at, batch, memory, rules)
    if row.tcp_flags & SYN:
        mss, timestamps = batch.opening.mss[at], batch.opening.timestamps[at]
        handshake(slot, row, mss, timestamps, batch.counts)
    elif row.tcp_flags & ACK:
        acknowledge(slot, row, at, batch, memory, rules)
    sends = row.payload > 0 or row.tcp_flags & FIN
    if sends and (row.tcp_flags & SYN or heeds(slot, r, row.seq, batch.counts)):
        if slot.marks[r] & Mark.DCTCP.value:
            dialect, _ = dialect_of(slot, r, rules.dialect)
            data(slot, row, memory, rules.dctcp[dialect])
        send(slot, row, batch.counts)
    if row.tcp_flags & (FIN | RST):
        end(slot, row, batch.counts)
    slot.data_ns[r] = row.time_ns if row.payload > 0 else 0


@inlined
def acknowledge(
    slot: Record, row: Record, at: int, batch: Batch, memory: Memory, rules: Rules
) -> None:
    """An ACK of direction r for the data of d: SND.UNA moves, the recurrences of sender d run.

    What a sender does not heed, an ACK of what it did not send or one that was overtaken, brings
    telemetry all the same.
    """
    d = 1 - row.direction
    if not slot.marks[d] & Mark.NUMBERED.value:
        slot.marks[d] |= Mark.NUMBERED.value
        slot.snd_nxt[d] = row.ack
        slot.snd_una[d] = row.ack
    heeded = heeds(slot, d, row.ack, batch.counts)
    ack = unwrap(row.ack, slot.snd_una[d]) if heeded else slot.snd_una[d]
    if ack > slot.snd_nxt[d]:  # it covers data that was not seen
        slot.snd_nxt[d] = ack
        slot.marks[d] |= Mark.GAP.value
        batch.counts[Count.GAPS.value] += 1
    if ends_handshake(slot, row, d):
        return
    heeded &= ack >= slot.snd_una[d]
    acked = max(ack - slot.snd_una[d], 0)
    duplicate = (
        row.payload == 0
        and ack == slot.snd_una[d]
        and slot.snd_nxt[d] > ack
        and row.tcp_flags & FIN == 0
    )
    marked = acked if row.tcp_flags & ECE else 0
    if row.echo != Echo.ECE.value:
        marked = counted(slot, d, row, rules)
    slot.snd_una[d] = max(slot.snd_una[d], ack)
    reflected = row.telemetry >= 0 and batch.loads[row.telemetry].reflected != 0
    if reflected or gets_telemetry(slot, d):
        s = run_hpcc(slot, d, row, ack, acked, batch, memory, rules)
        decision(slot, d, at, ack, acked, row.echo, marked, False, batch)
        tell_hpcc(batch, s)
        tell_quality(batch, quality_of_window(slot, d, s, rules.hpcc[0]))
        write(batch)
    if not heeded:
        return
    if row.echo != Echo.ECE.value:
        answer_counted(slot, row, at, ack, acked, duplicate, marked, batch, memory, rules)
    elif uses_ecn(slot, d, marked):
        dialect, _ = dialect_of(slot, d, rules.dialect)
        if acked == 0 and predicted(slot, row, rules.dctcp[dialect].predicted_ns):
            return
        hear(slot, row, at, ack, acked, duplicate, batch, memory, rules)


@inlined
def uses_ecn(slot: Record, d: int, marked: int) -> bool:
    """Whether data of sender d may be marked: by the handshake, by itself, or by ECE on its ACK.

    The last holds where no handshake was seen: with one that agreed on nothing ECE says nothing.
    """
    if marked > 0 and not (slot.marks[0] | slot.marks[1]) & Mark.SYN_SEEN.value:
        slot.marks[d] |= Mark.ECT_SEEN.value
    return bool(slot.marks[d] & (Mark.ECN_AGREED.value | Mark.ECT_SEEN.value))
