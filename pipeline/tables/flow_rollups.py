"""What each flow did in each second, minute and hour, for longer than its intervals are kept.

The store adds every row of `flow_intervals` as it is inserted, a late one too, so these correct
themselves as it does.
"""

from dataclasses import replace

from pipeline.tables.column import Column, Table
from pipeline.tables.flow_intervals import FLOW_INTERVALS
from pipeline.tables.rollup import ROLLED_NS
from pipeline.tables.types import I64, MAYBE_F32, TIME

DAYS = {"seconds": 30, "minutes": 90, "hours": 730}
LEFT_OUT = frozenset({"time_ns", "interval_ns", "tagged_frames", "slices"})
"""Columns of an interval that are none of a longer time, or other ones."""
SEVEN_DIGITS = frozenset({"U", "W", "Wc", "R"})
"""States that are kept to seven digits, as intervals have them to sixteen: no digit of them comes
again, so they take most of a row's room."""


def flow_rollups() -> tuple[Table, ...]:
    """Tables `flow_seconds`, `flow_minutes`, `flow_hours`, each filled from the one before."""
    columns = (
        Column("time_ns", TIME, "ns", "Start of the time, since 1970."),
        Column("interval_ns", I64, "ns", "Length of the time.", "max"),
        *(
            replace(column, kind=MAYBE_F32, doc=f"{column.doc[:-1]}, to seven digits.")
            if column.name in SEVEN_DIGITS
            else column
            for column in FLOW_INTERVALS.columns
            if column.name not in LEFT_OUT
        ),
    )
    made: list[Table] = []
    for width, step_ns in ROLLED_NS.items():
        made.append(
            replace(
                FLOW_INTERVALS,
                name=f"flow_{width}",
                doc=f"One flow in one of the {width} at one observation point: counts, and the"
                " state that was stored last.",
                order=("flow", "time_ns", "point"),
                retention_days=DAYS[width],
                columns=columns,
                aliases=(),
                one_file=False,
                fed_by=made[-1].name if made else FLOW_INTERVALS.name,
                step_ns=step_ns,
            )
        )
    return tuple(made)


FLOW_ROLLUPS = flow_rollups()
