"""Rows of snapshots: entries of bounded tables, those of flows and those that pair RoCE's queues.

Each table is one of `flow.table`: an entry has a place, a key, when it was last seen with its rank,
and the number of its record, which it has for good. Records of flows get new numbers where they are
put back; what pairs queues speaks of records by number, so there they are kept.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collector import borrowing
from pipeline.flow import DIRTY, PROVEN, SLOTS, UNIT, WAYS, entry_of
from pipeline.memory import Ints, Memory
from pipeline.roce_stream import Streams
from pipeline.snapshot_error import SnapshotError
from pipeline.state_columns import whole

FLOW, HOSTS, STREAM = range(3)
COLUMNS = ("flow", "hosts", "stream")
"""Where rows have their record, by table."""


class Bounded(NamedTuple):
    """A table, the records of its entries, and `used`, which counts those at `SLOTS`."""

    entries: NDArray[Any]
    records: NDArray[Any]
    used: Ints


class Entries(NamedTuple):
    """Entries of one table as a snapshot has them."""

    places: Ints
    keys: NDArray[np.uint64]
    seen: NDArray[np.uint32]
    numbers: Ints


def tables_of(memory: Memory, known: Streams) -> tuple[Bounded, ...]:
    """All tables, in the order of `COLUMNS`."""
    return (
        Bounded(memory.flows, memory.slots, memory.used),
        Bounded(known.host_table, known.hosts, known.hosts_used),
        Bounded(known.table, known.streams, known.used),
    )


def unknown(known: Streams) -> Streams:
    """As much room for pairs of queues, and none found yet."""
    blank = Streams(*(np.zeros(each.shape, each.dtype) for each in known))
    return blank._replace(idle_ticks=known.idle_ticks)


def touched(tables: tuple[Bounded, ...], *, full: bool) -> list[Ints]:
    """The places of entries in each table that were touched since the last snapshot, or of all."""
    found = [
        np.flatnonzero(each.entries["key"] if full else each.entries["seen"] & DIRTY)
        for each in tables
    ]
    hosts = tables[HOSTS].entries["key"][found[HOSTS]]
    if len(hosts) and not full:
        # A packet changes streams of its two hosts, and looks up only some of them.
        entries, records, used = tables[STREAM]
        theirs = np.zeros(len(records), np.bool_)
        theirs[: used[SLOTS]] = np.isin(records["hosts"][: used[SLOTS]], hosts)
        is_theirs = (entries["key"] != 0) & theirs[entries["slot"]]
        found[STREAM] = np.flatnonzero(is_theirs | (entries["seen"] & DIRTY != 0))
    return found


def parts_of(table: pa.Table) -> list[pa.Table]:
    """The rows of each table."""
    for name in ("table", "place", "key", "seen", "number"):
        whole(table[name], name)
    kinds = table["table"].to_numpy()
    if (np.diff(kinds.astype(np.int16)) < 0).any() or (kinds >= len(COLUMNS)).any():
        raise SnapshotError("the snapshot's rows are not in the order of their tables")
    for number, name in enumerate(COLUMNS):
        whole(table[name], name)
        lists = table[name].combine_chunks()
        if len(table) and (lists.value_lengths().to_numpy() != (kinds == number)).any():
            raise SnapshotError(f"the snapshot has a wrong number of records in {name}")
    edges = np.searchsorted(kinds, np.arange(len(COLUMNS) + 1))
    return [table.slice(edges[at], edges[at + 1] - edges[at]) for at in range(len(COLUMNS))]


def entries_of(part: pa.Table, size: int) -> Entries:
    """Places, keys, when last seen and numbers, as they can be in a table of a size."""
    places, numbers = (part[name].to_numpy().astype(np.int64) for name in ("place", "number"))
    keys, seen = part["key"].to_numpy(), part["seen"].to_numpy()
    if len(places) and not 0 <= places.min() <= places.max() < size:
        raise SnapshotError(f"the snapshot has places that are not within 0 to {size - 1}")
    if (np.diff(places) <= 0).any():
        raise SnapshotError("the snapshot's places are not in order, each once")
    if (keys == 0).any():
        raise SnapshotError("the snapshot has a flow without a key")
    if (seen % UNIT > PROVEN).any():
        raise SnapshotError(f"the snapshot has a flow of a rank that is not within 0 to {PROVEN}")
    return Entries(places, keys, seen, numbers)


def placed(before: NDArray[Any], new: Entries, *, numbered: bool) -> NDArray[Any]:
    """The table with new entries, `numbered` with their numbers; refused where it cannot be."""
    entries = before.copy()
    entries["key"][new.places], entries["seen"][new.places] = new.keys, new.seen
    if misplaced(entries, new.places):
        raise SnapshotError("the snapshot has a flow where no look-up would find it")
    if numbered:
        entries["slot"][new.places] = new.numbers
        given = np.sort(entries["slot"][entries["key"] != 0])
        if (given != np.arange(len(given))).any():
            raise SnapshotError("the snapshot's numbers are not those from 0 on, each once")
    return entries


@borrowing
def misplaced(entries: NDArray[Any], places: Ints) -> bool:
    """Whether some entry is not the one that a look-up of its key ends at."""
    for at in range(places.size):
        key, step = entries[places[at]].key, 0
        while entry_of(entries, key, step) != places[at]:
            here = entries[entry_of(entries, key, step)].key
            step += 1
            if here in (np.uint64(0), key) or step == WAYS:
                return True
    return False
