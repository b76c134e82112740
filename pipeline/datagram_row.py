"""A numbered datagram: data moves SND.NXT, its ACK or NACK drives HPCC++ of the other sender."""

from collector import inlined
from pipeline.batch import Batch, Kind, write
from pipeline.cc.parameter import Record
from pipeline.memory import Count, Mark, Memory, Rules
from pipeline.sender import quality_of_window, send, unwrap
from pipeline.telemetry_row import run_hpcc
from pipeline.tell import decision, tell_hpcc


@inlined
def datagram(
    slot: Record, row: Record, at: int, batch: Batch, memory: Memory, rules: Rules
) -> None:
    """One datagram of a transport that numbers bytes, such as that of the HPCC simulator."""
    if row.kind == Kind.DATA.value:
        if row.seq == 0 and not slot.marks[row.direction] & Mark.NUMBERED.value:
            slot.marks[row.direction] |= Mark.SYN_SEEN.value  # it numbers from 0: a beginning
        send(slot, row, batch.counts)
    else:
        answer(slot, row, at, batch, memory, rules)


@inlined
def answer(slot: Record, row: Record, at: int, batch: Batch, memory: Memory, rules: Rules) -> None:
    """An ACK, or a NACK, after which the sender goes back to what is not acknowledged."""
    d = 1 - row.direction
    if not slot.marks[d] & Mark.NUMBERED.value:
        slot.marks[d] |= Mark.NUMBERED.value
        slot.snd_nxt[d] = row.ack
        slot.snd_una[d] = row.ack
    ack = unwrap(row.ack, slot.snd_una[d])
    if ack > slot.snd_nxt[d]:  # it covers data that was not seen
        slot.snd_nxt[d] = ack
        slot.marks[d] |= Mark.GAP.value
        batch.counts[Count.GAPS.value] += 1
    acked = max(ack - slot.snd_una[d], 0)
    slot.snd_una[d] = max(slot.snd_una[d], ack)
    if row.kind == Kind.NACK.value:
        slot.snd_nxt[d] = slot.snd_una[d]
    if row.telemetry < 0 and not slot.marks[d] & (Mark.HPCC.value | Mark.PENDING.value):
        return
    s = run_hpcc(slot, d, row, ack, batch, memory, rules)
    made = decision(slot, d, at, ack, acked, False, batch)
    tell_hpcc(made, s)
    made.quality, made.why = quality_of_window(slot, d, s, rules.hpcc[0])
    write(batch)
