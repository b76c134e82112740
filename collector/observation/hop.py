"""Columns of each hop of a stack: hop 0 is nearest the sender."""

from collector.observation.column import F64, U8, U16, U32, U64, Column

HOPS = 12
"""Most hops of one stack that are kept, counted from the sender."""

HOP = (
    Column("node", U32, "", "Node id, as reported."),
    Column("port", U32, "", "Egress interface id, as reported."),
    Column("qlen_bytes", U64, "bytes", "Egress queue occupancy."),
    Column("tx_bytes", U64, "bytes", "Bytes the egress port has sent, modulo the format's width."),
    Column(
        "ts_ns", U64, "ns", "Egress timestamp of the hop's own clock, modulo the format's width."
    ),
    Column("b_bps", U64, "bit/s", "Capacity of the egress port, as reported."),
    Column("latency_ns", U32, "ns", "Time spent in the hop."),
    Column("utilization", F64, "ratio", "TX utilisation of the egress port, as reported."),
    Column("ingress_port", U32, "", "Ingress interface id, as reported.", stored=False),
    Column("ingress_ts_ns", U64, "ns", "Ingress timestamp of the hop's clock.", stored=False),
    Column("queue", U8, "", "Queue id.", stored=False),
    Column("ttl", U8, "", "Hop limit or time to live at the hop.", stored=False),
    Column("l2_port", U32, "", "Level 2 egress interface id.", stored=False),
    Column("l2_ingress_port", U32, "", "Level 2 ingress interface id.", stored=False),
    Column("buffer", U8, "", "Buffer id.", stored=False),
    Column("buffer_bytes", U64, "bytes", "Buffer occupancy.", stored=False),
    Column("node_wide", U64, "", "Wide node id (IOAM, 56 bits).", stored=False),
    Column("port_wide", U32, "", "Wide egress interface id (IOAM).", stored=False),
    Column("ingress_port_wide", U32, "", "Wide ingress interface id (IOAM).", stored=False),
    Column("namespace_data", U32, "", "Namespace-specific data (IOAM).", stored=False),
    Column("namespace_data_wide", U64, "", "Wide namespace-specific data (IOAM).", stored=False),
    Column("complement", U32, "", "Checksum complement.", stored=False),
    Column("congestion", U8, "bits", "Congestion bits (IFA).", stored=False),
    Column("snapshot_schema", U32, "", "Schema of the opaque state snapshot.", stored=False),
    Column("snapshot_words", U16, "words", "Length of the opaque state snapshot.", stored=False),
)
"""One line a column; `h0_` to `h11_` stand before the names."""


def hops() -> tuple[Column, ...]:
    """The columns of all hops."""
    return tuple(
        Column(
            f"h{hop}_{row.name}",
            row.dtype,
            row.unit,
            f"Hop {hop}: {row.doc[0].lower()}{row.doc[1:]}",
            stored=row.stored,
        )
        for hop in range(HOPS)
        for row in HOP
    )
