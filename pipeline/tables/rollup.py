"""Columns of what spans flows, and its three widths of time: seconds, minutes, hours.

Workers add rows of seconds, partial ones too: a late row is one more partial row. The store itself
adds every inserted row to minutes and hours, so these correct themselves as seconds do.
"""

from dataclasses import replace

from pipeline.tables.column import Column, Table
from pipeline.tables.types import COUNTS, MAYBE_I64, RANKS, TIME, U8, U64, WORD

SECOND_NS = 1_000_000_000
ROLLED_NS = {"seconds": SECOND_NS, "minutes": 60 * SECOND_NS, "hours": 3600 * SECOND_NS}
"""Width of a row's time by the last word of its table, ns."""
DAYS = {"seconds": 15, "minutes": 90, "hours": 730}
NO_CLASS = 255
"""DSCP of a flow of which only acknowledgments were seen."""
TRAFFIC = "traffic"
"""Source of rows that count bytes and flows; the other sources are kinds of telemetry."""

CLASS = Column("dscp", U8, "", "Class: DSCP of the flows' first data frames; 255: not seen.")
SOURCE = Column(
    "source", WORD, "",
    "Telemetry: int, aecn, csig_abw, csig_utilization, csig_delay or the same of csig_echo;"
    " traffic: the row counts bytes and flows.",
)  # fmt: skip
MEASURES = (
    Column("samples", U64, "", "Samples of telemetry.", "sum"),
    Column("u_hist", COUNTS, "", "Samples of hop load u' by log bucket.", "sumMap"),
    Column("u_max_n", MAYBE_I64, "1e-9", "Largest hop load u'.", "max"),
    Column("utilization_hist", COUNTS, "", "Samples of utilisation by log bucket.", "sumMap"),
    Column("utilization_max_n", MAYBE_I64, "1e-9", "Highest utilisation.", "max"),
    Column("abw_hist", COUNTS, "", "Samples of available bandwidth by log bucket.", "sumMap"),
    Column("abw_min_bps", MAYBE_I64, "bit/s", "Least available bandwidth.", "min"),
    Column("abw_max_bps", MAYBE_I64, "bit/s", "Most available bandwidth.", "max"),
    Column("delay_hist", COUNTS, "", "Samples of hop delay by log bucket.", "sumMap"),
    Column("delay_max_ns", MAYBE_I64, "ns", "Longest hop delay.", "max"),
    Column("data_bytes", U64, "bytes", "Payload bytes of the flows.", "sum"),
    Column("affected_bytes", U64, "bytes", "Those of flows that were held back there.", "sum"),
    Column("data_frames", U64, "", "Frames with payload.", "sum"),
    Column("told_frames", U64, "", "Those of which telemetry speaks.", "sum"),
    Column(
        "missed_frames",
        U64,
        "",
        "Frames with payload that were sent beside them, estimated: what sampling left out,"
        " captures missed and collectors shed.",
        "sum",
    ),
    Column("flows", RANKS, "", "Largest rank by register of a distinct count.", "maxMap"),
    Column("affected_flows", RANKS, "", "The same of flows that were held back there.", "maxMap"),
)


def rollups(name: str, doc: str, key: tuple[Column, ...]) -> tuple[Table, ...]:
    """Tables `<name>_seconds`, `_minutes`, `_hours`, each filled from the one before."""
    columns = (Column("time_ns", TIME, "ns", "Start of the time, since 1970."), *key, *MEASURES)
    first = Table(
        name=f"{name}_seconds",
        doc=f"{doc} in one of the seconds.",
        engine="AggregatingMergeTree",
        order=tuple(column.name for column in columns if not column.merge),
        time="time_ns",
        retention_days=DAYS["seconds"],
        columns=columns,
    )
    made = [first]
    for width in list(ROLLED_NS)[1:]:
        made.append(
            replace(
                first,
                name=f"{name}_{width}",
                doc=f"{doc} in one of the {width}.",
                retention_days=DAYS[width],
                fed_by=made[-1].name,
                step_ns=ROLLED_NS[width],
            )
        )
    return tuple(made)
