"""What companions that make loads have in common: their book, their decisions, the loop's call."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.book import Book
from pipeline.cc import hop_load, hpcc, parameter
from pipeline.cc.hop_load import LOAD, Tag
from pipeline.cc.parameter import Parameter, Value
from pipeline.companion import Course, frame_of
from pipeline.companions.heard import HEARD, Flags, Heard, attribute, heard
from pipeline.companions.load_loop import DECIDED, KINDS, Senders, hear
from pipeline.decided import names
from pipeline.reserved import UNTOLD

ACTS = tuple(row for row in hop_load.TABLE if row.name == "acts_on")
UNITS = tuple(row for row in hop_load.TABLE if row.name != "acts_on")
BASE = (
    Parameter("base_delay_ns", -1, "ns", -1, 10**9,
              "Delay of an empty port where no topology tells it; -1: unknown, 0 is taken.",
              "open"),
)  # fmt: skip
"""Of companions that read delays."""


class LoadCompanion:
    """HPCC++ on the loads that `pieces` announces and `fill` makes; see `load_loop`."""

    name = ""

    def __init__(
        self, parameters: Mapping[str, Value], *tables: tuple[Parameter, ...], **kinds: Any
    ) -> None:
        """The companion's own tables, and what it keeps of each sender beside HPCC++."""
        self.parameters = parameter.records(parameters, *tables)
        acting = [row.name for row in hop_load.TABLE if row.name in parameters]
        acts = hop_load.record({name: parameters[name] for name in acting})
        self.acts = np.array([acts], acts.dtype)
        """All of `hop_load.TABLE`, so that the loop is compiled once for all."""
        self.book = Book(heard=(HEARD, 1), **KINDS, **kinds)

    def pieces(self, course: Course) -> tuple[Flags, Flags]:
        """The rows whose data carries loads, and those that reflect some."""
        raise NotImplementedError

    def fill(self, course: Course, told: Heard, loads: NDArray[Any]) -> None:
        """Make the load of each piece."""
        raise NotImplementedError

    def advance(self, course: Course) -> pl.DataFrame:
        """Decisions at each ACK of a sender of which there has been telemetry."""
        rows, trail, book = course.rows, course.batch.trail, self.book
        told = heard(rows, *self.pieces(course))
        book.room(course.slots, min(told.row.size, trail.size))
        scratch = np.zeros(1, hpcc.STATE)
        used, p = book.used, course.rules.hpcc
        attribute(rows, trail, told, book.book, used, book["heard"], p, scratch)
        loads = np.zeros(told.row.size, LOAD)
        if loads.size:
            self.fill(course, told, loads)
        acks = np.count_nonzero(trail["acked"] > 0) + np.count_nonzero(told.back)
        made = np.zeros(acks, DECIDED)
        own = Senders(*(book[name] for name in KINDS))
        count = hear(rows, trail, told, loads, own, p, self.acts, made)
        return decisions(frame_of(course, made[:count], self.name, hpcc.Branch))


def decisions(frame: pl.DataFrame) -> pl.DataFrame:
    """The same with the tag's name, and null where there is no load, no hop or no port."""
    tag = frame["tag"].cast(pl.UInt8).cat.to(names(Tag))
    return frame.with_columns(
        pl.when(pl.col("tag") > 0).then(tag).alias("tag"),
        pl.when(pl.col("hop") >= 0).then("hop").alias("hop"),
        pl.when(pl.col("node", "port") != UNTOLD).then(pl.col("node", "port")),
    )


def numbers(frame: pl.DataFrame, name: str, told: Heard, absent: float) -> NDArray[np.float64]:
    """A column's values at each piece, `absent` where there is none."""
    if name not in frame.columns:
        return np.full(told.row.size, absent)
    column = frame[name].gather(told.row).cast(pl.Float64).fill_null(absent)
    return np.array(column.to_numpy())


def wholes(frame: pl.DataFrame, name: str, told: Heard) -> NDArray[np.int64]:
    """The same of whole numbers, -1 where there is none."""
    if name not in frame.columns:
        return np.full(told.row.size, -1, np.int64)
    column = frame[name].gather(told.row).cast(pl.Int64, wrap_numerical=True).fill_null(-1)
    return np.array(column.to_numpy())


def has(frame: pl.DataFrame, name: str) -> Flags:
    """Which rows have a value in a column."""
    if name not in frame.columns:
        return np.zeros(frame.height, np.bool_)
    return np.array(frame[name].is_not_null().to_numpy())
