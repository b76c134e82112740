"""IP protocols by the names that people type (IANA, Assigned Internet Protocol Numbers)."""

PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "esp": 50, "ah": 51, "icmpv6": 58, "sctp": 132}


def protocol_name(number: int) -> str:
    """The name of a protocol; of one that has none here its number."""
    return next((name for name, known in PROTOCOLS.items() if known == number), str(number))
