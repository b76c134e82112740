"""Snapshots: a tracker's state as tables of Arrow, a full one and then what has changed since.

A row is an entry of the flow table that was touched since the last snapshot: its place, its key,
when it was last seen with its rank, all state of the conversation behind it (`state_columns`) and
that of companions (`book_columns`). Points, counters and parameters are in the schema's metadata.

A tracker with the same parameters that is given a full snapshot and those that followed goes on as
the one that they are of, to the bit. Each names the one before, so none can be left out or be of
another tracker. What does not fit is refused before anything is changed.
"""

import json
from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collector import borrowing
from pipeline import book_columns, state_columns
from pipeline.book import Book
from pipeline.cc.dctcp import DIALECTS
from pipeline.flow import DIRTY, PROVEN, UNIT, WAYS, entry_of
from pipeline.memory import Count, Ints, Memory, Rules
from pipeline.snapshot_error import SnapshotError

VERSION = 1
"""Of the format; a new one wherever the meaning of state changes, not only its columns."""
KEY = b"hopsight"
"""Of the metadata, which is JSON."""
ROWS = 1 << 16
"""Rows of a record batch: what is copied stays near while its fields go one after the other."""


class State(NamedTuple):
    """What a tracker knows: memory, numbers of points, counters, and books of companions."""

    memory: Memory
    points: dict[str, int]
    counts: NDArray[np.int64]
    books: Mapping[str, Book]


class Snapshots:
    """The snapshots of one tracker: takes them and puts them back, each after the one before."""

    def __init__(self, rules: Rules, flows: int, companions: Mapping[str, Any]) -> None:
        """Note the parameters, the places of the flow table and the companions' records."""
        self.parameters = _parameters(rules, flows, companions)
        self.last = ""
        """Digest of the snapshot that was taken or restored last; empty: none was."""

    def take(self, state: State, *, full: bool) -> pa.Table:
        """The flows that were touched since the last snapshot, or all; they count as untouched."""
        full = full or not self.last
        flows = state.memory.flows
        entries = np.flatnonzero(flows["key"] if full else flows["seen"] & DIRTY)
        schema = _schema(state)
        batches = [
            _batch(state, entries[first : first + ROWS], schema)
            for first in range(0, len(entries), ROWS)
        ]
        flows["seen"][entries] &= ~np.uint32(DIRTY)
        told = {
            "version": VERSION,
            "parameters": self.parameters,
            "follows": "" if full else self.last,
            "points": list(state.points),
            "counters": {count.name.lower(): int(state.counts[count]) for count in Count},
        }
        digest = blake2b(json.dumps(told).encode(), digest_size=16)
        for part in (entries, flows["key"][entries], flows["seen"][entries]):
            digest.update(part.tobytes())
        self.last = digest.hexdigest()
        text = json.dumps({**told, "digest": self.last}).encode()
        return pa.Table.from_batches(batches, schema).replace_schema_metadata({KEY: text})

    def restore(self, state: State, table: pa.Table) -> State:
        """The state after a snapshot; SnapshotError, with nothing changed, says what is wrong."""
        told = _heading(table)
        self._fits(told, state, table)
        entries, keys, seen = _entries(table, len(state.memory.flows))
        before = state.memory if told["follows"] else state_columns.blank(state.memory)
        flows = before.flows.copy()
        flows["key"][entries], flows["seen"][entries] = keys, seen
        if misplaced(flows, entries):
            raise SnapshotError("the snapshot has a flow where no look-up would find it")
        need: Counter[str] = Counter()
        for batch in table.to_batches(max_chunksize=ROWS):
            state_columns.check(before, "slots", before.slots, batch.column("slot"), need)
            for name, book in state.books.items():
                book_columns.check(before, book, batch.column(name))
        is_new = before.flows["key"][entries] == 0
        memory = state_columns.reserved(before._replace(flows=flows, used=before.used.copy()), need)
        for book in state.books.values():
            book_columns.begin(book, blank=not told["follows"])
        _put(State(memory, {}, state.counts, state.books), entries, is_new, table)
        self.last = told["digest"]
        points = {name: number for number, name in enumerate(told["points"])}
        counts = np.array([told["counters"][count.name.lower()] for count in Count], np.int64)
        return State(memory, points, counts, state.books)

    def _fits(self, told: Mapping[str, Any], state: State, table: pa.Table) -> None:
        """Refuse a snapshot of other parameters, other columns, or that is not the next one."""
        for name in dict.fromkeys([*self.parameters, *told["parameters"]]):
            theirs, own = told["parameters"].get(name), self.parameters.get(name)
            if theirs != own:
                raise SnapshotError(
                    f"the snapshot was taken with {name} = {theirs}, and this tracker has {own}"
                )
        schema = _schema(state)
        if table.schema.names != schema.names:
            raise SnapshotError(
                f"the snapshot has the columns {', '.join(table.schema.names)}, and not"
                f" {', '.join(schema.names)}"
            )
        for field in schema:
            found = table.schema.field(field.name).type
            if found != field.type:
                raise SnapshotError(f"the snapshot's {_unlike(field.name, found, field.type)}")
        if told["follows"]:
            if not self.last:
                raise SnapshotError("the first snapshot to restore is a full one, not an increment")
            if told["follows"] != self.last:
                raise SnapshotError("the snapshot does not follow the one that was restored last")
            if (state.memory.flows["seen"] & DIRTY).any():
                raise SnapshotError("this tracker has gone on since the snapshot before this one")


def _parameters(rules: Rules, flows: int, companions: Mapping[str, Any]) -> dict[str, Any]:
    """All that two trackers must have in common, by name."""
    named = {"hpcc": rules.hpcc[0]}
    named |= {
        f"dctcp.{name}": record
        for name, record in zip(("auto", *DIALECTS), rules.dctcp, strict=True)
    }
    named |= {
        f"{name}.{number}": record
        for name, companion in companions.items()
        for number, record in enumerate(each[0] for each in companion.parameters)
    }
    made: dict[str, Any] = {
        "the flow table's places": flows,
        "idle_ticks": rules.idle_ticks,
        "dctcp.dialect": rules.dialect,
        "ts_mask": rules.ts_mask.tolist(),
        "tx_mask": rules.tx_mask.tolist(),
        "companions": list(companions),
    }
    for name, record in named.items():
        made |= {f"{name}.{field}": record[field].item() for field in record.dtype.names}
    return made


def _unlike(name: str, found: pa.DataType, expected: pa.DataType) -> str:
    """What differs first between two types that do."""
    if pa.types.is_struct(found) and pa.types.is_struct(expected):
        theirs, own = ({each.name: each.type for each in kind} for kind in (found, expected))
        for field in dict.fromkeys([*own, *theirs]):
            if field not in own or field not in theirs:
                return f"{name}.{field} is {'missing' if field in own else 'not known'}"
            if own[field] != theirs[field]:
                return _unlike(f"{name}.{field}", theirs[field], own[field])
    nests = pa.types.is_list(expected) or pa.types.is_fixed_size_list(expected)
    if nests and found.id == expected.id and found.value_type != expected.value_type:
        return _unlike(name, found.value_type, expected.value_type)
    return f"{name} is {found}, and not {expected}"


def _schema(state: State) -> pa.Schema:
    """The columns of a snapshot."""
    memory = state.memory
    slot = state_columns.type_of(memory, "slots", memory.slots)
    books = [(name, book_columns.type_of(memory, book)) for name, book in state.books.items()]
    return pa.schema(
        [("place", pa.int32()), ("key", pa.uint64()), ("seen", pa.uint32()), ("slot", slot), *books]
    )


def _batch(state: State, entries: Ints, schema: pa.Schema) -> pa.RecordBatch:
    """Rows of entries."""
    memory, flows = state.memory, state.memory.flows[entries]
    slots = flows["slot"].astype(np.int64)
    columns = [
        pa.array(entries.astype(np.int32)),
        pa.array(np.ascontiguousarray(flows["key"])),
        pa.array(flows["seen"] & ~np.uint32(DIRTY)),
        state_columns.columns_of(memory, "slots", memory.slots, slots),
        *(book_columns.columns_of(memory, book, slots) for book in state.books.values()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _heading(table: pa.Table) -> dict[str, Any]:
    """The metadata, with all that is expected there."""
    try:
        told: dict[str, Any] = json.loads((table.schema.metadata or {})[KEY])
        version = told["version"]
    except (KeyError, TypeError, ValueError, RecursionError):
        raise SnapshotError("the table is no snapshot: its metadata does not say so") from None
    if version != VERSION:
        raise SnapshotError(f"the snapshot has the format {version}, and this is {VERSION}")
    names = [count.name.lower() for count in Count]
    expected = {"parameters": dict, "follows": str, "digest": str, "points": list, "counters": dict}
    for name, kind in expected.items():
        if not isinstance(told.get(name), kind):
            raise SnapshotError(f"the snapshot's metadata lacks {name}")
    points, counters = told["points"], told["counters"]
    if not all(isinstance(name, str) for name in points) or len(set(points)) < len(points):
        raise SnapshotError("the snapshot's points are not names of which each is there once")
    for name in names:
        if type(counters.get(name)) is not int or not 0 <= counters[name] < 1 << 63:
            raise SnapshotError(f"the snapshot's counter {name} is {counters.get(name)!r}")
    return told


def _entries(table: pa.Table, size: int) -> tuple[Ints, NDArray[np.uint64], NDArray[np.uint32]]:
    """Places, keys and when last seen, as they can be."""
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        raise SnapshotError(f"the snapshot is damaged: {error}") from None
    for name in ("place", "key", "seen"):
        state_columns.whole(table[name], name)
    entries = table["place"].to_numpy().astype(np.int64)
    keys, seen = table["key"].to_numpy(), table["seen"].to_numpy()
    if len(entries) and not 0 <= entries.min() <= entries.max() < size:
        raise SnapshotError(f"the snapshot has places that are not within 0 to {size - 1}")
    if (np.diff(entries) <= 0).any():
        raise SnapshotError("the snapshot's places are not in order, each once")
    if (keys == 0).any():
        raise SnapshotError("the snapshot has a flow without a key")
    if (seen % UNIT > PROVEN).any():
        raise SnapshotError(f"the snapshot has a flow of a rank that is not within 0 to {PROVEN}")
    return entries, keys, seen


def _put(state: State, entries: Ints, is_new: NDArray[np.bool_], table: pa.Table) -> None:
    """Write what was checked."""
    memory, first = state.memory, 0
    for batch in table.to_batches(max_chunksize=ROWS):
        part = slice(first, first + batch.num_rows)
        slots = state_columns.slots_of(memory, entries[part], is_new[part])
        state_columns.put(memory, "slots", memory.slots, slots, batch.column("slot"))
        for name, book in state.books.items():
            book_columns.put(memory, book, slots, batch.column(name))
        first += batch.num_rows


@borrowing
def misplaced(flows: NDArray[Any], entries: Ints) -> bool:
    """Whether some entry is not the one that a look-up of its key ends at."""
    for at in range(entries.size):
        key, step = flows[entries[at]].key, 0
        while entry_of(flows, key, step) != entries[at]:
            here = flows[entry_of(flows, key, step)].key
            step += 1
            if here in (np.uint64(0), key) or step == WAYS:
                return True
    return False
