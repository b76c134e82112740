"""Stacks of the rows that have been brought near, from where they lie, and their loads to columns.

A loop over rows that read twenty columns of hops itself would wait for each; so each column is read
for some rows together, one place behind the other, and u' goes back in the same way.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collector import fetch_at, inlined, word_at
from pipeline.batch import AHEAD, Batch
from pipeline.cc.hop_record import LINE


@inlined
def bring_stacks(rows: NDArray[Any], batch: Batch, count: int) -> None:
    """The stacks of so many rows, whose numbers follow each other, and no load of any hop."""
    first, told = -1, 0
    for at in range(count):
        row = rows[np.uint64(at)]
        row.stack = told
        if row.telemetry >= 0:
            first = row.telemetry if told == 0 else first
            told += 1
    batch.span[0], batch.span[1] = first, told
    done, piece = 0, 0
    while done < told:
        while batch.ends[piece] <= first + done:
            piece += 1
        end = min(told, batch.ends[piece] - first)
        for kind in range(batch.told.shape[0]):
            for hop in range(batch.told.shape[1]):
                lay(batch, piece, kind, hop, first, done, end)
        done = end
    for hop in range(batch.u_near.shape[0]):
        for at in range(told):
            batch.u_near[np.uint64(hop), np.uint64(at)] = np.nan


@inlined
def lay(batch: Batch, piece: int, kind: int, hop: int, first: int, begin: int, end: int) -> None:
    """A value of some rows, -1 where it is not told."""
    address = batch.places[piece, kind, hop]
    if address == 0:
        for at in range(begin, end):
            batch.told[np.uint64(kind), np.uint64(hop), np.uint64(at)] = -1
    else:
        for at in range(begin, end):
            batch.told[np.uint64(kind), np.uint64(hop), np.uint64(at)] = word_at(
                address, first + at
            )
        for line in range(AHEAD // LINE):
            fetch_at(address, first + end + line * LINE)


@inlined
def leave_loads(batch: Batch) -> None:
    """The loads of the hops of the rows that were near."""
    first, told = batch.span[0], batch.span[1]
    for hop in range(batch.u.shape[0]):
        for at in range(told):
            batch.u[np.uint64(hop), np.uint64(first + at)] = batch.u_near[
                np.uint64(hop), np.uint64(at)
            ]
    batch.span[1] = 0
