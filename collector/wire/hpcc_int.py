"""INT of the HPCC authors' simulator (alibaba-edu/High-Precision-Congestion-Control).

data  | UDP | seq 32 | priority group 16 | INT |                             big-endian but for INT
ACK   | sport 16 | dport 16 | flags 16 | priority group 16 | seq 32 | INT |   little-endian
INT   | hop 64 | hop 64 | hop 64 | hop 64 | hop 64 | hops 16 |               little-endian
hop   | rate code 3 | time 24 | bytes 20 | queue 17 |                        from the lowest bit

A packet's hop writes slot `hops` modulo five, so that the oldest of more than five are lost.
"""

from collector.protocol_number import UDP
from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Check, Header, Part, Records

SOURCE = "alibaba-edu/High-Precision-Congestion-Control"
SLOTS = 5
MOST_HOPS = 64
"""As many as a time to live allows."""
DATA, ACK, NACK = 0, 1, 2

HOP = (
    Field("rate", 3, "Line rate, a code.", "hpcc_rate", little=8),
    Field("time", 24, "Time of departure, ns.", "hpcc_time", little=8),
    Field("bytes", 20, "Octets sent, 128.", "hpcc_bytes", little=8),
    Field("queue", 17, "Queue length, 80 octets.", "hpcc_queue", little=8),
)
INT = Header(
    "hpcc_int",
    SOURCE,
    (
        *(Field(f"slot{slot}", 64, "A hop.", little=8) for slot in range(SLOTS)),
        Field("hops", 16, "Hops so far.", "_hpcc_hops", little=2),
    ),
    doc="Ring of the last five hops.",
    layer="hpcc",
    checks=(Check("hops", 0, MOST_HOPS, "hpcc_bad_count"),),
    records=Records(
        parts=(Part(0, HOP),),
        reason="hpcc_bad_count",
        count="_hpcc_hops",
        slots=SLOTS,
        start=0,
        newest_first=False,
    ),
)
SEQ_TS = Header(
    "hpcc_data",
    SOURCE,
    (
        Field("seq", 32, "First octet sent.", "seq"),
        Field("group", 16, "Priority group.", "hpcc_group"),
    ),
    doc="Sequence number of a data packet.",
    layer="hpcc",
    marks=(("hpcc_kind", DATA),),
    to="hpcc_int",
)


def acknowledgment(name: str, kind: int, doc: str) -> Header:
    """An acknowledgment; its flow is that of the UDP data that it answers."""
    return Header(
        name,
        SOURCE,
        (
            Field("source_port", 16, "Source port.", "sport", little=2),
            Field("destination_port", 16, "Destination port.", "dport", little=2),
            Field("flags", 16, "1: congestion notification.", little=2),
            Field("group", 16, "Priority group.", "hpcc_group", little=2),
            Field("ack", 32, "Next octet expected.", "ack", little=4),
        ),
        doc=doc,
        layer="hpcc",
        marks=(("protocol", UDP), ("hpcc_kind", kind)),
        to="hpcc_int",
    )


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header that a port or a protocol announces."""
    ports, acks, nacks = (
        settings.hpcc_udp_ports, settings.hpcc_ack_protocols, settings.hpcc_nack_protocols,
    )  # fmt: skip
    found = [SEQ_TS] if ports else []
    if acks:
        found.append(acknowledgment("hpcc_ack", ACK, "Acknowledgment."))
    if nacks:
        found.append(acknowledgment("hpcc_nack", NACK, "Negative acknowledgment."))
    return (*found, INT) if found else ()


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """UDP ports and IP protocols of the simulator's packets."""
    return {
        "udp_port": dict.fromkeys(settings.hpcc_udp_ports, "hpcc_data"),
        "ip_protocol": dict.fromkeys(settings.hpcc_ack_protocols, "hpcc_ack")
        | dict.fromkeys(settings.hpcc_nack_protocols, "hpcc_nack"),
    }
