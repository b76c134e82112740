"""Layers: what a frame can be made of, one bit each in the column `layers`.

Headers that differ only in size or place share a bit. Rows that are stored keep their bits, so a
layer is added at the end and never taken out.
"""

LAYERS = (
    "ethernet", "vlan", "macsec", "mpls", "ppp", "pppoe", "sll", "raw_ip",
    "ipv4", "ipv6", "hop_by_hop", "destination_options", "routing", "fragment_header",
    "authentication", "esp", "psp",
    "tcp", "udp", "tcp_options", "roce",
    "gre", "erspan", "vxlan", "vxlan_gpe", "geneve", "nsh", "sflow",
    "csig", "csig_echo", "aecn", "int_shim", "int_md", "int_mx", "report",
    "ioam", "ifa", "tcp_int", "hpcc", "timestamp", "accecn",
)  # fmt: skip
"""Every layer; its place is its bit."""
BIT = {name: bit for bit, name in enumerate(LAYERS)}
"""Bit of each layer."""
FLOW = (
    "ipv4", "ipv6", "hop_by_hop", "destination_options", "routing", "fragment_header",
    "authentication", "esp", "psp", "tcp", "udp", "tcp_options", "roce", "accecn",
)  # fmt: skip
"""Layers of one flow: an overlay's inner IP header starts them anew."""
