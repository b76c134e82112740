"""Which two queue pairs talk to each other, found from what they say.

A RoCE packet names the queue pair that it goes to and not the one that it comes from, so nothing in
an ACK says whose data it acknowledges. But its PSN does: it is one that is outstanding on the way
to one queue pair. An ACK is paired where its PSN fits exactly one; what an earlier ACK of the same
stream did not fit stays out, and who is paired is no candidate any more. Where several fit, none is
chosen: the ACK is told as `UNPAIRED` and the next may decide. A pair is given up when its PSNs
contradict it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import borrowing, inlined, step
from pipeline.batch import BEGINNING, PSNS, RENEWED, UNPAIRED, Kind
from pipeline.cc.parameter import Record
from pipeline.flow import key_of
from pipeline.memory import Count, Ints
from pipeline.roce_hosts import PATIENT_NS, WAITING, hosts_of, join, leave, remove
from pipeline.roce_stream import (
    NOBODY,
    OUTSTANDING,
    PROVEN,
    QP_BITS,
    Packets,
    Streams,
    advance,
    is_renewed,
    number,
    proves,
    stream_of,
    wipe,
)
from pipeline.sender import unwrap

BEFORE = 1 << 13
"""So far before the first data that was seen may data be that was sent before the capture."""
NEAR = 16
"""Where the mirror is known to lose frames, so many may have been sent that were not seen."""
MISSES = 8
"""ACKs in a row of data that was not seen, after which a pair is given up."""
REMEMBERED = 64
"""Streams of two hosts, in the order of their coming, that a stream can remember as left out."""
READ_RESPONSE = Kind.ROCE_RESPONSE.value


class Said(NamedTuple):
    """What is found of each packet.

    The key of the state that it moves; the queue pair that the data goes to that it is or that it
    acknowledges, or `NOBODY`; marks.
    """

    key: NDArray[np.uint64]
    data_qp: Ints
    marks: NDArray[np.uint16]


@borrowing
def pair(packets: Packets, said: Said, known: Streams, counts: Ints) -> None:
    """Every packet in order."""
    for at in range(packets.qp.size):
        kind, side, own_qp = packets.kind[at], packets.direction[at], packets.qp[at]
        hosts = hosts_of(packets, at, known)
        own = stream_of(packets, at, known, hosts, side, own_qp)
        of_own, qp, marks = True, own_qp, 0
        if kind in (Kind.ROCE_REQUEST.value, Kind.ROCE_READ.value):
            marks = sent(packets, at, known, hosts, own)
        elif kind == Kind.ROCE_CNP.value:
            of_own, qp = False, np.int64(known.streams[own].partner)
        elif kind >= Kind.ROCE_ACK.value:
            of_own = False
            qp, marks = answered(packets, at, known, hosts, own, counts)
        said.data_qp[at] = qp
        said.marks[at] = marks
        if of_own or qp == NOBODY:
            said.key[at] = key_of(packets.conversation[at], side << QP_BITS | own_qp)
        else:
            said.key[at] = key_of(packets.conversation[at], 1 - side << QP_BITS | qp)


@step
def sent(packets: Packets, at: int, known: Streams, hosts: Record, own: int) -> int:
    """A request: its PSN is outstanding; returns marks."""
    stream, side, marks = known.streams[own], packets.direction[at], 0
    if is_renewed(stream, packets.psn[at]):
        leave(known, hosts, own, side)
        wipe(stream)
        marks = RENEWED
    if not stream.numbered and number(stream, packets, at):
        marks |= BEGINNING
    if advance(stream, packets, at):
        hosts.gaps = 1
    if stream.partner != NOBODY and stream.nxt - stream.una >= OUTSTANDING:
        stream.partner = NOBODY  # nothing was acknowledged for too long
    if stream.partner == NOBODY:
        join(known, hosts, own, side, packets.time_ns[at])
    return marks


@step
def answered(
    packets: Packets, at: int, known: Streams, hosts: Record, own: int, counts: Ints
) -> tuple[int, int]:
    """What acknowledges: the queue pair that the data went to, and marks."""
    side = 1 - packets.direction[at]
    place = partner_of(packets, at, known, hosts, own)
    if place == NOBODY:
        place = fitting(packets, at, known, hosts, own, counts)
        if place == NOBODY:
            return NOBODY, UNPAIRED
        known.streams[own].partner = known.streams[place].qp
        known.streams[place].partner = known.streams[own].qp
        known.streams[own].misses = 0
        leave(known, hosts, place, side)
        leave(known, hosts, own, 1 - side)
    stream = known.streams[place]
    psn = unwrap(packets.psn[at], stream.una, PSNS)
    if packets.kind[at] == READ_RESPONSE and stream.reading:
        stream.nxt = max(stream.nxt, psn + 1)
    marks = BEGINNING if proves(stream, psn, packets.msn[at]) else 0
    stream.una = max(stream.una, psn)
    return int(stream.qp), marks


@inlined
def partner_of(packets: Packets, at: int, known: Streams, hosts: Record, own: int) -> int:
    """The stream that was found before to be acknowledged, unless this contradicts it."""
    stream = known.streams[own]
    if stream.partner == NOBODY:
        return NOBODY
    place = stream_of(packets, at, known, hosts, 1 - packets.direction[at], stream.partner)
    data = known.streams[place]
    if data.partner != stream.qp or not data.numbered:
        stream.partner = NOBODY
        return NOBODY
    psn = unwrap(packets.psn[at], data.una, PSNS)
    unseen = psn >= data.nxt and not (data.reading and packets.kind[at] == READ_RESPONSE)
    stream.misses = stream.misses + 1 if unseen else 0
    far = psn > data.nxt + OUTSTANDING or psn < data.una - OUTSTANDING
    if far or stream.misses > MISSES:
        stream.partner = NOBODY
        data.partner = NOBODY
        return NOBODY
    return int(place)


@inlined
def fitting(
    packets: Packets, at: int, known: Streams, hosts: Record, own: int, counts: Ints
) -> int:
    """The only stream that this can acknowledge, or `NOBODY`."""
    side, now = 1 - packets.direction[at], packets.time_ns[at]
    stream = known.streams[own]
    if stream.era != hosts.era:
        stream.era = hosts.era
        stream.out = 0
    found, possible = NOBODY, 0
    for each in range(hosts.count[side] - 1, -1, -1):
        place = hosts.waiting[side * WAITING + each]
        data = known.streams[place]
        if data.hosts != hosts.key or data.place != each + 1:
            remove(known, hosts, each, side)
            continue
        bit = np.uint64(1) << np.uint64(data.number & (REMEMBERED - 1))
        told = data.number < REMEMBERED
        if now - data.seen_ns > PATIENT_NS or (told and stream.out & bit):
            continue
        psn = unwrap(packets.psn[at], data.una, PSNS)
        if may_be(hosts, data, psn):
            possible += 1
            if data.una <= psn < data.nxt:
                found = place
        elif told:
            stream.out |= bit
    if possible == 0:
        stream.out = 0
    if possible > 1 or (hosts.crowded_ns > 0 and now - hosts.crowded_ns <= PATIENT_NS):
        counts[Count.ACKS_AMBIGUOUS.value] += 1
        return NOBODY
    counts[Count.ACKS_UNPAIRED.value] += 1 if found == NOBODY else 0
    return int(found)


@inlined
def may_be(hosts: Record, data: Record, psn: int) -> bool:
    """Whether a stream may have this PSN outstanding, seen or not."""
    seen = data.proof == PROVEN or data.since_ns - hosts.since_ns > PATIENT_NS
    before = 0 if seen else BEFORE
    return bool(data.una - before <= psn < data.nxt + (NEAR if hosts.gaps else 0))
