"""What files were read by when they were stored: read in another way their rows would be others."""

from pipeline.tables.column import Column, Table
from pipeline.tables.rollup import DAYS
from pipeline.tables.types import I64, TEXT, TIME, U64, WORD

READINGS = Table(
    name="readings",
    doc="One file that is stored, what it was read by, and how far, where it is followed.",
    engine="AggregatingMergeTree",
    order=("source", "time_ns"),
    time="time_ns",
    retention_days=DAYS["hours"],  # as long as rows that it counts in
    columns=(
        Column("time_ns", TIME, "ns", "When its first frame came, since 1970."),
        Column("source", WORD, "", "Name of the file."),
        Column(
            "read_by",
            TEXT,
            "JSON",
            "What its rows depend on beside it; usual is left out.",
            "anyLast",
        ),
        Column(
            "frame",
            U64,
            "",
            "Last frame that is stored of a file that is followed, or stored whole; 0: not known.",
            "max",
        ),
        Column("reached_ns", I64, "ns", "When that came, since 1970.", "max"),
    ),
)
