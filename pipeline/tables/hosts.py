"""Where the topology says that addresses are, so that answers find ends without its file."""

from pipeline.tables.column import Column, Table
from pipeline.tables.types import I64, TEXT, WORD

HOSTS = Table(
    name="hosts",
    doc="One address prefix of one host in one topology, in force from a time on.",
    engine="ReplacingMergeTree",
    order=("prefix", "valid_from_ns"),
    time="",
    retention_days=0,
    columns=(
        Column("prefix", TEXT, "", "Addresses, as a prefix."),
        Column("valid_from_ns", I64, "ns", "Since when this holds, since 1970."),
        Column("topology", WORD, "", "Version of the topology."),
        Column("host", TEXT, "", "Host by name."),
        Column("device", WORD, "", "Device that it hangs on."),
        Column("interface", WORD, "", "Interface that it hangs on."),
        Column("site", WORD, "", "Site; empty: none told."),
        Column("tenant", WORD, "", "Tenant that owns the addresses; empty: none told."),
        Column("told_ns", I64, "ns", "When the topology was told, since 1970; the last one holds."),
    ),
)
