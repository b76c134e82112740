"""Which message of the bus held which frames, so that evidence can be read where it came from."""

from pipeline.tables.column import Column, Table
from pipeline.tables.types import I64, TIME, U32, U64, WORD

BUS_MESSAGES = Table(
    name="bus_messages",
    doc="One message of the bus: which frames it holds, and where the broker has it.",
    engine="ReplacingMergeTree",
    order=("source", "time_ns", "place", "offset"),
    time="time_ns",
    retention_days=3,
    columns=(
        Column("time_ns", TIME, "ns", "Time of the earliest frame that it holds, since 1970."),
        Column("last_ns", I64, "ns", "Time of the latest frame."),
        Column("place", WORD, "", "Topic and partition."),
        Column("partition", U32, "", "Partition."),
        Column("partitions", U32, "", "Partitions of the topic when it was read."),
        Column("offset", I64, "", "Number of the message in its partition."),
        Column("source", WORD, "", "Capture file, interface or feed."),
        Column("epoch", I64, "", "When the source began, ns; each time it numbers frames anew."),
        Column("first", U64, "", "First frame that it holds."),
        Column("last", U64, "", "Last frame that it holds."),
    ),
)
