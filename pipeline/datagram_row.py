"""A numbered datagram: data moves SND.NXT, its ACK or NACK drives HPCC++ of the other sender.

The HPCC simulator's number bytes modulo 2**32, RoCE's packets modulo 2**24. Bytes of RoCE in
flight, or acknowledged, are packets times the largest payload that was seen of their sender.
"""

from collector import inlined
from pipeline.batch import BEGINNING, PSNS, UNPAIRED, Batch, Kind, write
from pipeline.cc.parameter import Record
from pipeline.memory import Count, Echo, Mark, Memory, Quality, Rules, Why
from pipeline.roce_row import request
from pipeline.sender import WHOLE, gets_telemetry, quality_of_window, send, unwrap
from pipeline.telemetry_row import run_hpcc
from pipeline.tell import decision, next_of, tell_hpcc, tell_quality


@inlined
def datagram(
    slot: Record, row: Record, at: int, batch: Batch, memory: Memory, rules: Rules
) -> None:
    """One datagram of a transport that numbers what it sends."""
    if row.kind == Kind.DATA.value:
        if row.seq == 0 and not slot.marks[row.direction] & Mark.NUMBERED.value:
            slot.marks[row.direction] |= Mark.SYN_SEEN.value  # it numbers from 0: a beginning
        send(slot, row, batch.counts)
    elif row.kind in (Kind.ROCE_REQUEST.value, Kind.ROCE_READ.value):
        request(slot, row, batch.counts)
    elif row.kind != Kind.ROCE_CNP.value:
        answer(slot, row, at, batch, memory, rules)
        if row.kind == Kind.ROCE_RESPONSE.value:
            row.payload = 0  # nobody acknowledges it, so what telemetry it has waits for nobody


@inlined
def answer(slot: Record, row: Record, at: int, batch: Batch, memory: Memory, rules: Rules) -> None:
    """An ACK, or a NACK, after which the sender goes back to what is not acknowledged."""
    d, roce = 1 - row.direction, row.kind > Kind.NACK.value
    if not slot.marks[d] & Mark.NUMBERED.value:
        slot.marks[d] |= Mark.NUMBERED.value
        slot.snd_nxt[d] = row.ack
        slot.snd_una[d] = row.ack
    if roce and row.tcp_flags & BEGINNING:
        slot.marks[d] |= Mark.SYN_SEEN.value
    ack = unwrap(row.ack, slot.snd_una[d], PSNS if roce else WHOLE)
    if ack > slot.snd_nxt[d]:  # it covers data that was not seen, or more of a READ
        slot.snd_nxt[d] = ack
        slot.marks[d] &= ~Mark.WENT_BACK.value
        if not slot.marks[d] & Mark.READING.value:
            slot.marks[d] |= Mark.GAP.value
            batch.counts[Count.GAPS.value] += 1
    acked = max(ack - slot.snd_una[d], 0)
    slot.snd_una[d] = max(slot.snd_una[d], ack)
    if row.kind == Kind.NACK.value:
        slot.snd_nxt[d] = slot.snd_una[d]
    elif row.kind in (Kind.ROCE_NAK.value, Kind.ROCE_RNR.value):
        slot.snd_nxt[d] = slot.snd_una[d]
        slot.marks[d] |= Mark.WENT_BACK.value
    reflected = row.telemetry >= 0 and batch.loads[row.telemetry].reflected != 0
    if not reflected and not gets_telemetry(slot, d):
        return
    s = run_hpcc(slot, d, row, ack, acked, batch, memory, rules)
    decision(slot, d, at, ack, acked, Echo.NONE.value, 0, False, batch)
    tell_hpcc(batch, s)
    tell_quality(batch, quality_of_window(slot, d, s, rules.hpcc[0]))
    if roce:
        tell_roce(slot, row, batch, d)
    write(batch)


@inlined
def tell_roce(slot: Record, row: Record, batch: Batch, d: int) -> None:
    """A decision in RoCE's units: PSNs, and bytes as packets of the largest size."""
    made, n = batch.block[0], next_of(batch)
    made.ack[n] &= PSNS - 1
    made.lastUpdateSeq[n] &= PSNS - 1
    made.inflight_bytes[n] *= slot.largest[d]
    made.acked_bytes[n] *= slot.largest[d]
    if row.tcp_flags & UNPAIRED:
        tell_quality(batch, (Quality.UNKNOWN.value, Why.QUEUE_PAIR.value))
