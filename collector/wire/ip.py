"""Internet Protocol: IPv4 (RFC 791), IPv6 and its extension headers (RFC 8200).

    IPv4 | 4 | IHL 4 | DSCP 6 | ECN 2 | total 16 | id 16 | R DF MF 3 | offset 13 |
         | TTL 8 | protocol 8 | checksum 16 | source 32 | destination 32 |
    IPv6 | 6 | DSCP 6 | ECN 2 | flow label 20 | payload 16 | next 8 | hop limit 8 |
         | source 128 | destination 128 |

Addresses are kept as two 64-bit words; an IPv4 address is kept as the IPv4-mapped IPv6 address.
"""

from collector.settings import CollectorSettings
from collector.wire.place import Field
from collector.wire.table import Check, Header, Length

SPACES = {"ip_protocol": 0}
OPTION_SPACES = ("ipv6_option", "srh_tlv")
MAPPED = 0xFFFF_0000_0000
"""Low word of ::ffff:0.0.0.0."""

IPV4 = Header(
    "ipv4",
    "RFC 791 §3.1",
    (
        Field("version", 4),
        Field("ihl", 4, "Header length in words."),
        Field("dscp", 6, "Differentiated services code point.", "dscp"),
        Field("ecn", 2, "Explicit congestion notification.", "ecn"),
        Field("total_length", 16, "Octets of header and payload."),
        Field("id", 16, "Identification.", "ip_id"),
        Field("flags", 3, "Reserved, don't fragment, more fragments."),
        Field("fragment_offset", 13),
        Field("ttl", 8, "Time to live.", "ttl"),
        Field("protocol", 8, "What follows.", "protocol"),
        Field("checksum", 16),
        Field("source", 32, "Source address.", "src_lo", MAPPED),
        Field("destination", 32, "Destination address.", "dst_lo", MAPPED),
    ),
    doc="IPv4 header; options are skipped.",
    length=Length("ihl", 4),
    extent=Length("total_length", 1),
    checks=(
        Check("version", 4, 4, "bad_version"),
        Check("fragment_offset", 0, 0, "fragment"),
    ),
    next=("protocol", "ip_protocol"),
    envelope="flow",
)
IPV6 = Header(
    "ipv6",
    "RFC 8200 §3",
    (
        Field("version", 4),
        Field("dscp", 6, "Differentiated services code point.", "dscp"),
        Field("ecn", 2, "Explicit congestion notification.", "ecn"),
        Field("flow_label", 20, "Flow label.", "flow_label"),
        Field("payload_length", 16, "Octets behind this header."),
        Field("next_header", 8, "What follows.", "protocol"),
        Field("hop_limit", 8, "Hop limit.", "ttl"),
        Field("source_high", 64, "Source address, high half.", "src_hi"),
        Field("source_low", 64, "Source address, low half.", "src_lo"),
        Field("destination_high", 64, "Destination address, high half.", "dst_hi"),
        Field("destination_low", 64, "Destination address, low half.", "dst_lo"),
    ),
    doc="IPv6 header.",
    extent=Length("payload_length", 1, 40),
    checks=(Check("version", 6, 6, "bad_version"),),
    next=("next_header", "ip_protocol"),
    envelope="flow",
)


def _extension(name: str, doc: str) -> Header:
    """An extension header made of options."""
    return Header(
        name,
        "RFC 8200 §4",
        (
            Field("next_header", 8, "What follows.", "protocol"),
            Field("length", 8, "Eight-octet units without the first."),
        ),
        doc=doc,
        length=Length("length", 8, 8),
        next=("next_header", "ip_protocol"),
        options=("ipv6_option", "ipv6"),
    )


HOP_BY_HOP = _extension("hop_by_hop", "Hop-by-Hop Options header.")
DESTINATION_OPTIONS = _extension("destination_options", "Destination Options header.")
EXTENSION = Header(
    "extension",
    "RFC 6564 §4",
    (
        Field("next_header", 8, "What follows.", "protocol"),
        Field("length", 8, "Eight-octet units without the first."),
    ),
    doc="Extension header that is passed over: Mobility, Host Identity, Shim6.",
    length=Length("length", 8, 8),
    next=("next_header", "ip_protocol"),
)
SEGMENT_ROUTING = Header(
    "srh",
    "RFC 8754 §2",
    (
        Field("next_header", 8, "What follows.", "protocol"),
        Field("length", 8, "Eight-octet units without the first."),
        Field("type", 8, "4."),
        Field("segments_left", 8),
        Field("last_entry", 8, "Number of the last segment, from 0."),
        Field("flags", 8),
        Field("tag", 16),
    ),
    doc="Segment Routing Header; TLVs stand behind its segments of 16 octets.",
    length=Length("length", 8, 8),
    checks=(Check("type", 4, 4, None),),
    otherwise="routing",
    next=("next_header", "ip_protocol"),
    options=("srh_tlv", "ipv6"),
    options_at=Length("last_entry", 16, 24),
    layer="routing",
)
ROUTING = Header(
    "routing",
    "RFC 8200 §4.4",
    (
        Field("next_header", 8, "What follows.", "protocol"),
        Field("length", 8, "Eight-octet units without the first."),
        Field("type", 8, "Any but segment routing."),
        Field("segments_left", 8),
    ),
    doc="Routing header.",
    length=Length("length", 8, 8),
    next=("next_header", "ip_protocol"),
)
FRAGMENT = Header(
    "fragment_header",
    "RFC 8200 §4.5",
    (
        Field("next_header", 8, "What follows.", "protocol"),
        Field("reserved", 8),
        Field("offset", 13, "Offset of this fragment; only the first one is decoded."),
        Field("flags", 3),
        Field("id", 32),
    ),
    doc="Fragment header.",
    checks=(Check("offset", 0, 0, "fragment"),),
    next=("next_header", "ip_protocol"),
)
AUTHENTICATION = Header(
    "authentication",
    "RFC 4302 §2",
    (
        Field("next_header", 8, "What follows.", "protocol"),
        Field("length", 8, "Words minus two."),
        Field("reserved", 16),
        Field("spi", 32, "Security parameters index.", "spi"),
        Field("sequence", 32),
    ),
    doc="Authentication Header; what follows can be read.",
    length=Length("length", 4, 8),
    next=("next_header", "ip_protocol"),
)
HEADERS = (
    IPV4, IPV6, HOP_BY_HOP, DESTINATION_OPTIONS, EXTENSION, SEGMENT_ROUTING, ROUTING, FRAGMENT,
    AUTHENTICATION,
)  # fmt: skip


def headers(_: CollectorSettings) -> tuple[Header, ...]:
    """Every header of this file."""
    return HEADERS


def edges(_: CollectorSettings) -> dict[str, dict[int, str]]:
    """IP protocols that are part of IP itself."""
    protocol = {0: "hop_by_hop", 4: "ipv4", 41: "ipv6", 43: "srh", 44: "fragment_header",
                51: "authentication", 60: "destination_options", 137: "mpls"}  # fmt: skip
    protocol |= dict.fromkeys((135, 139, 140), "extension")
    return {"ip_protocol": protocol}
