"""RDMA over Converged Ethernet, versions 1 and 2 (InfiniBand Architecture Specification §9).

RoCEv1    | ethertype 8915 | GRH | BTH | ...        RoCEv2 | UDP 4791 | BTH | ...
GRH       | 6 4 | class 8 | flow label 20 | payload 16 | next 27 8 | hop limit 8 |
          | source 128 | destination 128 |
BTH       | opcode 8 | SE 1 | M 1 | pad 2 | version 4 | P_Key 16 | F 1 | B 1 | R 6 | QP 24 |
          | A 1 | R 7 | PSN 24 | extended headers | payload | pad | ICRC 32 |
AETH      | syndrome 8 | MSN 24 |
CNP       | R 128 |

A flow is its addresses and the destination queue pair. RoCEv2's UDP source port is entropy and the
queue pairs of the two directions differ, so both ports are given as RoCE's own: data and
acknowledgments then meet.
"""

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Branch, Check, Header, Length

SPACES = {"roce": 0, "roce_second": 0}
SPECIFICATION = "InfiniBand Architecture Specification §9"
PORT = 4791
BTH_PROTOCOL = 0x1B
CNP_OPCODE = 0x81

ROCE_UDP = Header(
    "roce_udp",
    "InfiniBand Architecture Specification, Annex A17",
    (),
    doc="What follows the UDP header of RoCEv2.",
    marks=(("sport", PORT), ("dport", PORT)),
    layer="roce",
    to="roce",
)
GRH = Header(
    "roce_grh",
    "InfiniBand Architecture Specification §8.3",
    (
        Field("version", 4, "6."),
        Field("dscp", 6, "Differentiated services code point.", "dscp"),
        Field("ecn", 2, "Explicit congestion notification.", "ecn"),
        Field("flow_label", 20, "Flow label.", "flow_label"),
        Field("payload_length", 16, "Octets behind this header."),
        Field("next_header", 8, "27: a base transport header.", "protocol"),
        Field("hop_limit", 8, "Hop limit.", "ttl"),
        Field("source_high", 64, "Source GID, high half.", "src_hi"),
        Field("source_low", 64, "Source GID, low half.", "src_lo"),
        Field("destination_high", 64, "Destination GID, high half.", "dst_hi"),
        Field("destination_low", 64, "Destination GID, low half.", "dst_lo"),
    ),
    doc="Global route header of RoCEv1.",
    extent=Length("payload_length", 1, 40),
    checks=(
        Check("version", 6, 6, "bad_version"),
        Check("next_header", BTH_PROTOCOL, BTH_PROTOCOL, "unknown_ethertype"),
    ),
    envelope="flow",
    layer="ipv6",
    to="roce",
)
BTH = Header(
    "roce",
    f"{SPECIFICATION}.2",
    (
        Field("opcode", 8, "Class 3 and operation 5; 129: congestion notification.", "roce_opcode"),
        Field("solicited", 1, "Solicited event."),
        Field("migration", 1, "Migration state."),
        Field("pad", 2, "Octets of padding behind the payload."),
        Field("version", 4, "Transport header version, 0."),
        Field("partition", 16, "Partition key."),
        Field("fecn", 1, "Forward congestion was met.", "roce_fecn"),
        Field("becn", 1, "Backward congestion is told.", "roce_becn"),
        Field("reserved", 6),
        Field("qp", 24, "Destination queue pair.", "roce_qp"),
        Field("ack_request", 1, "An acknowledgment is asked for.", "roce_ack_request"),
        Field("reserved2", 7),
        Field("psn", 24, "Packet sequence number.", "roce_psn"),
    ),
    doc="Base transport header.",
    trailer=Length("pad", 1, 4),
    next=("opcode", "roce"),
)
AETH = Header(
    "roce_aeth",
    f"{SPECIFICATION}.5",
    (
        Field("syndrome", 8, "000 ACK, 001 RNR NAK, 011 NAK in bits 6-5.", "roce_syndrome"),
        Field("msn", 24, "Message sequence number.", "roce_msn"),
    ),
    doc="Acknowledgment.",
    branches=(Branch("roce_opcode", 0xFF, 0x12, to="roce_atomic_ack"),),
    layer="roce",
)
RETH = Header(
    "roce_reth",
    f"{SPECIFICATION}.3",
    (Field("address", 64, "Virtual address."), Field("key", 32, "Remote key."),
     Field("length", 32, "Octets of the whole message.")),
    doc="Address of a remote write or read.",
    branches=(Branch("roce_opcode", 0, 0, select="roce_opcode", space="roce_second"),),
    layer="roce",
)  # fmt: skip
DETH = Header(
    "roce_deth",
    f"{SPECIFICATION}.3",
    (Field("key", 32, "Queue key."), Field("reserved", 8), Field("source_qp", 24, "Sender's.")),
    doc="Datagram header.",
    branches=(Branch("roce_opcode", 0, 0, select="roce_opcode", space="roce_second"),),
    layer="roce",
)
ATOMIC = Header(
    "roce_atomic",
    f"{SPECIFICATION}.3",
    (Field("address", 64, "Virtual address."), Field("key", 32, "Remote key."),
     Field("swap", 64, "To swap or add."), Field("compare", 64, "To compare with.")),
    doc="Atomic request.",
    layer="roce",
)  # fmt: skip
ATOMIC_ACK = Header(
    "roce_atomic_ack",
    f"{SPECIFICATION}.5",
    (Field("original", 64, "What was there."),),
    doc="Result of an atomic request.",
    layer="roce",
)
IMMEDIATE = Header(
    "roce_immediate",
    f"{SPECIFICATION}.4",
    (Field("data", 32),),
    doc="Immediate data.",
    layer="roce",
)
INVALIDATE = Header(
    "roce_invalidate",
    f"{SPECIFICATION}.4",
    (Field("key", 32, "Remote key."),),
    doc="Key that a send invalidates.",
    layer="roce",
)
CNP = Header(
    "roce_cnp",
    "InfiniBand Architecture Specification, Annex A17.9.3",
    (Field("reserved", 64), Field("reserved2", 64)),
    doc="Congestion notification packet: nothing but the headers before it.",
    layer="roce",
)
HEADERS = (
    ROCE_UDP, GRH, BTH, AETH, RETH, DETH, ATOMIC, ATOMIC_ACK, IMMEDIATE, INVALIDATE, CNP,
)  # fmt: skip
FIRST = {
    "roce_aeth": (0x0D, 0x0F, 0x10, 0x11, 0x12),
    "roce_immediate": (0x03, 0x05, 0x09, 0x23, 0x25, 0x29),
    "roce_reth": (0x06, 0x0A, 0x0B, 0x0C, 0x26, 0x2A, 0x2B),
    "roce_atomic": (0x13, 0x14),
    "roce_invalidate": (0x16, 0x17),
    "roce_deth": (0x64, 0x65),
    "roce_cnp": (CNP_OPCODE,),
}
"""Opcodes by the extended header that follows the base one."""
SECOND = {"roce_immediate": (0x0B, 0x2B, 0x65)}
"""Opcodes by the extended header that follows the first one."""


def headers(_: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return HEADERS


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """Where RoCE begins, and extended headers by opcode."""
    return {
        "ethertype": {0x8915: "roce_grh"},
        "udp_port": dict.fromkeys(settings.roce_udp_ports, "roce_udp"),
        "roce": {opcode: name for name, opcodes in FIRST.items() for opcode in opcodes},
        "roce_second": {opcode: name for name, opcodes in SECOND.items() for opcode in opcodes},
    }
