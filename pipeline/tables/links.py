"""How loaded each link was, across all flows whose telemetry tells of it."""

from pipeline.tables.column import Column
from pipeline.tables.rollup import CLASS, SOURCE, rollups
from pipeline.tables.types import U32

LINK_ROLLUPS = rollups(
    "link",
    "One link and class, across its flows, by one kind of telemetry,",
    (
        Column("node", U32, "", "Device of the hop by its telemetry id."),
        Column("port", U32, "", "Egress port of the hop by its telemetry id."),
        CLASS,
        SOURCE,
    ),
)
