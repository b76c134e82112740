"""What one partition has watched, for those who judge the telemetry of all of them (`meeting`).

Partial tallies and stretches: joined in any order they are those of whoever sees all flows.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

import polars as pl

I64, U64, F64, TEXT = pl.Int64, pl.UInt64, pl.Float64, pl.String
FRAME = {"seen_ns": I64, "source": TEXT, "frame": U64}
"""The first frame."""
COUNTS = ("low_n", "quiet_n", "ect_n", "tcp_ect_n", "long_n", "marked_n", "ce_n", "odd_n",
          "plain_n")  # fmt: skip
STRETCH = {"bin": I64, "port": TEXT}
COLUMNS: Mapping[str, Mapping[str, type[pl.DataType]]] = {
    "sights": {
        "interval": I64, "point": TEXT, "flow": U64, "dscp": pl.UInt8, "variant": pl.UInt8,
        "t": pl.UInt8, "lm": pl.UInt16, "touched": pl.Boolean, **FRAME,
        **dict.fromkeys(COUNTS, I64), "most": F64, "most_s": I64, "last_ns": I64, "n": I64,
    },
    "changes": {
        "interval": I64, "change": pl.UInt8, "before": TEXT, "point": TEXT, "hops": I64,
        "variant": I64, "t": I64, "lm": I64, "n": I64, "least": I64, "ce_n": I64, **FRAME,
        "before_source": TEXT, "before_frame": U64, "before_lm": I64,
    },
    "begun": {"interval": I64, "point": TEXT, "flow": U64, **FRAME, "last_ns": I64, "n": I64},
    "dialects": {"interval": I64, "flow": U64, "dialect": TEXT, **FRAME, "n": I64},
    "claims": {**STRETCH, "least": F64, **FRAME},
    "counters": {
        **STRETCH, "n": I64, "bps": F64, "tx_bytes_max": I64, "ts_ns_max": I64, **FRAME,
    },
    "marks": {**STRETCH, "n": I64, "ce_n": I64, **FRAME},
    "stacks": {**STRETCH, "used": F64, "used_n": I64, "busy": pl.UInt32, "bare_n": I64, **FRAME},
    "named": {
        **STRETCH, "t": pl.UInt8, "s": I64, "n": I64, "least": F64, "most": F64, **FRAME,
    },
}  # fmt: skip
"""Columns of each frame, with their types."""


class Watched(NamedTuple):
    """Rows of tallies (`Health`), and of stretches (`Beside`)."""

    sights: pl.DataFrame
    changes: pl.DataFrame
    begun: pl.DataFrame
    dialects: pl.DataFrame
    claims: pl.DataFrame
    counters: pl.DataFrame
    marks: pl.DataFrame
    stacks: pl.DataFrame
    named: pl.DataFrame

    @classmethod
    def of(cls, frames: Mapping[str, pl.DataFrame]) -> Self:
        """Frames with their columns; those that lack, or have no columns, have no rows."""
        return cls(*(shaped(name, frames.get(name)) for name in cls._fields))

    @property
    def height(self) -> int:
        """Rows of all."""
        return sum(rows.height for rows in self)

    @property
    def flows(self) -> pl.Series:
        """The flows that it tells of."""
        return pl.concat([rows["flow"] for rows in (self.sights, self.begun, self.dialects)])


def shaped(name: str, rows: pl.DataFrame | None) -> pl.DataFrame:
    """Rows with exactly their columns."""
    kinds = COLUMNS[name]
    if rows is None or rows.is_empty():
        return pl.DataFrame(schema=dict(kinds))
    if rows.schema == kinds:
        return rows
    absent = [name for name in kinds if name not in rows.columns]
    return rows.with_columns(pl.lit(None).alias(name) for name in absent).select(
        pl.col(name).cast(kind) for name, kind in kinds.items()
    )


def all_watched(parts: Iterable[Watched]) -> Watched:
    """What was watched one after the other as one."""
    return Watched(*(pl.concat(rows) for rows in zip(Watched.of({}), *parts, strict=True)))
