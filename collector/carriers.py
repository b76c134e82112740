"""Which header follows which: the edges between the wire tables, with those that settings name.

A format is data: what a setting names (a TPID, a port, an option type) becomes an edge in a number
space, so that nothing is compiled again when a format or a setting changes.
"""

from dataclasses import replace

from collector.settings import CollectorSettings
from collector.status import CODE
from collector.wire import aecn, csig, inband, ip, link, transport, tunnel
from collector.wire.table import Branch, Header

SPACES = {
    "ethertype": -CODE["unknown_ethertype"],
    "ppp": -CODE["unknown_ethertype"],
    "link_type": -CODE["unknown_link_type"],
    "ip_version": -CODE["bad_version"],
    "mpls": 0,
    "ip_protocol": 0,
    "udp_port": 0,
    "gpe": -CODE["unknown_ethertype"],
    "erspan3": -CODE["unknown_ethertype"],
}
"""Number spaces with what an unlisted number means: payload (0) or the end by a reason."""
OPTION_SPACES = ("tcp_option", "ipv6_option")
"""Number spaces of type-length-value lists; an unlisted option is skipped."""

SNAP_LENGTHS = range(8, 1501)
"""Numbers in an ethertype's place that are a frame's length, long enough for a SNAP header."""


def headers(settings: CollectorSettings) -> tuple[Header, ...]:
    """Every header that these settings can meet."""
    shim: tuple[Branch, ...] = ()
    if settings.int_dscp is not None:
        mask = settings.int_dscp_mask
        shim = (Branch("dscp", mask, settings.int_dscp & mask, to="int_shim"),)
    exid = settings.csig_echo_exid if settings.csig_echo_kind in (253, 254) else None
    return (
        *link.HEADERS,
        *ip.HEADERS,
        *(
            replace(header, branches=(*header.branches, *shim))
            if header.name in {"tcp", "udp"}
            else header
            for header in transport.HEADERS
        ),
        *tunnel.HEADERS,
        *csig.tags(settings.csig_layout),
        *csig.reflections(settings.csig_layout, exid),
        *inband.headers(settings.int_domain),
        aecn.option(settings.aecn_numbering),
    )


def edges(settings: CollectorSettings) -> dict[str, dict[int, str]]:
    """Numbers of each space and the header that each announces."""
    ethertype = {0x0800: "ipv4", 0x86DD: "ipv6", 0x8847: "mpls", 0x8848: "mpls", 0x6558: "ethernet",
                 0x22EB: "erspan3", 0x894F: "nsh"}  # fmt: skip
    ethertype |= {0x88E5: "macsec", **dict.fromkeys(SNAP_LENGTHS, "snap")}
    ethertype |= dict.fromkeys((0x8100, 0x88A8, 0x9100, 0x9200, 0x9300), "vlan")
    ethertype |= dict.fromkeys(settings.csig_compact_tpids, "csig_compact")
    ethertype |= dict.fromkeys(settings.csig_expanded_tpids, "csig_expanded")
    protocol = {0: "hop_by_hop", 4: "ipv4", 6: "tcp", 17: "udp", 41: "ipv6", 43: "routing",
                44: "fragment_header", 47: "gre", 51: "authentication", 60: "destination_options",
                137: "mpls"}  # fmt: skip
    port = {4789: "vxlan", 8472: "vxlan", 4790: "vxlan_gpe", 6081: "geneve"}
    port |= dict.fromkeys(settings.int_udp_ports, "int_shim")
    link_type = {0: "null", 1: "ethernet", 9: "ppp", 12: "raw_ip", 14: "raw_ip", 101: "raw_ip",
                 108: "null", 113: "sll", 228: "ipv4", 229: "ipv6", 276: "sll2"}  # fmt: skip
    return {
        "ethertype": ethertype,
        "ppp": {0x21: "ipv4", 0x57: "ipv6", 0x281: "mpls"},
        "link_type": link_type,
        "ip_version": {4: "ipv4", 6: "ipv6"},
        "mpls": {0: "mpls", 1: "raw_ip"},
        "ip_protocol": protocol,
        "udp_port": port,
        "gpe": {1: "ipv4", 2: "ipv6", 3: "ethernet", 4: "nsh"},
        "erspan3": {0: "ethernet", 2: "raw_ip"},
    }


def option_edges(settings: CollectorSettings) -> dict[str, dict[tuple[int, int], str]]:
    """(kind, octets) of each option space and its header; 0 octets stands for any length."""
    kind = settings.csig_echo_kind
    head = 4 if settings.csig_echo_exid is not None and kind in (253, 254) else 2
    tcp = {
        (2, 4): "tcp_mss",
        (3, 3): "tcp_wscale",
        (8, 10): "tcp_timestamps",
        **{(5, header.octets): header.name for header in transport.SACKS},
        (kind, head + 2): "csig_echo_compact",
        (kind, head + 6): "csig_echo_expanded",
    }
    ipv6 = {(number, 0): "aecn" for number in settings.aecn_option_types}
    return {"tcp_option": tcp, "ipv6_option": ipv6}
