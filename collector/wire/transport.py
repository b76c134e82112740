"""Transports: TCP with the options that congestion control needs (RFC 9293, 7323, 2018), and UDP.

    TCP | sport 16 | dport 16 | seq 32 | ack 32 | offset 4 | R 3 | flags 9 | window 16 |
        | checksum 16 | urgent 16 |
    UDP | sport 16 | dport 16 | length 16 | checksum 16 |

The nine flags are AE CWR ECE URG ACK PSH RST SYN FIN, AE highest. Each names its IP protocol, since
INT may put a UDP header in front of a flow's own.
"""

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Header, Length

SPACES = {"udp_port": 0}
OPTION_SPACES = ("tcp_option",)

TCP = Header(
    "tcp",
    "RFC 9293 §3.1",
    (
        Field("source_port", 16, "Source port.", "sport"),
        Field("destination_port", 16, "Destination port.", "dport"),
        Field("seq", 32, "Sequence number.", "seq"),
        Field("ack", 32, "Acknowledgment number.", "ack"),
        Field("data_offset", 4, "Header length in words."),
        Field("reserved", 3),
        Field("flags", 9, "AE CWR ECE URG ACK PSH RST SYN FIN.", "flags"),
        Field("window", 16, "Receive window, unscaled.", "window"),
        Field("checksum", 16),
        Field("urgent", 16),
    ),
    doc="TCP header.",
    length=Length("data_offset", 4),
    marks=(("protocol", 6),),
    options=("tcp_option", "tcp"),
)
UDP = Header(
    "udp",
    "RFC 768",
    (
        Field("source_port", 16, "Source port.", "sport"),
        Field("destination_port", 16, "Destination port.", "dport"),
        Field("length", 16, "Octets of header and payload.", "_udp_length"),
        Field("checksum", 16),
    ),
    doc="UDP header.",
    extent=Length("length", 1),
    marks=(("protocol", 17),),
    next=("destination_port", "udp_port"),
)
_HEAD = (Field("kind", 8), Field("length", 8))
MSS = Header(
    "tcp_mss",
    "RFC 9293 §3.7.1",
    (*_HEAD, Field("mss", 16, "Maximum segment size.", "mss")),
    doc="Maximum segment size option.",
    layer="tcp_options",
)
WINDOW_SCALE = Header(
    "tcp_wscale",
    "RFC 7323 §2.2",
    (*_HEAD, Field("shift", 8, "Window scale shift.", "wscale")),
    doc="Window scale option.",
    layer="tcp_options",
)
TIMESTAMPS = Header(
    "tcp_timestamps",
    "RFC 7323 §3.2",
    (
        *_HEAD,
        Field("value", 32, "Timestamp value.", "ts_val"),
        Field("echo", 32, "Timestamp echo reply.", "ts_ecr"),
    ),
    doc="Timestamps option.",
    layer="tcp_options",
)
SACK_BLOCKS = 4


def sack(blocks: int) -> Header:
    """Selective acknowledgment option with this many blocks (RFC 2018 section 3)."""
    edges = tuple(
        Field(f"{edge}{block}", 32, f"Block {block}, {edge} edge.", f"sack{block}_{edge}")
        for block in range(blocks)
        for edge in ("left", "right")
    )
    return Header(
        f"tcp_sack{blocks}",
        "RFC 2018 §3",
        (*_HEAD, *edges),
        doc="Selective acknowledgment option.",
        layer="tcp_options",
    )


SACKS = tuple(sack(blocks) for blocks in range(1, SACK_BLOCKS + 1))
HEADERS = (TCP, UDP, MSS, WINDOW_SCALE, TIMESTAMPS, *SACKS)


def headers(_: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return HEADERS


def edges(_: CollectorSettings) -> dict[str, dict[int, str]]:
    """IP protocols of the transports."""
    return {"ip_protocol": {6: "tcp", 17: "udp"}}


def options(_: CollectorSettings) -> dict[str, dict[tuple[int, int], str]]:
    """TCP options by kind and octets."""
    sacks = {(5, header.octets): header.name for header in SACKS}
    own = {(2, 4): "tcp_mss", (3, 3): "tcp_wscale", (8, 10): "tcp_timestamps"}
    return {"tcp_option": own | sacks}
