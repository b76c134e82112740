"""Room for the columns of a batch: one block of memory, each column in the type that it keeps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from collector.arena import ALIGNED, Arena
from collector.arrange import mark
from collector.arrow import array, table
from collector.graph import OUTER_ECN, Plan
from collector.layout import Layouts
from collector.observation import SCHEMA
from collector.observation.hop import hops

FLAT = SCHEMA.keys() - {column.name for column in hops()}
"""Columns that are taken over as they are; what a hop says, its format explains."""
KEY = ("src_hi", "src_lo", "dst_hi", "dst_lo", "sport", "dport", "protocol")
"""Columns of the flow's key: 0 where no header wrote them, while all others are null there."""
OCTET = 8
TYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
WIDTHS: dict[type[pl.DataType], int] = {
    pl.UInt8: 1,
    pl.UInt16: 2,
    pl.UInt32: 4,
    pl.UInt64: 8,
}


@dataclass(frozen=True, slots=True)
class Room:
    """Memory for some columns of a batch; `base` in elements of each column's own width."""

    memory: NDArray[np.uint8]
    base: NDArray[np.int64]
    octets: NDArray[np.int64]


class Columns:
    """Names and widths of the columns that the walk writes, and which layouts write them."""

    def __init__(self, plan: Plan, most_layouts: int, arena: Arena) -> None:
        self.names = plan.columns
        self.octets = np.array(
            [width(name, bits) for name, bits in zip(plan.columns, plan.bits, strict=True)],
            np.int64,
        )
        self.key = np.array([plan.columns.index(name) for name in KEY if name in plan.columns])
        self.highest = int(plan.graph["scalars"][0][OUTER_ECN])
        self.has = np.zeros((most_layouts, len(plan.columns)), np.bool_)
        self.learnt = 0
        self.arena = arena

    def learn(self, pool: Layouts, count: int) -> None:
        """Note which columns new layouts write; `count` are kept now."""
        if count < self.learnt:
            self.learnt = 0
        for number in range(self.learnt, count):
            layout = pool["layouts"][0][number]
            self.has[number] = False
            self.has[number, pool["reads"][0]["column"][layout["read0"] : layout["read1"]]] = True
        self.learnt = count

    def room(self, layouts: NDArray[np.int64], rows: int) -> Room:
        """Memory for the columns that any of these layouts writes; zero where not all do."""
        has = self.has[layouts]
        wanted = np.logical_or.reduce(has, axis=0)
        wanted[self.key] = True
        room = self._room(wanted, rows)
        partly = wanted & ~np.logical_and.reduce(has, axis=0)
        partly[self.highest] = wanted[self.highest]
        for column in np.flatnonzero(partly & (self.octets > 0)).tolist():
            self.view(room, column, rows)[:] = 0
        return room

    def _room(self, wanted: NDArray[np.bool_], rows: int) -> Room:
        """Memory for the wanted columns of so many rows."""
        octets = np.where(wanted, self.octets, 0)
        sizes = -(-octets * rows // ALIGNED) * ALIGNED
        ends = np.cumsum(sizes)
        base = (ends - sizes) // np.maximum(octets, 1)
        return Room(self.arena.block(int(ends[-1]) + ALIGNED), base, octets)

    def view(self, room: Room, column: int, rows: int) -> NDArray[np.uint8]:
        """The octets of one column."""
        octets = int(room.octets[column])
        start = int(room.base[column]) * octets
        return room.memory[start : start + rows * octets]

    def frame(
        self,
        room: Room,
        number: NDArray[np.int32],
        present: NDArray[np.int64],
        beside: Mapping[str, NDArray[Any]],
    ) -> pl.DataFrame:
        """The columns as a data frame, with those `beside` them.

        `number` is each row's layout, `present` are all there are.
        """
        filled = np.flatnonzero(room.octets)
        has = self.has[present][:, filled]
        whole = np.logical_and.reduce(has, axis=0)
        count = len(number)
        bitmaps: dict[bytes, pa.Buffer] = {}
        arrays: dict[str, pa.Array] = {}
        for at, column in enumerate(filled.tolist()):
            validity = None
            if not whole[at] and column not in self.key:
                pattern = has[:, at].tobytes()
                validity = bitmaps.get(pattern)
                if validity is None:
                    bits = np.empty(-(-count // OCTET), np.uint8)
                    mark(number, self.has[:, column].view(np.uint8).copy(), bits)
                    validity = bitmaps[pattern] = pa.py_buffer(bits)
            values = self.view(room, column, count).view(TYPES[int(room.octets[column])])
            arrays[self.names[column]] = array(values, validity)
        return table(arrays | {name: array(values) for name, values in beside.items()})


def width(name: str, bits: int) -> int:
    """Octets of a column: what the observation keeps, else what the field needs; 0: it steers."""
    if name.startswith("_"):
        return 0
    if name in FLAT:
        return WIDTHS[type(SCHEMA[name])]
    return next(octets for octets in TYPES if bits <= octets * OCTET)
