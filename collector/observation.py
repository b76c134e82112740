"""The observation: what one frame says about congestion. One row of the bus, one literal table.

Arrow schema, store table and reference page derive from `OBSERVATION`; there is no second list of
columns. A batch may leave out any column that is null in all its rows.
"""

from dataclasses import dataclass

import polars as pl

HOPS = 12
"""Most hops of one stack that are kept, counted from the sender."""
SCHEMA_VERSION = 1
"""Raised when a column changes its meaning; part of the topic's name."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name, Polars dtype, unit, meaning, whether it may be null, ClickHouse codec."""

    name: str
    dtype: pl.DataType
    unit: str
    doc: str
    nullable: bool = True
    codec: str = ""


_U8, _U16, _U32, _U64 = pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.UInt64()
_I64, _F64, _TEXT = pl.Int64(), pl.Float64(), pl.String()
_TIME = "Delta, ZSTD(1)"

_HOP = (
    ("node", _U32, "", "Node id, as reported."),
    ("port", _U32, "", "Egress interface id, as reported."),
    ("qlen_bytes", _U64, "bytes", "Egress queue occupancy."),
    ("tx_bytes", _U64, "bytes", "Bytes the egress port has sent, modulo the format's width."),
    ("ts_ns", _U64, "ns", "Egress timestamp of the hop's own clock, modulo the format's width."),
    ("b_bps", _U64, "bit/s", "Capacity of the egress port, as reported."),
    ("latency_ns", _U32, "ns", "Time spent in the hop."),
    ("utilization", _F64, "ratio", "TX utilisation of the egress port, as reported."),
)
_SACK = tuple(
    Column(
        f"sack{block}_{edge}", _U32, "sequence", f"Selective acknowledgment {block}, {edge} edge."
    )
    for block in range(4)
    for edge in ("left", "right")
)


def _csig(prefix: str, what: str) -> tuple[Column, ...]:
    """Columns of one congestion signal."""
    return (
        Column(f"{prefix}_variant", _U8, "", f"{what}: 1 compact, 2 expanded."),
        Column(
            f"{prefix}_t", _U8, "", f"{what}: signal type; 0 min(ABW), 1 min(ABW/C), 2 max(PD)."
        ),
        Column(f"{prefix}_s", _U32, "", f"{what}: signal value as on the wire."),
        Column(f"{prefix}_lm", _U16, "", f"{what}: locator metadata as on the wire."),
        Column(f"{prefix}_low", _F64, "bit/s, ratio or ns", f"{what}: lower end of the value."),
        Column(f"{prefix}_high", _F64, "bit/s, ratio or ns", f"{what}: upper end; null: open."),
    )


OBSERVATION: tuple[Column, ...] = (
    Column(
        "time_ns", _I64, "ns since 1970", "Receive time at the tap.", nullable=False, codec=_TIME
    ),
    Column("source", _TEXT, "", "Capture file, interface or feed.", nullable=False),
    Column("point", _TEXT, "", "Observation point, device:interface or unknown.", nullable=False),
    Column("frame", _U64, "", "Frame number in the source, from 1.", nullable=False, codec=_TIME),
    Column("length", _U32, "bytes", "Octets on the wire.", nullable=False),
    Column("status", _U8, "", "How the walk ended; 0 is decoded.", nullable=False),
    Column("layers", _U64, "bits", "Wire tables that were walked.", nullable=False),
    Column("tenant", _TEXT, "", "Tenant of the flow.", nullable=False),
    Column("vrf", _TEXT, "", "VRF of the flow.", nullable=False),
    Column("vni", _U32, "", "Virtual network of the overlay."),
    Column("src_hi", _U64, "", "Source address, high half.", nullable=False),
    Column("src_lo", _U64, "", "Source address, low half; IPv4 is ::ffff:a.b.c.d.", nullable=False),
    Column("dst_hi", _U64, "", "Destination address, high half.", nullable=False),
    Column("dst_lo", _U64, "", "Destination address, low half.", nullable=False),
    Column("sport", _U16, "", "Source port; 0 without ports.", nullable=False),
    Column("dport", _U16, "", "Destination port; 0 without ports.", nullable=False),
    Column("protocol", _U8, "", "IP protocol.", nullable=False),
    Column("flow", _U64, "", "Hash of the flow's key with its direction.", nullable=False),
    Column(
        "conversation", _U64, "", "The same for both directions; places the row.", nullable=False
    ),
    Column("direction", _U8, "", "0 or 1 within the conversation.", nullable=False),
    Column("dscp", _U8, "", "Differentiated services code point."),
    Column("ecn", _U8, "", "ECN of the innermost IP header: 0 not ECT, 1 ECT(1), 2 ECT(0), 3 CE."),
    Column("outer_ecn", _U8, "", "Highest ECN of the overlay's outer headers."),
    Column("ttl", _U8, "", "Time to live or hop limit."),
    Column("ip_id", _U16, "", "IPv4 identification."),
    Column("seq", _U32, "sequence", "TCP sequence number."),
    Column("ack", _U32, "sequence", "TCP acknowledgment number."),
    Column(
        "flags",
        _U16,
        "bits",
        "TCP flags: FIN 1 SYN 2 RST 4 PSH 8 ACK 16 URG 32 ECE 64 CWR 128 AE 256.",
    ),
    Column("window", _U16, "", "TCP receive window, unscaled."),
    Column("payload_bytes", _U32, "bytes", "Transport payload on the wire.", nullable=False),
    Column("mss", _U16, "bytes", "Maximum segment size option."),
    Column("wscale", _U8, "", "Window scale option."),
    Column("ts_val", _U32, "", "TCP timestamp value."),
    Column("ts_ecr", _U32, "", "TCP timestamp echo reply."),
    *_SACK,
    *_csig("csig", "CSIG tag"),
    *_csig("csig_echo", "CSIG reflected in a TCP option"),
    Column("aecn_flags", _U8, "bits", "AECN flags."),
    Column("aecn_type", _U32, "bits", "AECN congestion info type."),
    Column("aecn_inflight_ratio", _U8, "", "AECN inflight ratio as on the wire."),
    Column("aecn_dre", _U8, "", "AECN discounting rate estimator as on the wire."),
    Column("aecn_queue_utilization", _U8, "", "AECN queue utilisation as on the wire."),
    Column("aecn_queue_delay", _U8, "", "AECN queue delay, summed over the path, as on the wire."),
    Column("aecn_congested_hops", _U8, "", "AECN number of congested hops."),
    Column("aecn_available_bandwidth", _U8, "", "AECN available bandwidth as on the wire."),
    Column("aecn_u", _F64, "ratio", "AECN inflight ratio as u'."),
    Column("int_version", _U8, "", "INT version."),
    Column("int_flags", _U8, "bits", "INT flags D 4, E 2, M 1."),
    Column("int_remaining_hops", _U8, "", "INT remaining hop count."),
    Column("int_domain", _U16, "", "INT domain-specific id."),
    Column("int_reflected", pl.Boolean(), "", "The stack is the data's path, reflected on an ACK."),
    Column("hop_count", _U8, "", "Hops of the stack, hop 0 nearest the sender.", nullable=False),
    *(
        Column(f"h{hop}_{name}", dtype, unit, f"Hop {hop}: {doc[0].lower()}{doc[1:]}")
        for hop in range(HOPS)
        for name, dtype, unit, doc in _HOP
    ),
)
"""Every column of an observation, in order."""

SCHEMA = pl.Schema({column.name: column.dtype for column in OBSERVATION})
"""Names and dtypes of a complete batch."""


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the columns that a batch left out, as nulls, in the table's order."""
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in SCHEMA.items()
        if name not in frame.columns
    ]
    return frame.with_columns(missing).select(SCHEMA.names())
