"""The time that each cell of a flow's signals adds up: the stored intervals that are in it.

Of a cell that the window cuts, only those intervals are added up that touch the window, and of one
in which the flow began or was seen last, those from there or up to there. To divide what was added
up by the whole width would tell a rate that is too low by any factor.
"""

import polars as pl

from service.routes.span import Span

CELL = ["time_ns", "interval_ns"]
"""What names a cell: where it begins by its width, and the width."""
SEEN = {"least_ns": pl.Expr.min, "begins_ns": pl.Expr.min, "ends_ns": pl.Expr.max}
"""What queries `flow_signals` and `flow_hops` tell of the intervals in a cell."""


def added_up(rows: pl.DataFrame, span: Span, last_ns: int) -> pl.DataFrame:
    """Of each cell the time that it adds up, as `begin_ns` and `length_ns`, in order.

    Silence between intervals counts. `span` is what was asked about; `last_ns` is when the flow was
    seen last, as far as is known.
    """
    told = rows.group_by(CELL).agg(fold(pl.col(name)) for name, fold in SEEN.items())
    least, begins, ends = map(pl.col, SEEN)
    to_ns = pl.max_horizontal(ends, pl.lit(last_ns, pl.Int64))
    begin = pl.max_horizontal(
        _up(pl.col("time_ns"), least), pl.lit(span.from_ns, pl.Int64) // least * least
    )
    end = pl.min_horizontal(
        _up(pl.col("time_ns") + pl.col("interval_ns"), least),
        _up(pl.lit(span.to_ns, pl.Int64), least),
        to_ns,
    )
    # Where lengths of intervals are mixed, a longer one may reach beyond.
    begin, end = pl.min_horizontal(begin, begins), pl.max_horizontal(end, ends)
    return told.select(*CELL, begin.alias("begin_ns"), (end - begin).alias("length_ns")).sort(CELL)


def _up(time: pl.Expr, least: pl.Expr) -> pl.Expr:
    """The first multiple of a length at a time or after it: where the first interval begins."""
    return -(-time // least) * least
