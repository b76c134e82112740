"""A RoCE request: SND.NXT counts packets by PSN, and a READ takes the PSNs of its responses."""

import numpy as np
from numpy.typing import NDArray

from collector import inlined
from pipeline.batch import BEGINNING, PSNS, RENEWED, Kind
from pipeline.cc.parameter import Record
from pipeline.memory import Count, Mark
from pipeline.sender import CE, MOST_PAYLOAD, begin, unwrap


@inlined
def request(slot: Record, row: Record, counts: NDArray[np.int64]) -> None:
    """A SEND, WRITE, READ or atomic of direction r.

    After a NAK what was on its way already still passes; SND.NXT is where the sender goes back to
    until it has gone there. How many PSNs a READ takes is known from what follows it.
    """
    r = row.direction
    if row.tcp_flags & RENEWED and slot.marks[r] & Mark.NUMBERED.value:
        begin(slot, r)
        counts[Count.CONNECTIONS_NEW.value] += 1
    if not slot.marks[r] & Mark.NUMBERED.value:
        slot.marks[r] |= Mark.NUMBERED.value
        slot.snd_nxt[r] = row.seq
        slot.snd_una[r] = row.seq
    marks = Mark.SYN_SEEN.value if row.tcp_flags & BEGINNING else 0
    seq = unwrap(row.seq, slot.snd_nxt[r], PSNS)
    ahead, before = seq > slot.snd_nxt[r], slot.marks[r]
    if not ahead or not before & Mark.WENT_BACK.value:
        if ahead and not before & Mark.READING.value:
            marks |= Mark.GAP.value
            counts[Count.GAPS.value] += 1
        slot.marks[r] &= ~(Mark.WENT_BACK.value | Mark.READING.value)
        slot.snd_nxt[r] = max(slot.snd_nxt[r], seq + 1)
        marks |= Mark.READING.value if row.kind == Kind.ROCE_READ.value else 0
    slot.largest[r] = max(slot.largest[r], min(row.payload, MOST_PAYLOAD))
    if row.payload > 0:
        marks |= Mark.SENT.value
        marks |= Mark.ECT_SEEN.value if row.ecn != 0 else 0
        marks |= Mark.CE_SEEN.value if row.ecn == CE else 0
    slot.marks[r] |= marks
