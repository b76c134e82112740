"""Records of the tracker's pools as columns of Arrow, and back.

A place is a number that means nothing in another memory. So a field that is a place in another pool
becomes a list of the records that stand there: none or one, and of `link` as many as `room` says.
All else keeps its name and its type; a pair or an array is a list of fixed size. Records of Arrow
that come in are checked before any of them is written.
"""

from collections import Counter
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collector import arrow, borrowing
from pipeline.cc.ce_runs import HOLES, RUNS
from pipeline.cc.hop_record import MAX_HOPS, MOST_PLACES
from pipeline.cc.hpcc_probe import OUTSTANDING
from pipeline.cc.scoreboard import INTERVALS
from pipeline.flow import SLOTS
from pipeline.late import PLACES
from pipeline.memory import GROWING, POOLS, WAITING, Ints, Mark, Memory
from pipeline.pool import make_room
from pipeline.queue_pairs import MOST_STREAMS
from pipeline.roce_hosts import WAITING as WAITING_STREAMS
from pipeline.round_trip import SEGMENTS
from pipeline.snapshot_error import SnapshotError

HOLDS: dict[str, dict[str, str]] = {
    "flow": {kind: kind for kind in POOLS},
    "hpcc": {"link": "links"},
    "loads": {"link": "links"},
    "dctcp": {"board": "boards", "late": "late"},
}
"""Fields of a pool's records, or of a flow's slot, that are places, and of which pool."""

RANGES: dict[str, dict[str, tuple[float, float]]] = {
    "hpcc": {"nhop": (0, MAX_HOPS), "room": (0, MOST_PLACES), "U": (0, inf), "T_ns": (0, inf)},
    "loads": {"nhop": (0, MAX_HOPS), "room": (0, MOST_PLACES), "U": (0, inf), "T_ns": (0, inf)},
    # cwnd could be below 0 in states that were kept before what is in flight had a floor.
    "dctcp": {"alpha": (0, inf), "cwnd": (-inf, inf), "ssthresh": (0, inf), "prr_flight": (0, inf)},
    "pending": {"count": (0, WAITING), "nhop": (0, MAX_HOPS), "keeps": (-inf, inf),
                "adds": (-inf, inf)},
    "boards": {"count": (0, INTERVALS)},
    "late": {"first": (0, PLACES - 1), "count": (0, PLACES)},
    "hosts": {"count": (0, WAITING_STREAMS), "waiting": (0, 2 * MOST_STREAMS - 1)},
    "companion timed": {"first": (0, SEGMENTS - 1), "count": (0, SEGMENTS)},
    "companion own": {"count": (0, OUTSTANDING)},
    "companion states": {"runs": (0, RUNS), "waiting": (0, HOLES)},
}  # fmt: skip
"""What a field may be at all: what the loop takes as an index, and what is never NaN."""

NEEDED = {
    "hpcc": Mark.HPCC, "dctcp": Mark.DCTCP, "loads": Mark.LOADS, "pending": Mark.PENDING,
}  # fmt: skip
NEEDED_OF_DCTCP = {"board": Mark.BOARD, "late": Mark.LATE}
"""Records that a sender with a mark must have."""


def type_of(memory: Memory, kind: str, array: NDArray[Any]) -> pa.DataType:
    """The type of a record of `array`, which is the pool `kind` or stands alone."""
    fields = []
    for name, (field, *_) in (array.dtype.fields or {}).items():
        held = HOLDS.get(kind, {}).get(name)
        base = pa.from_numpy_dtype(field.base)
        if held:
            base = pa.list_(type_of(memory, held, getattr(memory, held)))
        fields.append(pa.field(name, pa.list_(base, *field.shape) if field.shape else base))
    return pa.struct(fields)


def columns_of(memory: Memory, kind: str, array: NDArray[Any], places: Ints) -> pa.StructArray:
    """The records at places of `array`, and what they hold."""
    records, made = take(array, places), []
    for name, (field, *_) in (array.dtype.fields or {}).items():
        held = HOLDS.get(kind, {}).get(name)
        values = np.ascontiguousarray(records[name]).reshape(-1)
        column = _held(memory, held, values, records) if held else arrow.array(values)
        if field.shape:
            column = pa.FixedSizeListArray.from_arrays(column, *field.shape)
        made.append(column)
    return pa.StructArray.from_arrays(made, fields=list(type_of(memory, kind, array)))


def _held(memory: Memory, kind: str, places: Ints, holders: NDArray[Any]) -> pa.ListArray:
    """What stands at places (plus one; 0: nothing), or of links from there on."""
    if kind == "links":
        counts = holders["room"].astype(np.int64)
        at = spans(places.astype(np.int64), counts)
    else:
        counts = (places > 0).astype(np.int64)
        at = places[places > 0] - 1
    offsets = np.zeros(len(places) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    values = columns_of(memory, kind, getattr(memory, kind), at)
    return pa.ListArray.from_arrays(arrow.array(offsets), values)


def check(
    memory: Memory, kind: str, array: NDArray[Any], column: pa.Array, need: Counter[str]
) -> None:
    """Refuse records that the loop could not work on; `need` counts them by pool."""
    ranges, holds = RANGES.get(kind, {}), HOLDS.get(kind, {})
    need[kind] += len(column)
    whole(column, kind)
    for name in array.dtype.names or ():
        values = flat(column.field(name), f"{kind}.{name}")
        if name in holds:
            lengths = values.value_lengths().to_numpy()
            right = column.field("room").to_numpy() if name == "link" else lengths.clip(0, 1)
            if (lengths != right).any():
                raise SnapshotError(f"the snapshot has a wrong number of records in {kind}.{name}")
            check(memory, holds[name], getattr(memory, holds[name]), values.flatten(), need)
        elif name in ranges and len(values):
            low, high = ranges[name]
            numbers = values.to_numpy()
            least, most = numbers.min(), numbers.max()
            if not (low <= least and most <= high):  # NaN is not in any range
                raise SnapshotError(
                    f"the snapshot has {kind}.{name} from {least} to {most}, which is not within"
                    f" {low} to {high}"
                )
    if kind == "flow":
        check_marks(column)


def check_marks(slots: pa.StructArray) -> None:
    """Refuse senders whose marks speak of a record that they do not have."""
    marks = slots.field("marks").flatten().to_numpy()
    for name, mark in NEEDED.items():
        lengths = slots.field(name).flatten().value_lengths().to_numpy()
        if (lengths[marks & mark != 0] == 0).any():
            raise SnapshotError(f"the snapshot lacks {name} of a sender that has it by its marks")
    senders = slots.field("dctcp").flatten()
    has = senders.value_lengths().to_numpy() > 0
    for name, mark in NEEDED_OF_DCTCP.items():
        lengths = np.zeros(len(marks), np.int32)
        lengths[has] = senders.flatten().field(name).value_lengths().to_numpy()
        if (lengths[marks & mark != 0] == 0).any():
            raise SnapshotError(f"the snapshot lacks {name} of a sender that has it by its marks")


def whole(column: pa.Array, name: str) -> None:
    """Refuse nulls: all that is known is known."""
    if column.null_count:
        raise SnapshotError(f"the snapshot has nulls in {name}")


def flat(column: pa.Array, name: str) -> pa.Array:
    """A column, or what its lists of fixed size hold."""
    whole(column, name)
    if pa.types.is_fixed_size_list(column.type):
        column = column.flatten()
        whole(column, name)
    return column


def put(
    memory: Memory, kind: str, array: NDArray[Any], places: Ints, column: pa.StructArray
) -> None:
    """Write checked records to places of `array`.

    What they hold goes to the places that they have there, or to new ones, for which there is room.
    """
    holds = HOLDS.get(kind, {})
    into = {name: _put_held(memory, holds[name], array, name, places, column) for name in holds}
    in_a_row = bool((np.diff(places) == 1).all()) and len(places) > 0
    end = places[0] + len(places) if in_a_row else 0
    records = array[places[0] : end] if in_a_row else np.zeros(len(places), array.dtype)
    for name in array.dtype.names or ():
        values = into[name] if name in into else flat(column.field(name), name).to_numpy()
        records[name] = values.reshape(records[name].shape)
    if not in_a_row:
        words(array)[places] = words(records)


def _put_held(
    memory: Memory, kind: str, array: NDArray[Any], name: str, places: Ints, column: pa.StructArray
) -> Ints:
    """Write what a field's lists hold where its records have it, or to new places; gives these."""
    lists, pool = flat(column.field(name), name), getattr(memory, kind)
    if kind == "links":
        rooms = column.field("room").to_numpy().astype(np.int64)
        make_rooms(memory, array, places, rooms)
        starts: Ints = array[name][places]
        put(memory, kind, pool, spans(starts.astype(np.int64), rooms), lists.flatten())
        return starts
    into: Ints = array[name][places].reshape(-1)
    there = lists.value_lengths().to_numpy() > 0
    new = there & (into == 0)
    count, number = np.count_nonzero(new), GROWING.index(kind)
    into[new] = memory.used[number] + 1 + np.arange(count)
    memory.used[number] += count
    put(memory, kind, pool, into[there].astype(np.int64) - 1, lists.flatten())
    return into


def reserved(memory: Memory, need: Counter[str]) -> Memory:
    """The same memory with room for so many more records in each pool."""
    pools = {}
    for kind, used in zip(GROWING, memory.used.tolist(), strict=True):
        pool = getattr(memory, kind)
        size = used + need[kind] + 2 * MOST_PLACES
        if size > len(pool):
            pools[kind] = np.zeros(max(size, len(pool) + len(pool) // 2), pool.dtype)
            words(pools[kind])[: len(pool)] = words(pool)
    return memory._replace(**pools)


def blank(memory: Memory) -> Memory:
    """Memory for as many flows that remembers nothing."""
    made = {name: np.zeros(0, getattr(memory, name).dtype) for name in GROWING}
    kept = {name: np.zeros_like(getattr(memory, name)) for name in ("flows", "used", "spare")}
    return memory._replace(**made, **kept)


def slots_of(memory: Memory, entries: Ints, is_new: NDArray[np.bool_]) -> Ints:
    """The slots of entries of the flow table; those that are new get one, for good."""
    new = entries[is_new]
    memory.flows["slot"][new] = memory.used[SLOTS] + np.arange(len(new))
    memory.used[SLOTS] += len(new)
    return np.asarray(memory.flows["slot"][entries], np.int64)


@borrowing
def make_rooms(memory: Memory, records: NDArray[Any], places: Ints, rooms: Ints) -> None:
    """Room for L of HPCC++ records."""
    for at in range(places.size):
        make_room(memory, records[places[at]], rooms[at])


def spans(starts: Ints, counts: Ints) -> Ints:
    """The numbers from each start on, so many of each."""
    first = np.cumsum(counts) - counts
    numbers: Ints = np.arange(counts.sum()) + np.repeat(starts - first, counts)
    return numbers


def words(records: NDArray[Any]) -> NDArray[np.uint8]:
    """Records as rows of octets, which are copied without a look at their fields."""
    return records.view(np.uint8).reshape(len(records), records.dtype.itemsize)


def take(records: NDArray[Any], places: Ints) -> NDArray[Any]:
    """A copy of the records at places."""
    taken: NDArray[Any] = np.take(words(records), places, axis=0, mode="clip")
    return taken.view(records.dtype).reshape(-1)
