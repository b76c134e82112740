"""What Wireshark calls the fields of the wire tables, and where its own field stands.

`name` stands at the octet where the table's field begins and has its value; `name@octet>>shift`
stands at that octet of the header and holds the value above its lowest `shift` bits.
"""

NAMES = """
null: family null.family|null.type
ethernet: destination eth.dst, source eth.src, ethertype eth.type|eth.len
snap: dsap llc.dsap, ssap llc.ssap, control llc.control, ethertype llc.type
cisco_hdlc: address chdlc.address, control chdlc.control, protocol chdlc.protocol
hdlc: control chdlc.control, protocol chdlc.protocol
sll: packet_type sll.pkttype, arphrd sll.hatype, address_length sll.halen,
 protocol sll.etype|sll.ltype
sll2: protocol sll.etype|sll.ltype, interface sll.ifindex, arphrd sll.hatype,
 packet_type sll.pkttype, address_length sll.halen
vlan: pcp vlan.priority|ieee8021ad.priority, dei vlan.dei|ieee8021ad.dei,
 vid vlan.id|ieee8021ad.id, ethertype vlan.etype|ieee8021ah.etype|vlan.len
macsec: version macsec.TCI.V, end_station macsec.TCI.ES, channel macsec.TCI.SC,
 broadcast macsec.TCI.SCB, encrypted macsec.TCI.E, changed macsec.TCI.C, association macsec.AN,
 short_length macsec.SL, packet_number macsec.PN
macsec_type: ethertype macsec.etype
mpls: label mpls.label@0, tc mpls.exp@0, bottom mpls.bottom@0, ttl mpls.ttl@0
control_word: sequence pweth.cw.sequence_number
pppoe: version pppoe.version, type pppoe.type, code pppoe.code, session pppoe.session_id,
 length pppoe.payload_length
ppp_hdlc: control ppp.control
ppp_protocol: protocol ppp.protocol
ppp_short: protocol ppp.protocol
ipv4: version ip.version@0>>4, ihl ip.version@0>>0, dscp ip.dsfield.dscp, ecn ip.dsfield.ecn,
 total_length ip.len, id ip.id, flags ip.flags, fragment_offset ip.frag_offset, ttl ip.ttl,
 protocol ip.proto, checksum ip.checksum, source ip.src, destination ip.dst
ipv6: version ipv6.version@0>>4, dscp ipv6.tclass.dscp, ecn ipv6.tclass.ecn@0,
 flow_label ipv6.flow, payload_length ipv6.plen, next_header ipv6.nxt, hop_limit ipv6.hlim,
 source_high ipv6.src@8>>64, source_low ipv6.src@8>>0, destination_high ipv6.dst@24>>64,
 destination_low ipv6.dst@24>>0
hop_by_hop: next_header ipv6.hopopts.nxt, length ipv6.hopopts.len
destination_options: next_header ipv6.dstopts.nxt, length ipv6.dstopts.len
srh: next_header ipv6.routing.nxt, length ipv6.routing.len, type ipv6.routing.type,
 segments_left ipv6.routing.segleft, last_entry ipv6.routing.srh.last_entry,
 flags ipv6.routing.srh.flags, tag ipv6.routing.srh.tag
routing: next_header ipv6.routing.nxt, length ipv6.routing.len, type ipv6.routing.type,
 segments_left ipv6.routing.segleft
fragment_header: next_header ipv6.fraghdr.nxt, offset ipv6.fraghdr.offset, id ipv6.fraghdr.ident
extension: next_header hip.proto|mip6.proto|shim6.nxt, length hip.hdr_len|mip6.hlen|shim6.len
authentication: next_header ah.next_header, length ah.length, spi ah.spi, sequence ah.sequence
esp: spi esp.spi, sequence esp.sequence
esp_marked: spi esp.spi, sequence esp.sequence
ioam_preallocated: option_type ipv6.opt.type, option_length ipv6.opt.length,
 type ipv6.opt.ioam.opt_type, namespace ipv6.opt.ioam.trace.ns,
 node_words ipv6.opt.ioam.trace.nodelen@6>>3, flags ipv6.opt.ioam.trace.flags,
 trace_type ipv6.opt.ioam.trace.type
ioam_incremental: option_type ipv6.opt.type, option_length ipv6.opt.length,
 type ipv6.opt.ioam.opt_type, namespace ipv6.opt.ioam.trace.ns,
 node_words ipv6.opt.ioam.trace.nodelen@6>>3, flags ipv6.opt.ioam.trace.flags,
 trace_type ipv6.opt.ioam.trace.type
aecn: option_type ipv6.opt.type, option_length ipv6.opt.length
aecn_customised: option_type ipv6.opt.type, option_length ipv6.opt.length
tcp: source_port tcp.srcport, destination_port tcp.dstport, seq tcp.seq_raw, ack tcp.ack_raw,
 data_offset tcp.hdr_len@12>>4, flags tcp.flags@12>>0, window tcp.window_size_value,
 checksum tcp.checksum, urgent tcp.urgent_pointer
tcp_mss: kind tcp.option_kind, length tcp.option_len, mss tcp.options.mss_val
tcp_wscale: kind tcp.option_kind, length tcp.option_len, shift tcp.options.wscale.shift
tcp_timestamps: kind tcp.option_kind, length tcp.option_len, value tcp.options.timestamp.tsval,
 echo tcp.options.timestamp.tsecr
tcp_sack: kind tcp.option_kind, length tcp.option_len, left0 tcp.options.sack_le,
 right0 tcp.options.sack_re, left1 tcp.options.sack_le, right1 tcp.options.sack_re,
 left2 tcp.options.sack_le, right2 tcp.options.sack_re, left3 tcp.options.sack_le,
 right3 tcp.options.sack_re
tcp_int: kind tcp.option_kind, length tcp.option_len
csig_echo: kind tcp.option_kind, length tcp.option_len, exid tcp.options.experimental.exid
accecn: kind tcp.option_kind, length tcp.option_len, exid tcp.options.experimental.exid,
 ee0b tcp.options.acc_ecn.ee0b, eceb tcp.options.acc_ecn.eceb, ee1b tcp.options.acc_ecn.ee1b
udp: source_port udp.srcport, destination_port udp.dstport, length udp.length,
 checksum udp.checksum
gre: present gre.flags_and_version@0>>12, strict gre.flags.strict_source_route@0,
 recursion gre.flags.recursion_control@0, flags gre.flags.reserved@0, version gre.flags.version@0,
 protocol gre.proto
gre1: present gre.flags_and_version@0>>12, strict gre.flags.strict_source_route@0,
 recursion gre.flags.recursion_control@0, flags gre.flags_and_version@0>>3,
 version gre.flags.version@0, protocol gre.proto
gre_route: offset gre.routing.sre_offset, length gre.routing.src_length
gre_metadata: ethertype cmd.type, version cmd.version, length cmd.length, option cmd.options,
 group cmd.sgt
vxlan: flags vxlan.flags@0>>8, vni vxlan.vni
vxlan_gpe: flags vxlan.flags, next_protocol vxlan.next_proto, vni vxlan.vni
geneve: version geneve.version@0>>6, options_length geneve.option.length, flags geneve.flags,
 protocol geneve.proto_type, vni geneve.vni
nsh: version nsh.version, ttl nsh.ttl@0, length nsh.length@0, md_type nsh.mdtype@2>>0,
 next_protocol nsh.nextproto, service_path nsh.spi, service_index nsh.si
erspan2: version erspan.version, vlan erspan.vlan@0, cos erspan.cos, encapsulation erspan.encap@2,
 truncated erspan.truncated@2, session erspan.spanid
erspan3: version erspan.version, vlan erspan.vlan@0, cos erspan.cos, bso erspan.bso@2,
 truncated erspan.truncated@2, session erspan.spanid, timestamp erspan.timestamp, sgt erspan.sgt,
 p erspan.p, frame_type erspan.ft, hardware erspan.hw@10,
 granularity erspan.gra@10, optional erspan.o@10
erspan_source: platform erspan.platid@0, upper erspan.pid7.timestamp
erspan_domain: platform erspan.platid@0, port erspan.pid1.port_index
erspan_wide: platform erspan.platid@0, upper erspan.pid3.timestamp
timestamp_tag: subtype avsp.sub_type, timescale avsp.ver@2>>8, format avsp.ver@2>>4
timestamp_64: seconds avsp.64sec, nanoseconds avsp.64ns, ethertype avsp.etype
timestamp_48: seconds avsp.48sec, nanoseconds avsp.48ns, ethertype avsp.etype
roce: opcode infiniband.bth.opcode, solicited infiniband.bth.se, migration infiniband.bth.m,
 pad infiniband.bth.padcnt, version infiniband.bth.tver, partition infiniband.bth.p_key,
 fecn infiniband.reserved@4>>7, becn infiniband.reserved@4>>6, qp infiniband.bth.destqp,
 ack_request infiniband.bth.a, psn infiniband.bth.psn
roce_grh: version infiniband.grh.ipver@0, flow_label infiniband.grh.flowlabel@0,
 payload_length infiniband.grh.paylen, next_header infiniband.grh.nxthdr,
 hop_limit infiniband.grh.hoplmt, source_high infiniband.grh.sgid@8>>64,
 source_low infiniband.grh.sgid@8>>0, destination_high infiniband.grh.dgid@24>>64,
 destination_low infiniband.grh.dgid@24>>0
roce_aeth: syndrome infiniband.aeth.syndrome, msn infiniband.aeth.msn
roce_reth: address infiniband.reth.va, key infiniband.reth.r_key, length infiniband.reth.dmalen
roce_atomic: address infiniband.reth.va, key infiniband.reth.r_key,
 swap infiniband.atomiceth.swapdt, compare infiniband.atomiceth.cmpdt
roce_atomic_ack: original infiniband.atomicacketh.origremdt
roce_deth: key infiniband.deth.q_key, source_qp infiniband.deth.srcqp
roce_immediate: data infiniband.immdt
roce_invalidate: key infiniband.ieth
sflow: version sflow_245.version, address_type sflow_245.agenttype
sflow_agent4: agent sflow_245.agent
sflow_agent6: agent_high sflow_245.agent.v6@0>>64, agent_low sflow_245.agent.v6@0>>0
sflow_datagram: sub_agent sflow_245.sub_agent_id, sequence sflow_245.sequence_number,
 uptime sflow_245.sysuptime, samples sflow_245.numsamples
sflow_flow: type sflow_245.sampletype, length sflow_5.sample_length,
 sequence sflow.flow_sample.sequence_number, source_class sflow.flow_sample.source_id_class,
 source_index sflow.flow_sample.index@12, rate sflow.flow_sample.sampling_rate,
 pool sflow.flow_sample.sample_pool, drops sflow.flow_sample.dropped_packets,
 input sflow.flow_sample.input_interface, output sflow.flow_sample.output_interface,
 records sflow.flow_sample.flow_record
sflow_expanded: type sflow_245.sampletype, length sflow_5.sample_length,
 sequence sflow.flow_sample.sequence_number, source_class sflow.flow_sample.source_id_type,
 source_index sflow.flow_sample.source_id_index, rate sflow.flow_sample.sampling_rate,
 pool sflow.flow_sample.sample_pool, drops sflow.flow_sample.dropped_packets,
 input_format sflow.flow_sample.input_interface_format,
 input sflow.flow_sample.input_interface_value,
 output sflow.flow_sample.output_interface_value, records sflow.flow_sample.flow_record
sflow_raw: type sflow_245.flow_record_format, length sflow_5.flow_data_length,
 protocol sflow_245.header_protocol, frame_length sflow_245.header.frame_length,
 stripped sflow_245.header.payload_stripped,
 header_length sflow_245.header.sampled_header_length
"""


def pairs(text: str) -> list[tuple[str, str]]:
    """Fields of the table and Wireshark's names, of one header."""
    each = (pair.split(maxsplit=1) for pair in text.replace("\n", " ").split(","))
    return [(name, shown) for name, shown in each]


def lines(text: str) -> dict[str, list[tuple[str, str]]]:
    """The same by header, of a text that gives a header a line or more."""
    told = (line.partition(": ") for line in text.replace("\n ", " ").strip().splitlines())
    return {name: pairs(fields) for name, _, fields in told}


KNOWN = {name: dict(fields) for name, fields in lines(NAMES).items()}
OURS = "csig_echo_udp"
GROUPS = {
    "tcp_sack": "tcp_sack", "csig_echo": "csig_echo", "accecn": "accecn",
    "gre_key": "gre", "gre_mirror": "gre", "vxlan_mirror": "vxlan", "vxlan_vni": "vxlan",
    "vxlan_gpe_vni": "vxlan_gpe", "geneve_mirror": "geneve", "geneve_vni": "geneve",
}  # fmt: skip
"""Headers whose names begin alike have the same fields: those of a group."""


def group(header: str) -> str:
    """The header or the group whose names a header has."""
    return next((names for start, names in GROUPS.items() if header.startswith(start)), header)


def known(header: str) -> dict[str, str]:
    """Wireshark's names of a header's fields."""
    return KNOWN.get(header, {} if header.startswith(OURS) else KNOWN.get(group(header), {}))
