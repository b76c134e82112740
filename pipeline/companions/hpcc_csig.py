"""Companion: HPCC++ (`cc.hpcc`) between the bounds that CSIG's signals give (`cc.csig_load`).

A tag carries one signal; the last rate term and the last queue term of a flow make its bounds. The
port of a locator with its capacity and its base delay are the topology's (`placed`).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collector import borrowing
from pipeline.batch import Rows
from pipeline.cc import csig_load
from pipeline.cc.csig_load import Signal
from pipeline.cc.parameter import Value
from pipeline.companion import Course
from pipeline.companions.heard import NOBODY, Flags, Heard, News
from pipeline.companions.load_companion import ACTS, BASE, LoadCompanion, has, numbers, wholes
from pipeline.companions.load_loop import DECIDED, Fault
from pipeline.memory import Ints
from pipeline.placed import PREFIXES
from pipeline.reserved import LOCATOR, UNTOLD

__all__ = ["DECIDED", "TABLE", "HpccCsig"]

TABLE = (*csig_load.TABLE, *BASE, *ACTS)


class Tags(NamedTuple):
    """The tag of each piece: signal, both ends, and what is known of the port that it names."""

    signal: Ints
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    node: Ints
    port: Ints
    b_bps: Ints
    base_ns: Ints


class HpccCsig(LoadCompanion):
    """See the module; ValueError names a parameter that is not accepted."""

    name = "hpcc_csig"

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        super().__init__(parameters, csig_load.TABLE, BASE, ACTS, terms=(csig_load.STATE, 1))

    def pieces(self, course: Course) -> tuple[Flags, Flags]:
        """Data with a tag, and what reflects one."""
        tag, echo = (has(course.frame, f"{prefix}_t") for prefix in PREFIXES)
        return tag, echo

    def fill(self, course: Course, told: Heard, loads: NDArray[Any]) -> None:
        """Bounds from the terms of each sender's last tags."""
        own, base, _ = self.parameters
        tags = tags_of(course, told)
        make(course.rows, told, tags, self.book["terms"], own, int(base[0].base_delay_ns), loads)


def tags_of(course: Course, told: Heard) -> Tags:
    """The tags of all pieces, from the columns of tags or of reflections."""
    frame, back = course.frame, told.back != 0
    values: dict[str, Any] = {}
    for field, name in zip(Tags._fields, NAMES, strict=True):
        tag, echo = (
            numbers(frame, f"{prefix}_{name}", told, np.nan)
            if field in ("low", "high")
            else wholes(frame, f"{prefix}_{name}", told)
            for prefix in PREFIXES
        )
        values[field] = np.where(back, echo, tag)
    return Tags(**values)


NAMES = ("t", "low", "high", "hop_node", "hop_port", "hop_b_bps", "hop_base_ns")
"""The columns of `Tags` behind their prefix."""


@borrowing
def make(
    rows: Rows, told: Heard, tags: Tags, terms: NDArray[Any], q: NDArray[Any], base_ns: int,
    loads: NDArray[Any],
) -> None:  # fmt: skip
    """A load of each tag and of the last one of its sender that tells the other term."""
    for at in range(loads.size):
        load, place = loads[at], told.place[at]
        if place == NOBODY:
            continue
        if told.news[at] != News.NOTHING.value:
            terms[place].known[0], terms[place].known[1] = 0, 0
        placed = tags.node[at] >= 0 and tags.node[at] != LOCATOR
        port = tags.node[at] << 32 | tags.port[at] if placed else -1
        base = tags.base_ns[at] if tags.base_ns[at] >= 0 else base_ns
        csig_load.csig(
            load, terms[place], q[0], tags.signal[at], tags.low[at], tags.high[at], port,
            tags.b_bps[at], max(base, 0), rows.time_ns[told.row[at]], told.t_ns[at],
        )  # fmt: skip
        untouched = tags.node[at] == LOCATOR and tags.port[at] == UNTOLD
        load.faults |= 0 if placed or untouched else Fault.PORT_UNKNOWN.value
        if base < 0 and tags.signal[at] == Signal.PD.value:
            load.faults |= Fault.BASE_UNKNOWN.value
