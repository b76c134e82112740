"""The observation: what one frame says about congestion. One row of the bus, one literal table.

Arrow schema, store table and reference page derive from `OBSERVATION`; there is no second list of
columns. A batch may leave out any column that is null in all its rows.
"""

import polars as pl

from collector.observation.column import FLAG, I64, TEXT, U8, U16, U32, U64, Column
from collector.observation.formats import (
    AECN,
    CSIG,
    CSIG_SIGNALS,
    INBAND,
    MIRROR,
    REPORT,
    TRACE,
    VARIANT,
)
from collector.observation.hop import HOP, HOPS, hops

__all__ = [
    "FLAG",
    "HOP",
    "HOPS",
    "OBSERVATION",
    "SCHEMA",
    "SCHEMA_VERSION",
    "Column",
    "beyond",
    "complete",
    "together",
]

SCHEMA_VERSION = 1
"""Raised when a column changes its meaning; part of the topic's name."""

_TIME = "Delta, ZSTD(1)"
FRAME = (
    Column(
        "time_ns", I64, "ns since 1970", "Receive time at the tap.", nullable=False, codec=_TIME
    ),
    Column("source", TEXT, "", "Capture file, interface or feed.", nullable=False),
    Column("point", TEXT, "", "Observation point, device:interface or unknown.", nullable=False),
    Column("frame", U64, "", "Frame number in the source, from 1.", nullable=False, codec=_TIME),
    Column("length", U32, "bytes", "Octets on the wire; a sampled frame's own.", nullable=False),
    Column("integrity", U8, "", "Checksums: 1 valid, 2 invalid; null: unchecked.", stored=False),
    Column("status", U8, "", "How the walk ended; 0 is decoded.", nullable=False),
    Column("layers", U64, "bits", "Layers that were read.", nullable=False),
)
FLOW = (
    Column("tenant", TEXT, "", "Tenant of the flow.", nullable=False),
    Column("vrf", TEXT, "", "VRF of the flow.", nullable=False),
    Column("vni", U32, "", "Virtual network of the overlay."),
    Column("src_hi", U64, "", "Source address, high half.", nullable=False),
    Column("src_lo", U64, "", "Source address, low half; IPv4 is ::ffff:a.b.c.d.", nullable=False),
    Column("dst_hi", U64, "", "Destination address, high half.", nullable=False),
    Column("dst_lo", U64, "", "Destination address, low half.", nullable=False),
    Column("sport", U16, "", "Source port; 0 without ports.", nullable=False),
    Column("dport", U16, "", "Destination port; 0 without ports.", nullable=False),
    Column("protocol", U8, "", "IP protocol.", nullable=False),
    Column("flow", U64, "", "Hash of the flow's key with its direction.", nullable=False),
    Column(
        "conversation", U64, "", "The same for both directions; places the row.", nullable=False
    ),
    Column("direction", U8, "", "0 or 1 within the conversation.", nullable=False, most=1),
    Column("spi", U32, "", "Security parameters index; takes the place of ports.", stored=False),
)
NETWORK = (
    Column("dscp", U8, "", "Differentiated services code point."),
    Column("ecn", U8, "", "ECN of the innermost IP header: 0 not ECT, 1 ECT(1), 2 ECT(0), 3 CE."),
    Column("outer_ecn", U8, "", "Highest ECN of the overlay's outer headers."),
    Column("ttl", U8, "", "Time to live or hop limit."),
    Column("ip_id", U16, "", "IPv4 identification."),
    Column("flow_label", U32, "", "IPv6 flow label.", stored=False),
)
TRANSPORT = (
    Column("seq", U32, "sequence", "TCP sequence number."),
    Column("ack", U32, "sequence", "TCP acknowledgment number."),
    Column(
        "flags",
        U16,
        "bits",
        "TCP flags: FIN 1 SYN 2 RST 4 PSH 8 ACK 16 URG 32 ECE 64 CWR 128 AE 256.",
    ),
    Column("window", U16, "", "TCP receive window, unscaled."),
    Column("payload_bytes", U32, "bytes", "Transport payload on the wire.", nullable=False),
    Column("mss", U16, "bytes", "Maximum segment size option."),
    Column("wscale", U8, "", "Window scale option."),
    Column("ts_val", U32, "", "TCP timestamp value."),
    Column("ts_ecr", U32, "", "TCP timestamp echo reply."),
    *(
        Column(
            f"sack{block}_{edge}",
            U32,
            "sequence",
            f"Selective acknowledgment {block}, {edge} edge.",
        )
        for block in range(4)
        for edge in ("left", "right")
    ),
    Column("accecn_e0b", U32, "bytes", "AccECN: ECT(0) payload bytes mod 2^24.", stored=False),
    Column("accecn_ceb", U32, "bytes", "AccECN: CE payload bytes mod 2^24."),
    Column("accecn_e1b", U32, "bytes", "AccECN: ECT(1) payload bytes mod 2^24.", stored=False),
    Column("roce_opcode", U8, "", "RoCE opcode of the base transport header."),
    Column("roce_qp", U32, "", "RoCE destination queue pair."),
    Column("roce_psn", U32, "sequence", "RoCE packet sequence number."),
    Column("roce_flags", U8, "bits", "RoCE FECN 4, BECN 2, acknowledge request 1.", stored=False),
    Column("roce_syndrome", U8, "", "RoCE acknowledgment syndrome."),
    Column("roce_msn", U32, "sequence", "RoCE message sequence number."),
)
OBSERVATION: tuple[Column, ...] = (
    *FRAME,
    *FLOW,
    *NETWORK,
    *TRANSPORT,
    *CSIG,
    *AECN,
    *INBAND,
    Column(
        "hop_count",
        U8,
        "",
        "Hops of the stack, hop 0 nearest the sender.",
        nullable=False,
        most=HOPS,
    ),
    *REPORT,
    *TRACE,
    *MIRROR,
    *hops(),
)
"""Every column of an observation, in order."""

SCHEMA = pl.Schema({column.name: column.dtype for column in OBSERVATION})
"""Names and dtypes of a complete batch."""


TAGGED = ("t", "s")
"""What every CSIG tag has beside its variant."""
BOUNDED = {column.name: column.most for column in OBSERVATION if column.most is not None}
"""The largest values of columns whose type holds more."""


def beyond(frame: pl.DataFrame) -> str | None:
    """What no decoder gives, as a sentence: places in tables are told by such columns."""
    for name in BOUNDED.keys() & set(frame.columns):
        told = frame[name].cast(SCHEMA[name])  # of nulls alone a column may have no type
        over = told.filter(told > BOUNDED[name])
        if over.len():
            return f"{name} is {over[0]}, and at most {BOUNDED[name]}"
    for signal in CSIG_SIGNALS:
        if f"{signal}_{VARIANT}" not in frame.columns:
            continue
        tagged = frame[f"{signal}_{VARIANT}"].is_not_null()
        for name in (f"{signal}_{part}" for part in TAGGED):
            if name not in frame.columns or (frame[name].is_null() & tagged).any():
                return f"{name} is not told of every row with {signal}_{VARIANT}"
    return None


def together(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows with all columns of a congestion signal of which they have any.

    What no row of a batch tells may be left out, as an upper end where every value is beyond.
    """
    there = set(frame.columns)
    missing = [
        pl.lit(None, column.dtype).alias(column.name)
        for columns in CSIG_SIGNALS.values()
        if not there.isdisjoint(column.name for column in columns)
        for column in columns
        if column.stored and column.name not in there
    ]
    return frame.with_columns(missing) if missing else frame


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the columns that a batch left out, as nulls, in the table's order."""
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in SCHEMA.items()
        if name not in frame.columns
    ]
    return frame.with_columns(missing).select(SCHEMA.names())
