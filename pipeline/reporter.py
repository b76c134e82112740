"""Reporters: switches whose telemetry reports are observation points of their own.

The point at which a report was captured says nothing of the packet that it tells of; its reporter
does (semantics: the report's node id). So the reports of one packet, each from another switch, are
sightings of that packet and no copies.
"""

import polars as pl

from collector import UNNAMED

REPORTER = "node "
"""How the names of such points begin; the node's id follows."""
NODE = "report_node"


def seen_at(rows: pl.DataFrame, *, several: bool) -> pl.DataFrame:
    """The rows with the points that state is kept by; `several`: they come of several captures.

    Unknown points of two captures are two places, unless they were given one name.
    """
    if several and rows.height:
        point = pl.when(pl.col("point") == UNNAMED).then("source").otherwise("point")
        rows = rows.with_columns(point.alias("point"))
    return seen_by_reporters(rows)


def seen_by_reporters(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the reporter as the point of those that are reports and say from whom."""
    if NODE not in rows.columns or rows[NODE].null_count() == rows.height:
        return rows
    reporter = pl.lit(REPORTER) + pl.col(NODE).cast(pl.String)
    point = pl.when(pl.col(NODE).is_not_null()).then(reporter).otherwise(pl.col("point"))
    return rows.with_columns(point.cast(rows.schema["point"]).alias("point"))


def is_reporter(point: pl.Expr) -> pl.Expr:
    """Whether a point is a reporter."""
    return point.cast(pl.String).str.starts_with(REPORTER)
