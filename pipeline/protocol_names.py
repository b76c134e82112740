"""IP protocols by the names that people type (IANA, Assigned Internet Protocol Numbers)."""

PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "esp": 50, "ah": 51, "icmpv6": 58, "sctp": 132}
