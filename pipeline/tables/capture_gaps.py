"""When live sources captured, and when less than came by: silence and loss would look alike."""

from pipeline.tables.column import Column, Table
from pipeline.tables.types import I64, MAYBE_U64, TIME, WORD

CAPTURE_GAPS = Table(
    name="capture_gaps",
    doc="One time in which a live source lost frames, or in which nobody captured it.",
    # Who heard of the source last begins the gap latest, and is right.
    engine="ReplacingMergeTree(time_ns)",
    order=("source", "to_ns"),
    time="to_ns",
    retention_days=90,
    columns=(
        Column("time_ns", TIME, "ns", "Start of the time, since 1970."),
        Column("to_ns", I64, "ns", "Its end."),
        Column("source", WORD, "", "Interface or feed."),
        Column("lost", MAYBE_U64, "", "Frames that were lost; null: all that came by."),
        Column("frames", MAYBE_U64, "", "Frames that came by, lost ones too; null: not counted."),
    ),
)

CAPTURES = Table(
    name="captures",
    doc="One life of a live source, and how far it came in it at least.",
    engine="AggregatingMergeTree",
    order=("source", "time_ns"),
    time="time_ns",
    retention_days=90,
    columns=(
        Column("time_ns", TIME, "ns", "When it began, since 1970."),
        Column("source", WORD, "", "Interface or feed."),
        Column("reached_ns", I64, "ns", "All that came before is stored.", "max"),
    ),
)
