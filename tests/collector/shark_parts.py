"""What Wireshark has several fields for, or another field as well, of one field of the tables.

`name@octet` stands at that octet of the header and has the field's value; `name@octet>>shift` holds
it above its lowest `shift` bits; `name@octet<<shift/bits` is `bits` of the field's own, above its
lowest `shift`. Unlike those of `shark_fields`, all of them are compared wherever they are shown.
"""

from shark_fields import group, lines

PARTS = """
snap: dsap llc.dsap.sap@0<<1/7, dsap llc.dsap.ig@0<<0/1, ssap llc.ssap.sap@1<<1/7,
 ssap llc.ssap.cr@1<<0/1
sll: address sll.src.eth@6<<16/48, address sll.src.ipv4@6<<32/32
sll2: address sll.src.eth@12<<16/48, address sll.src.ipv4@12<<32/32
macsec: version macsec.TCI@0>>5, changed macsec.TCI@0>>0
macsec_channel: channel macsec.SCI.system_identifier@0<<16/48,
 channel macsec.SCI.port_identifier@6<<0/16
ipv4: dscp ip.dsfield@1>>2, ecn ip.dsfield@1>>0, flags ip.flags.rb@6<<2/1, flags ip.flags.df@6<<1/1,
 flags ip.flags.mf@6<<0/1
ipv6: version ip.version@0, dscp ipv6.tclass@0>>2, ecn ipv6.tclass@0>>0
fragment_header: reserved ipv6.fraghdr.reserved_octet@1, flags ipv6.fraghdr.reserved_bits@2<<1/2,
 flags ipv6.fraghdr.more@2<<0/1
authentication: reserved ah.reserved@2
ioam_preallocated: reserved ipv6.opt.ioam.rsv@2, remaining ipv6.opt.ioam.trace.remlen@7>>0,
 flags ipv6.opt.ioam.trace.flag.o@6<<3/1, flags ipv6.opt.ioam.trace.flag.l@6<<2/1,
 flags ipv6.opt.ioam.trace.flag.a@6<<1/1, flags ipv6.opt.ioam.trace.flag.rsv@6<<0/1,
 trace_type ipv6.opt.ioam.trace.type.bit0@8<<23/1, trace_type ipv6.opt.ioam.trace.type.bit1@8<<22/1,
 trace_type ipv6.opt.ioam.trace.type.bit2@8<<21/1, trace_type ipv6.opt.ioam.trace.type.bit3@8<<20/1,
 trace_type ipv6.opt.ioam.trace.type.bit4@8<<19/1, trace_type ipv6.opt.ioam.trace.type.bit5@8<<18/1,
 trace_type ipv6.opt.ioam.trace.type.bit6@8<<17/1, trace_type ipv6.opt.ioam.trace.type.bit7@8<<16/1,
 trace_type ipv6.opt.ioam.trace.type.bit8@8<<15/1, trace_type ipv6.opt.ioam.trace.type.bit9@8<<14/1,
 trace_type ipv6.opt.ioam.trace.type.bit10@8<<13/1,
 trace_type ipv6.opt.ioam.trace.type.bit11@8<<12/1,
 trace_type ipv6.opt.ioam.trace.type.bit22@8<<1/1, reserved2 ipv6.opt.ioam.trace.rsv@11
tcp: reserved tcp.flags.res@12, flags tcp.flags.ae@12<<8/1, flags tcp.flags.cwr@13<<7/1,
 flags tcp.flags.ece@13<<6/1, flags tcp.flags.ace@12>>0, flags tcp.flags.urg@13<<5/1,
 flags tcp.flags.ack@13<<4/1, flags tcp.flags.push@13<<3/1, flags tcp.flags.reset@13<<2/1,
 flags tcp.flags.syn@13<<1/1, flags tcp.flags.fin@13<<0/1
gre: present gre.flags.checksum@0<<3/1, present gre.flags.routing@0<<2/1,
 present gre.flags.key@0<<1/1, present gre.flags.sequence_number@0<<0/1
gre1: present gre.flags.checksum@0<<3/1, present gre.flags.routing@0<<2/1,
 present gre.flags.key@0<<1/1, present gre.flags.sequence_number@0<<0/1,
 flags gre.flags.ack@0<<4/1
gre_key: key gre.key, checksum gre.checksum, offset gre.offset
vxlan: flags vxlan.flag_i@0<<3/1, flags vxlan.flag_g@0<<7/1, reserved vxlan.gbp@2<<0/16,
 reserved vxlan.flag_d@0<<22/1, reserved vxlan.flag_a@0<<19/1, reserved2 vxlan.reserved8@7
vxlan_gpe: flags vxlan.ver@0<<4/2, flags vxlan.i_bit@0<<3/1, flags vxlan.p_bit@0<<2/1,
 flags vxlan.o_bit@0<<0/1, reserved vxlan.reserved_16@1, reserved2 vxlan.reserved8@7
geneve: flags geneve.flags.oam@1<<7/1, flags geneve.flags.critical@1<<6/1,
 flags geneve.flags.reserved@1<<0/6, reserved geneve.reserved@7
nsh: flags nsh.Obit@0<<1/1, flags nsh.CBit@0<<0/1
erspan2: reserved erspan.reserved@4, index erspan.index@4
erspan3: direction erspan.direction@10
erspan_seconds: platform erspan.platid@0, switch erspan.pid5.switchid@0,
 seconds erspan.pid5.timestamp@4
erspan_reserved: platform erspan.platid@0
erspan_platform: platform erspan.platid@0
roce: reserved2 infiniband.bth.reserved7@8
roce_grh: dscp infiniband.grh.tclass@0>>2, ecn infiniband.grh.tclass@0>>0
roce_deth: reserved infiniband.reserved@4
sflow_expanded: output_format sflow.flow_sample.output_interface.format@40<<0/31
"""

NODE = {
    "hlim": ("ioam_ttl", "ioam_ttl_wide"), "id": ("ioam_node",), "id_wide": ("ioam_node_wide",),
    "iif": ("ioam_ingress",), "eif": ("ioam_egress",), "tss": ("ioam_seconds",),
    "tsf": ("ioam_fraction",), "trdelay": ("ioam_transit",), "nsdata": ("ioam_data",),
    "qdepth": ("ioam_queue",), "csum": ("ioam_complement",), "iif_wide": ("ioam_ingress_wide",),
    "eif_wide": ("ioam_egress_wide",), "nsdata_wide": ("ioam_data_wide",),
    "bufoccup": ("ioam_buffer",), "oss.len": ("ioam_snapshot_words",),
    "oss.scid": ("ioam_snapshot_schema",),
}  # fmt: skip
"""Columns by Wireshark's field of a node's data, in the order of the wire."""
NODES = {f"ipv6.opt.ioam.trace.node.{name}": columns for name, columns in NODE.items()}

TOLD = lines(PARTS)
SAME = {"ioam_incremental": "ioam_preallocated"}
KEYED = "gre_key"


def parts(header: str) -> list[tuple[str, str]]:
    """Field of the table and Wireshark's name, of all that a header has besides."""
    own = group(header)
    keyed = TOLD[KEYED] if header.startswith(KEYED) else []
    return [*TOLD.get(SAME.get(own, own), []), *keyed]
