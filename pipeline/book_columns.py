"""Books of companions as columns of Arrow, and back: of each direction none or one state."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from collector import arrow
from pipeline import state_columns
from pipeline.book import Book
from pipeline.companion import Companion
from pipeline.flow import SLOTS
from pipeline.memory import Ints, Memory
from pipeline.snapshot_error import SnapshotError
from pipeline.state_columns import flat, whole

SHARED = ("hpcc_qos",)
"""Companions that know something of ports, which all flows there share: it is in no book."""


def books_of(companions: Mapping[str, Companion], round_trips: Book) -> dict[str, Book]:
    """All books by name; SnapshotError where they are not all that is known."""
    for name in companions:
        if name in SHARED:
            raise SnapshotError(f"no snapshot keeps what the companion {name} knows of ports")
    books = {name: each.book for name, each in companions.items()}
    return {"round_trips": round_trips, **books} if books else {}


def type_of(memory: Memory, book: Book) -> pa.DataType:
    """Of both directions a list of none or one: the life, and each array of state."""
    fields = [pa.field("life", pa.uint16())]
    for name, (_, each) in book.kinds.items():
        record = state_columns.type_of(memory, named(name), book[name])
        fields.append(pa.field(name, pa.list_(record, each)))
    return pa.list_(pa.list_(pa.struct(fields)), 2)


def columns_of(memory: Memory, book: Book, slots: Ints) -> pa.Array:
    """What a companion keeps of both senders of slots."""
    book.room(int(memory.used[SLOTS]), 0)
    own = state_columns.take(book.book, senders(slots))
    there = own["place"] > 0
    places = own["place"][there].astype(np.int64) - 1
    made = [arrow.array(own["life"][there])]
    for name, (_, each) in book.kinds.items():
        at = spread(places, each)
        records = state_columns.columns_of(memory, named(name), book[name], at)
        made.append(pa.FixedSizeListArray.from_arrays(records, each))
    offsets = np.zeros(len(own) + 1, np.int32)
    np.cumsum(there, out=offsets[1:])
    kind = type_of(memory, book).value_type
    state = pa.StructArray.from_arrays(made, fields=list(kind.value_type))
    return pa.FixedSizeListArray.from_arrays(
        pa.ListArray.from_arrays(arrow.array(offsets), state), 2
    )


def nothing(memory: Memory, book: Book, rows: int) -> pa.Array:
    """As much for rows that are not of the tracker's flows."""
    kind = type_of(memory, book).value_type
    state = pa.array([], kind.value_type)
    lists = pa.ListArray.from_arrays(arrow.array(np.zeros(2 * rows + 1, np.int32)), state)
    return pa.FixedSizeListArray.from_arrays(lists, 2)


def check(memory: Memory, book: Book, column: pa.Array) -> None:
    """Refuse what is not whole, and more than one state of a sender."""
    lists = flat(column, "a companion's column")
    if len(lists) and lists.value_lengths().to_numpy().max() > 1:
        raise SnapshotError("the snapshot has two states of one sender of a companion")
    state = lists.flatten()
    whole(state, "a companion's column")
    whole(state.field("life"), "a companion's lives")
    for name in book.kinds:
        kind = named(name)
        state_columns.check(memory, kind, book[name], flat(state.field(name), kind), Counter())


def put(memory: Memory, book: Book, slots: Ints, column: pa.Array) -> None:
    """Write checked state of the senders of slots."""
    lists = flat(column, "")
    there = lists.value_lengths().to_numpy() > 0
    book.room(int(memory.used[SLOTS]), len(slots))
    at = senders(slots)[there]
    new = at[book.book["place"][at] == 0]
    book.book["place"][new] = book.used[0] + 1 + np.arange(len(new))
    book.used[0] += len(new)
    state = lists.flatten()
    book.book["life"][at] = state.field("life").to_numpy()
    places = book.book["place"][at].astype(np.int64) - 1
    for name, (_, each) in book.kinds.items():
        values = flat(state.field(name), name)
        state_columns.put(memory, named(name), book[name], spread(places, each), values)


def begin(book: Book, *, blank: bool) -> None:
    """Be ready for state that is put back, and forget what is there before a full snapshot.

    `used` is another array then: by that a companion sees that its state was put back.
    """
    if blank:
        book.__dict__.update(vars(Book(**book.kinds)))
    else:
        book.used = book.used.copy()


def named(array: str) -> str:
    """How an array of a book is called among the pools."""
    return f"companion {array}"


def senders(slots: Ints) -> Ints:
    """Where a book has the two senders of each slot."""
    return (2 * slots[:, None] + np.arange(2)).reshape(-1)


def spread(places: Ints, each: int) -> Ints:
    """The elements of places that have so many each."""
    return (places[:, None] * each + np.arange(each)).reshape(-1)
