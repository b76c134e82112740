"""What was found out about the telemetry itself: what is missing, and who breaks its rules."""

from pipeline.tables.column import Column, Table
from pipeline.tables.types import I64, TEXT, TIME, U64, WORD

TELEMETRY_HEALTH = Table(
    name="telemetry_health",
    doc="One finding about one subject, as known at the end of an interval in which it was seen.",
    engine="ReplacingMergeTree(revision)",
    order=("time_ns", "finding", "kind", "subject", "interval_ns"),
    time="time_ns",
    retention_days=90,
    columns=(
        Column("time_ns", TIME, "ns", "Start of the interval, since 1970."),
        Column("interval_ns", I64, "ns", "Length of the interval."),
        Column("kind", WORD, "", "What the subject is: device, interface, point, path or source."),
        Column("subject", WORD, "", "Whom it is about, by name; a path is FROM > TO."),
        Column("finding", WORD, "", "Name of the finding."),
        Column("class", WORD, "", "coverage, device, deployment or clock."),
        Column("verdict", WORD, "", "yes or cannot_tell."),
        Column("count", U64, "", "Frames (or stretches of time) that show it, up to here."),
        Column("evidence", TEXT, "JSON", "Counts, and the first frame with its source."),
        Column("tells", WORD, "", "What tap or telemetry would tell more."),
        Column("revision", U64, "", "Grows when late input changes a finding."),
    ),
)
