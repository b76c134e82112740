"""What the topology says of each hop, so that answers name hops without the topology file."""

from pipeline.tables.column import Column, Table
from pipeline.tables.types import I64, U32, WORD

HOPS = Table(
    name="hops",
    doc="One egress port of one device in one topology, in force from a time on.",
    engine="ReplacingMergeTree",
    order=("node", "port", "valid_from_ns"),
    time="",
    retention_days=0,
    columns=(
        Column("node", U32, "", "Device by its telemetry id."),
        Column("port", U32, "", "Egress port by its telemetry id."),
        Column("valid_from_ns", I64, "ns", "Since when this holds, since 1970."),
        Column("topology", WORD, "", "Version of the topology."),
        Column("device", WORD, "", "Device by name."),
        Column("interface", WORD, "", "Interface by name."),
        Column("stage", WORD, "", "Stage of the device: tor, spine, …"),
        Column("orientation", WORD, "", "The port faces up, down or a host."),
        Column("capacity_bps", I64, "bit/s", "Capacity of the port."),
        Column("peer_device", WORD, "", "Device at the other end."),
        Column("peer_interface", WORD, "", "Interface at the other end."),
        Column("told_ns", I64, "ns", "When the topology was told, since 1970; the last one holds."),
    ),
)
