"""Reporters: switches whose telemetry reports are observation points of their own.

The point at which a report was captured says nothing of the packet that it tells of; its reporter
does (semantics: the report's node id). So the reports of one packet, each from another switch, are
sightings of that packet and no copies.
"""

import polars as pl

REPORTER = "node "
"""How the names of such points begin; the node's id follows."""
NODE = "report_node"


def seen_by_reporters(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the reporter as the point of those that are reports and say from whom."""
    if NODE not in rows.columns or rows[NODE].null_count() == rows.height:
        return rows
    reporter = pl.lit(REPORTER) + pl.col(NODE).cast(pl.String)
    point = pl.when(pl.col(NODE).is_not_null()).then(reporter).otherwise(pl.col("point"))
    return rows.with_columns(point.cast(rows.schema["point"]).alias("point"))
