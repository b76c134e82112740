"""Two hosts that talk RoCE at one point: the streams between them that have no pair yet."""

from collector import inlined, step
from pipeline.cc.parameter import Record, state_dtype
from pipeline.flow import FOUND, key_of, locate
from pipeline.roce_stream import Packets, Streams

WAITING = 128
"""Streams of one direction between two hosts that can wait for their pair at a time."""
PATIENT_NS = 1_000_000_000
"""Data that was sent longer ago is not what an ACK speaks of."""

HOSTS = state_dtype(
    ("u8", "key"),
    ("i8", "since_ns", "crowded_ns"),
    ("i4", "era", "joined", "gaps"),
    (("i4", 2), "count"),
    (("i4", 2 * WAITING), "waiting"),
)
"""Two hosts. `waiting` has the places of streams of either direction that have no pair; `joined`
numbers them within an `era`, which ends when nobody waits; `gaps` says that data was seen to be
missing, `crowded_ns` when a stream found no place to wait in."""


@inlined
def hosts_of(packets: Packets, at: int, known: Streams) -> Record:
    """The two hosts of a packet."""
    key = key_of(packets.conversation[at], packets.point[at])
    entry, how = locate(
        known.host_table, key, packets.time_ns[at], known.idle_ticks[0], known.hosts_used
    )
    hosts = known.hosts[known.host_table[entry].slot]
    if how != FOUND:
        hosts.key = key
        hosts.since_ns = packets.time_ns[at]
        hosts.crowded_ns = 0
        hosts.era += 1
        hosts.joined = 0
        hosts.gaps = 0
        hosts.count[0] = 0
        hosts.count[1] = 0
    return hosts


@step
def join(known: Streams, hosts: Record, own: int, side: int, now: int) -> None:
    """Wait for a pair; when there is no place, in that of one that is silent."""
    stream = known.streams[own]
    if waits(hosts, stream, own, side):
        return
    if hosts.count[side] == WAITING:
        for each in range(WAITING - 1, -1, -1):
            if now - known.streams[hosts.waiting[side * WAITING + each]].seen_ns > PATIENT_NS:
                remove(known, hosts, each, side)
    if hosts.count[side] == WAITING:
        hosts.crowded_ns = now
        return
    hosts.waiting[side * WAITING + hosts.count[side]] = own
    hosts.count[side] += 1
    stream.place = hosts.count[side]
    stream.number = hosts.joined
    hosts.joined += 1


@inlined
def waits(hosts: Record, stream: Record, own: int, side: int) -> bool:
    """Whether a stream has a place among those of its hosts that wait."""
    return bool(
        0 < stream.place <= hosts.count[side]
        and stream.hosts == hosts.key
        and hosts.waiting[side * WAITING + stream.place - 1] == own
    )


@step
def leave(known: Streams, hosts: Record, own: int, side: int) -> None:
    """Wait no more."""
    if waits(hosts, known.streams[own], own, side):
        remove(known, hosts, known.streams[own].place - 1, side)


@step
def remove(known: Streams, hosts: Record, each: int, side: int) -> None:
    """Give a waiting stream's place to the last one; when nobody waits a new era begins."""
    first, last = side * WAITING, hosts.count[side] - 1
    gone = known.streams[hosts.waiting[first + each]]
    if gone.hosts == hosts.key and gone.place == each + 1:
        gone.place = 0
    hosts.waiting[first + each] = hosts.waiting[first + last]
    moved = known.streams[hosts.waiting[first + each]]
    if last != each and moved.hosts == hosts.key and moved.place == last + 1:
        moved.place = each + 1
    hosts.count[side] = last
    if hosts.count[0] == 0 and hosts.count[1] == 0:
        hosts.joined = 0
        hosts.era += 1
