"""Snapshots: a tracker's state as tables of Arrow, a full one and then what has changed since.

A row is an entry of a table that was touched since the last snapshot (`entry_rows`), with all state
of the flow behind it (`state_columns`) and that of companions (`book_columns`). Points, counters
and parameters are in the schema's metadata.

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

from collector import arrow
from pipeline import book_columns, entry_rows, state_columns
from pipeline.book import Book
from pipeline.cc.dctcp import DIALECTS
from pipeline.cc.parameter import Value
from pipeline.entry_rows import COLUMNS, FLOW, Bounded
from pipeline.flow import DIRTY, SLOTS
from pipeline.memory import Count, Ints, Memory, Rules
from pipeline.roce_stream import Streams
from pipeline.snapshot_error import SnapshotError

VERSION = 1
"""Of the format; a new one wherever the meaning of state changes, not only its columns."""
KEY = b"hopsight"
"""Of the metadata, which is JSON."""
ROWS = 1 << 16
"""Rows of a record batch: what is copied stays near while its fields go one after the other."""


class State(NamedTuple):
    """What a tracker knows: memory, queue pairs, points' numbers, counters, companions' books."""

    memory: Memory
    known: Streams
    points: dict[str, int]
    counts: NDArray[np.int64]
    books: Mapping[str, Book]


class Snapshots:
    """The snapshots of one tracker: takes them and puts them back, each after the one before."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """Note what two trackers must have in common (`parameters_of`)."""
        self.parameters = dict(parameters)
        self.last = ""
        """Digest of the snapshot that was taken or restored last; empty: none was."""

    def take(self, state: State, *, full: bool) -> pa.Table:
        """What was touched since the last snapshot, or all; it counts as untouched then."""
        full = full or not self.last
        tables, schema = entry_rows.tables_of(state.memory, state.known), _schema(state)
        found, batches = entry_rows.touched(tables, full=full), []
        digest = blake2b(digest_size=16)
        for number, (table, places) in enumerate(zip(tables, found, strict=True)):
            table.entries["seen"][places] &= ~np.uint32(DIRTY)
            batches += [
                _batch(state, number, table, places[first : first + ROWS], schema)
                for first in range(0, len(places), ROWS)
            ]
            for part in (places, table.entries["key"][places], table.entries["seen"][places]):
                digest.update(part.tobytes())
        told = {
            "version": VERSION,
            "parameters": self.parameters,
            "follows": "" if full else self.last,
            "points": list(state.points),
            "counters": {count.name.lower(): int(state.counts[count]) for count in Count},
        }
        digest.update(json.dumps(told).encode())
        self.last = digest.hexdigest()
        text = json.dumps({**told, "digest": self.last}).encode()
        return pa.Table.from_batches(batches, schema).replace_schema_metadata({KEY: text})

    def restore(self, state: State, table: pa.Table) -> State:
        """The state after a snapshot; SnapshotError, with nothing changed, says what is wrong."""
        told = _heading(table)
        self._fits(told, state, table)
        _validate(table)
        full = not told["follows"]
        before = state_columns.blank(state.memory) if full else state.memory
        known = entry_rows.unknown(state.known) if full else state.known
        parts, tables = entry_rows.parts_of(table), entry_rows.tables_of(before, known)
        found = [
            entry_rows.entries_of(part, len(each.entries))
            for part, each in zip(parts, tables, strict=True)
        ]
        placed = [
            entry_rows.placed(each.entries, new, numbered=number != FLOW)
            for number, (each, new) in enumerate(zip(tables, found, strict=True))
        ]
        need: Counter[str] = Counter()
        for name, each, part in zip(COLUMNS, tables, parts, strict=True):
            for batch in part.to_batches(max_chunksize=ROWS):
                state_columns.check(before, name, each.records, batch.column(name).flatten(), need)
        for name, book in state.books.items():
            for batch in parts[FLOW].to_batches(max_chunksize=ROWS):
                book_columns.check(before, book, batch.column(name))
        need["slots"] = need["flow"]
        is_new = before.flows["key"][found[FLOW].places] == 0
        memory = before._replace(flows=placed[FLOW], used=before.used.copy())
        memory = state_columns.reserved(memory, need)
        for book in state.books.values():
            book_columns.begin(book, blank=full)
        _put_flows(state._replace(memory=memory), found[FLOW].places, is_new, parts[FLOW])
        for number, each in enumerate(tables):
            if number != FLOW:
                each.entries[:] = placed[number]
                each.used[SLOTS] = np.count_nonzero(each.entries["key"])
                _put_records(memory, COLUMNS[number], each.records, found[number], parts[number])
        self.last = told["digest"]
        points = {name: number for number, name in enumerate(told["points"])}
        counts = np.array([told["counters"][count.name.lower()] for count in Count], np.int64)
        return State(memory, known, points, counts, state.books)

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
            tables = entry_rows.tables_of(state.memory, state.known)
            if any(len(each) for each in entry_rows.touched(tables, full=False)):
                raise SnapshotError("this tracker has gone on since the snapshot before this one")


def parameters_of(
    rules: Rules, flows: int, companions: Mapping[str, Any], **others: Value | None
) -> dict[str, Any]:
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
        **others,
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
    records = [
        (name, pa.list_(state_columns.type_of(memory, name, table.records)))
        for name, table in zip(COLUMNS, entry_rows.tables_of(memory, state.known), strict=True)
    ]
    books = [(name, book_columns.type_of(memory, book)) for name, book in state.books.items()]
    return pa.schema(
        [
            ("table", pa.uint8()),
            ("place", pa.int32()),
            ("key", pa.uint64()),
            ("seen", pa.uint32()),
            ("number", pa.int32()),
            *records,
            *books,
        ]
    )


def _batch(
    state: State, number: int, table: Bounded, places: Ints, schema: pa.Schema
) -> pa.RecordBatch:
    """Rows of entries of one table."""
    memory, entries, rows = state.memory, table.entries[places], len(places)
    numbers = entries["slot"].astype(np.int64)
    columns = [
        arrow.array(np.full(rows, number, np.uint8)),
        arrow.array(places.astype(np.int32)),
        arrow.array(entries["key"]),
        arrow.array(entries["seen"]),
        arrow.array(np.where(number == FLOW, 0, numbers).astype(np.int32)),
    ]
    for at, name in enumerate(COLUMNS):
        kind, of = schema.field(name).type.value_type, np.zeros(rows + 1, np.int32)
        records = pa.array([], kind)
        if at == number:
            of = np.arange(rows + 1, dtype=np.int32)
            records = state_columns.columns_of(memory, name, table.records, numbers)
        columns.append(pa.ListArray.from_arrays(arrow.array(of), records))
    columns += [
        book_columns.columns_of(memory, book, numbers)
        if number == FLOW
        else book_columns.nothing(memory, book, rows)
        for book in state.books.values()
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


def _validate(table: pa.Table) -> None:
    """Refuse a table that Arrow itself finds wrong."""
    try:
        table.validate(full=True)
    except pa.ArrowException as error:
        raise SnapshotError(f"the snapshot is damaged: {error}") from None


def _put_flows(state: State, places: Ints, is_new: NDArray[np.bool_], part: pa.Table) -> None:
    """Write flows that were checked."""
    memory, first = state.memory, 0
    for batch in part.to_batches(max_chunksize=ROWS):
        here = slice(first, first + batch.num_rows)
        slots = state_columns.slots_of(memory, places[here], is_new[here])
        state_columns.put(memory, "flow", memory.slots, slots, batch.column("flow").flatten())
        for name, book in state.books.items():
            book_columns.put(memory, book, slots, batch.column(name))
        first += batch.num_rows


def _put_records(
    memory: Memory, name: str, records: NDArray[Any], new: entry_rows.Entries, part: pa.Table
) -> None:
    """Write records that were checked where they have their numbers."""
    first = 0
    for batch in part.to_batches(max_chunksize=ROWS):
        numbers = new.numbers[first : first + batch.num_rows]
        state_columns.put(memory, name, records, numbers, batch.column(name).flatten())
        first += batch.num_rows
