"""What an answer about one flow is told from: one narrow table, so that it is asked for once.

What the engine takes for a question of few rows is nearly all for itself: a millisecond and more a
statement, a quarter of one a column that is read, and some for those that are not.
"""

from pipeline.tables.column import SLICE, Column, Table
from pipeline.tables.feed import Feed
from pipeline.tables.flow_intervals import FLOW_INTERVALS
from pipeline.tables.types import I64, TEXT, TIME, U64
from pipeline.tables.verdicts import TOLD, VERDICTS

COUNTS = (
    "feedback", "feedback_told_apart", "feedback_valid", "feedback_invalid", "feedback_replayed",
    "feedback_backwards",
)  # fmt: skip
"""Counts of an interval at a point that an answer tells; rows in which all are 0 are left out."""

FLOW_TOLD = Table(
    name="flow_told",
    doc="What an answer tells of one flow in one interval: its verdict, or the counts of its"
    " feedback at one point.",
    engine="MergeTree",
    order=(SLICE.expression, "flow", "time_ns"),
    time="time_ns",
    retention_days=VERDICTS.retention_days,
    kept_as=VERDICTS.name,
    granule=512,
    one_file=True,
    columns=(
        Column("time_ns", TIME, "ns", "Start of the interval, since 1970."),
        Column("interval_ns", I64, "ns", "Length of the interval."),
        Column("flow", U64, "", "The flow."),
        Column(
            "told",
            TEXT,
            "JSON",
            "Of a verdict three lines, each JSON: most of its columns, candidates, evidence. Of"
            " counts one: they, and the point.",
        ),
    ),
    aliases=(SLICE,),
    feeds=(
        Feed(
            VERDICTS.name,
            {
                "told": f"concat(toJSONString(({', '.join(column.name for column in TOLD)})),"
                " '\\n', candidates, '\\n', evidence)"
            },
        ),
        Feed(
            FLOW_INTERVALS.name,
            {"told": f"toJSONString(({', '.join(COUNTS)}, point))"},
            " OR ".join(f"{name} > 0" for name in COUNTS),
        ),
    ),
)
