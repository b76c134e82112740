"""What a group of workers agrees on: a log for each partition of a topic, snapshots of state."""

from pipeline.tables.column import Column, Table
from pipeline.tables.types import I64, OCTETS, TEXT, U16, U64, WORD

GROUP_LOG = Table(
    name="group_log",
    doc="One step of the worker that has a partition of the bus, decided before it is done.",
    engine="MergeTree",
    order=("place", "number"),
    time="",
    retention_days=0,
    columns=(
        Column("place", TEXT, "", "Topic and partition."),
        Column("number", U64, "", "Number of the step at its place, from 1; each is taken once."),
        Column(
            "kind",
            WORD,
            "",
            "claim: another worker has the place; cut: messages become rows, and all that waited is"
            " stored; ahead: of their rows those that nobody waits for wait; snapshot: state is"
            " kept; restored: a backup does not tell what is stored, so no worker goes on.",
        ),
        Column("epoch", U64, "", "Claims of the place so far; older ones insert nothing."),
        Column("worker", TEXT, "", "Who took the step, and its own number of it."),
        Column(
            "first",
            I64,
            "",
            "First offset of a cut; number of the last step that a snapshot knows.",
        ),
        Column("last", I64, "", "Last offset of a cut, or of the last one that a snapshot knows."),
        Column("chain", U64, "", "Number of the full snapshot that a snapshot goes back to."),
    ),
)
GROUP_SNAPSHOTS = Table(
    name="group_snapshots",
    doc="A part of the state of the worker that has a partition of the bus.",
    engine="MergeTree",
    order=("place", "number", "epoch", "part"),
    time="",
    retention_days=0,
    columns=(
        Column("place", TEXT, "", "Topic and partition."),
        Column("number", U64, "", "Number of the last step of the log that it knows."),
        Column("epoch", U64, "", "Epoch of the worker that wrote it."),
        Column("part", U16, "", "Which part, from 0."),
        Column("body", OCTETS, "bytes", "Octets of the part, compressed."),
    ),
)
