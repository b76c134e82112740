"""Decisions: some are made side by side in a block, whose fields then go to columns as they lie."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import Arena, inlined, step
from pipeline.batch import BLOCK, DECISION, DECISION_FIELDS, Batch

WHOLE_LINES = 64
"""So many values of any type fill lines of a cache."""
EVERYBODY = -1
"""Whose a field is that all algorithms have."""
MARGIN = 64
"""More decisions than one row can bring: its own, and those of the ACKs that have waited."""


class Decisions(NamedTuple):
    """The memory of the block as (field, row) by type, and columns of all that was made.

    `own` says of each field of a type whose it is (bits of `Algorithm`), `unknown` of each of `f8`
    whether some decision has none.
    """

    now_i8: NDArray[np.int64]
    now_f8: NDArray[np.float64]
    now_u4: NDArray[np.uint32]
    now_i4: NDArray[np.int32]
    now_i1: NDArray[np.int8]
    i8: NDArray[np.int64]
    f8: NDArray[np.float64]
    u4: NDArray[np.uint32]
    i4: NDArray[np.int32]
    i1: NDArray[np.int8]
    own_i8: NDArray[np.int64]
    own_f8: NDArray[np.int64]
    own_u4: NDArray[np.int64]
    own_i4: NDArray[np.int64]
    own_i1: NDArray[np.int64]
    unknown: NDArray[np.bool_]


def room(batch: Batch, most: int, own: Mapping[str, int], arena: Arena) -> Decisions:
    """Columns for so many decisions; `own` is whose each field is, where it is not of all.

    Each begins at a line of a cache.
    """
    most = -(-most // WHOLE_LINES) * WHOLE_LINES
    columns: dict[str, NDArray[Any]] = {}
    fields: Mapping[str, Any] = DECISION.fields or {}
    for kind, names in DECISION_FIELDS.items():
        octets = np.dtype(kind).itemsize * len(names) * BLOCK
        start = batch.block.view(np.uint8)[fields[names[0]][1] :][:octets]
        columns[f"now_{kind}"] = start.view(kind).reshape(len(names), BLOCK)
        columns[kind] = arena.arrays(len(names) * most, kind)[0].reshape(len(names), most)
        columns[f"own_{kind}"] = np.array([own.get(name, EVERYBODY) for name in names])
    return Decisions(**columns, unknown=np.zeros(len(DECISION_FIELDS["f8"]), np.bool_))


def wider(out: Decisions, made: int, arena: Arena) -> Decisions:
    """Columns with twice the room, with the decisions that are there."""
    columns = {}
    for kind, names in DECISION_FIELDS.items():
        before = getattr(out, kind)
        most = 2 * before.shape[1]
        columns[kind] = arena.arrays(len(names) * most, kind)[0].reshape(len(names), most)
        columns[kind][:, :made] = before[:, :made]
    return out._replace(**columns)


@inlined
def is_full(batch: Batch, out: Decisions) -> bool:
    """Whether the columns may not hold what the block and one more row bring."""
    return bool(batch.made[0] + batch.made[1] + MARGIN > out.i8.shape[1])


@step
def spread(batch: Batch, out: Decisions) -> None:
    """The block's decisions into the columns, behind those that are there."""
    count, first = batch.made[0], batch.made[1]
    whose = batch.made[2]
    lay(out.now_i8, out.i8, out.own_i8, whose, first, count)
    lay(out.now_f8, out.f8, out.own_f8, whose, first, count)
    lay(out.now_u4, out.u4, out.own_u4, whose, first, count)
    lay(out.now_i4, out.i4, out.own_i4, whose, first, count)
    lay(out.now_i1, out.i1, out.own_i1, whose, first, count)
    for field in range(out.unknown.size):
        if out.own_f8[field] & whose != 0:
            out.unknown[field] |= lacks(out.now_f8, field, count)
    batch.made[1] += count
    batch.made[0] = batch.made[2] = 0


@inlined
def lay(
    now: NDArray[Any], out: NDArray[Any], own: NDArray[np.int64], whose: int, first: int, count: int
) -> None:
    """Fields of one type, but those of algorithms that made none of these decisions."""
    for each in range(out.shape[0]):
        if own[each] & whose == 0:
            continue
        field = np.uint64(each)  # an index without a sign is a plain load
        for row in range(count):
            out[field, np.uint64(first + row)] = now[field, np.uint64(row)]


@inlined
def lacks(now: NDArray[np.float64], field: int, count: int) -> bool:
    """Whether some value of a field is not known."""
    found = False
    for row in range(count):
        value = now[np.uint64(field), np.uint64(row)]
        found |= value != value  # noqa: PLR0124 - what is not itself is NaN
    return found
