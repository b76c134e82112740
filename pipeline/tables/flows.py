"""Which flows were seen, when, and how each is controlled."""

from dataclasses import replace

from pipeline.tables.column import Column, Table
from pipeline.tables.flow_key import ADDRESSES, FLOW_KEY
from pipeline.tables.types import I64, MAYBE_U8, MAYBE_U64, MAYBE_WORD, U64, WORD

ORDER = ("src_hi", "src_lo", "dst_hi", "dst_lo", "sport", "dport", "protocol", "flow")

FLOWS = Table(
    name="flows",
    doc="One directional flow: its key, when it was seen, what controls it.",
    engine="AggregatingMergeTree",
    order=ORDER,
    time="",
    retention_days=90,
    granule=1024,
    columns=(
        Column("flow", U64, "", "Hash of the directional key."),
        *(c if c.name in ORDER else replace(c, merge="any") for c in FLOW_KEY),
        Column("conversation", MAYBE_U64, "", "Hash of a flow and its reverse alike.", "any"),
        Column("direction", MAYBE_U8, "", "Direction inside the conversation.", "any"),
        Column("first_ns", I64, "ns", "First frame, since 1970.", "min"),
        Column("last_ns", I64, "ns", "Last frame, since 1970.", "max"),
        Column(
            "cc", MAYBE_WORD, "", "Congestion control: hpcc, dctcp, …; null: none seen.", "anyLast"
        ),
        Column("owner", WORD, "", "Tenant by the topology; empty: none is known.", "max"),
        Column("dscp", MAYBE_U8, "", "Class: DSCP of its first data frame.", "any"),
    ),
    aliases=ADDRESSES,
    # The sort key serves addresses; this finds a flow by its hash.
    indexes=("INDEX by_flow flow TYPE bloom_filter(0.01) GRANULARITY 1",),
)
