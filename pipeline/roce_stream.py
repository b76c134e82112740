"""What goes to one queue pair of one host of two at one point: which PSNs, which messages.

Streams stand in a table as flows do (`flow`): bounded, the longest idle given up.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import inlined, step
from pipeline.batch import PSNS, Kind
from pipeline.cc.parameter import Record, state_dtype
from pipeline.flow import FOUND, key_of, locate
from pipeline.memory import Ints
from pipeline.sender import unwrap

JUMP = 1 << 22
"""Half of the 2**23 PSNs that may be outstanding: data farther off is of a new connection."""
OUTSTANDING = 1 << 16
"""More PSNs than this are not outstanding, whatever the standard allows: a bound of all windows."""
NOBODY = -1
QP_BITS = 24
STARTS, ENDS = 1, 2
"""A packet is the first, or the last, of a message."""
OPEN, PROVEN, NO_PROOF = 0, 1, 2
"""Whether the beginning of a connection was seen: not asked yet, yes, it can never be told."""

STREAM = state_dtype(
    ("u8", "hosts", "out"),
    ("i8", "nxt", "una", "seen_ns", "since_ns", "first_end", "second_end", "last_end"),
    ("i4", "qp", "partner", "place", "number", "era", "misses", "messages"),
    ("i1", "numbered", "reading", "proof"),
)
"""One stream. `nxt` and `una` bound the PSNs that may be outstanding; `partner` is the queue pair
of the other end, `place` its place plus one among those that wait for theirs (`roce_hosts`) and
`number` its number there; `out` are the numbers of streams that its ACKs do not speak of. The ends
of messages and `proof` tell whether the connection's beginning was seen."""


class Packets(NamedTuple):
    """RoCE rows of a batch; `shape` are bits of `STARTS` and `ENDS`, `msn` is -1 where none is."""

    conversation: NDArray[Any]
    point: NDArray[np.int32]
    time_ns: Ints
    direction: Ints
    kind: Ints
    shape: Ints
    qp: Ints
    psn: Ints
    msn: Ints


class Streams(NamedTuple):
    """All that is remembered: tables of places, what is at the places, and how many are taken."""

    host_table: NDArray[Any]
    hosts: NDArray[Any]
    hosts_used: Ints
    table: NDArray[Any]
    streams: NDArray[Any]
    used: Ints
    idle_ticks: Ints


@step
def stream_of(packets: Packets, at: int, known: Streams, hosts: Record, side: int, qp: int) -> int:
    """The place of the stream of direction `side` to a queue pair, between these hosts."""
    key: Any = key_of(packets.conversation[at], side << QP_BITS | qp)
    key = key_of(key, packets.point[at])
    entry, how = locate(known.table, key, packets.time_ns[at], known.idle_ticks[0], known.used)
    place = known.table[entry].slot
    if how != FOUND:
        known.streams[place].hosts = hosts.key
        known.streams[place].qp = qp
        wipe(known.streams[place])
    return int(place)


@inlined
def wipe(stream: Record) -> None:
    """Forget what was known of a stream."""
    stream.partner = NOBODY
    stream.place = 0
    stream.misses = 0
    stream.messages = 0
    stream.numbered = 0
    stream.reading = 0
    stream.proof = OPEN
    stream.out = 0
    stream.era = -1


@inlined
def is_renewed(stream: Record, psn: int) -> bool:
    """Whether a request is of a new connection on a queue pair that had one."""
    return bool(stream.numbered and abs(unwrap(psn, stream.nxt, PSNS) - stream.nxt) > JUMP)


@inlined
def number(stream: Record, packets: Packets, at: int) -> bool:
    """Take the PSN of the first request; whether it is the connection's beginning (PSN 0)."""
    psn = packets.psn[at]
    stream.numbered = 1
    stream.nxt = psn
    stream.una = psn
    stream.since_ns = packets.time_ns[at]
    stream.proof = OPEN if packets.shape[at] & STARTS else NO_PROOF
    if psn == 0:
        stream.proof = PROVEN
    return bool(psn == 0)


@inlined
def advance(stream: Record, packets: Packets, at: int) -> bool:
    """The PSN of a request, and the message that ends with it; whether requests before are missing.

    Where a READ ends is not known before its last response.
    """
    seq = unwrap(packets.psn[at], stream.nxt, PSNS)
    stream.seen_ns = packets.time_ns[at]
    if seq < stream.nxt:
        return False
    reads = packets.kind[at] == Kind.ROCE_READ.value
    missing = seq > stream.nxt and not stream.reading
    if stream.proof == OPEN and (reads or missing):
        stream.proof = NO_PROOF
    stream.reading = reads
    stream.nxt = seq + 1
    stream.una = max(stream.una, stream.nxt - OUTSTANDING)
    if packets.shape[at] & ENDS:
        stream.messages += 1
        stream.last_end = seq
        if stream.messages == 1:
            stream.first_end = seq
        elif stream.messages == 1 + 1:
            stream.second_end = seq
    return bool(missing)


@inlined
def proves(stream: Record, psn: int, msn: int) -> bool:
    """Whether an ACK says that all messages of the connection were seen: their number is its MSN.

    The responder counts messages from 0. That is compared once, where it is certain which of those
    seen end up to this PSN.
    """
    if stream.proof != OPEN or msn < 0:
        return False
    if stream.messages == 0 or psn < stream.first_end:
        done = 0
    elif psn >= stream.last_end:
        done = stream.messages
    elif psn < stream.second_end:
        done = 1
    else:
        return False
    stream.proof = PROVEN if msn == done else NO_PROOF
    return bool(msn == done)
