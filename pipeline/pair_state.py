"""What is known of queue pairs as octets beside a snapshot, and back; what cannot be is refused.

All of it goes into every snapshot: the numbers that were given out, both tables, and the records
that are in use, one after the other and compressed.
"""

import zlib

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.flow import SLOTS, table
from pipeline.roce_hosts import HOSTS, WAITING
from pipeline.roce_stream import STREAM, Streams
from pipeline.snapshot_error import SnapshotError

KEY = b"hopsight.queue_pairs"
"""Of a snapshot's metadata; absent where no RoCE was seen."""
MOST_STREAMS, MOST_HOSTS = 1 << 16, 1 << 12
"""Live streams (what goes to one queue pair, at a point) and pairs of hosts that are known."""
PARTS = ("hosts_used", "used", "host_table", "table", "hosts", "streams")
COUNTERS = 8
DAMAGED = "the snapshot's queue pairs are damaged"


def blank(idle_ticks: int) -> Streams:
    """Nothing is known; memory is taken when it is first touched."""
    streams, hosts = table(MOST_STREAMS), table(MOST_HOSTS)
    return Streams(
        hosts,
        np.zeros(hosts.size, HOSTS),
        np.zeros(COUNTERS, np.int64),
        streams,
        np.zeros(streams.size, STREAM),
        np.zeros(COUNTERS, np.int64),
        np.array([idle_ticks]),
    )


def with_pairs(snapshot: pa.Table, known: Streams) -> pa.Table:
    """A snapshot that has them too."""
    if not known.used[SLOTS]:
        return snapshot
    taken = {"hosts": int(known.hosts_used[SLOTS]), "streams": int(known.used[SLOTS])}
    octets = b"".join(getattr(known, name)[: taken.get(name)].tobytes() for name in PARTS)
    return snapshot.replace_schema_metadata(
        {**(snapshot.schema.metadata or {}), KEY: zlib.compress(octets, 1)}
    )


def pairs_of(snapshot: pa.Table, idle_ticks: int) -> Streams:
    """What a snapshot knows of queue pairs; SnapshotError says that it cannot be."""
    known = blank(idle_ticks)
    packed = (snapshot.schema.metadata or {}).get(KEY)
    if packed is None:
        return known
    most = sum(getattr(known, name).nbytes for name in PARTS)
    try:
        octets = zlib.decompressobj().decompress(packed, most + 1)
    except zlib.error:
        raise SnapshotError(DAMAGED) from None
    at = 0
    for name in PARTS:
        into = getattr(known, name)
        if name in ("hosts", "streams"):
            used = int((known.hosts_used if name == "hosts" else known.used)[SLOTS])
            if not 0 <= used <= into.size:
                raise SnapshotError(DAMAGED)
            into = into[:used]
        if at + into.nbytes > len(octets):
            raise SnapshotError(DAMAGED)
        into[:] = np.frombuffer(octets, into.dtype, into.size, at)
        at += into.nbytes
    if at != len(octets) or not _sound(known):
        raise SnapshotError(DAMAGED)
    return known


def _sound(known: Streams) -> bool:
    """Whether every place that is named exists."""
    return bool(
        _within(known.host_table["slot"], len(known.hosts))
        and _within(known.table["slot"], len(known.streams))
        and _within(known.hosts["count"], WAITING + 1)
        and _within(known.hosts["waiting"], len(known.streams))
    )


def _within(places: NDArray[np.int32], end: int) -> bool:
    return bool((places >= 0).all() and (places < end).all())
