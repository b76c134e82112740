"""Columns of the telemetry formats: what a header said, and the same in units."""

from collector.observation.column import F64, FLAG, I64, U8, U16, U32, U64, Column
from collector.wire.csig import COMPACT, EXPANDED

VARIANT = "variant"


def csig(prefix: str, what: str) -> tuple[Column, ...]:
    """Columns of one congestion signal."""
    rows = (
        (VARIANT, U8, "", "1 compact, 2 expanded.", True),
        ("t", U8, "", "signal type; 0 min(ABW), 1 min(ABW/C), 2 max(PD).", True),
        ("s", U32, "", "signal value as on the wire.", True),
        ("lm", U16, "", "locator metadata as on the wire.", True),
        ("low", F64, "bit/s, ratio or ns", "lower end of the value.", True),
        ("high", F64, "bit/s, ratio or ns", "upper end; null: open.", True),
        ("d", U8, "", "do-not-update bit.", False),
        ("known", FLAG, "", "whether the signal type is one that is defined.", False),
        *((f"lm_{part}", U16, "", f"{part} of the locator metadata.", False) for part in LM_PARTS),
    )
    return tuple(
        Column(
            f"{prefix}_{name}",
            dtype,
            unit,
            f"{what}: {doc}",
            stored=stored,
            most=max(COMPACT, EXPANDED) if name == VARIANT else None,
        )
        for name, dtype, unit, doc, stored in rows
    )


LM_PARTS = ("port", "device", "stage", "orientation", "capacity", "ttl")
"""Sub-fields that settings can name inside CSIG's locator metadata (section 5.5.2)."""

CSIG_SIGNALS = {
    prefix: csig(prefix, what)
    for prefix, what in (("csig", "CSIG tag"), ("csig_echo", "CSIG reflection"))
}
"""The columns of each congestion signal, by what their names begin with."""
CSIG = (
    *(column for columns in CSIG_SIGNALS.values() for column in columns),
    Column("csig_echo_flags", U8, "bits", "Flags of a reflection outside TCP.", stored=False),
    Column(
        "csig_echo_valid",
        FLAG,
        "",
        "Whether the reflection holds a signal; false: empty or marked invalid.",
        stored=False,
    ),
)
AECN = (
    Column("aecn_flags", U8, "bits", "AECN flags."),
    Column("aecn_type", U32, "bits", "AECN congestion info type."),
    Column("aecn_inflight_ratio", U8, "", "AECN inflight ratio as on the wire."),
    Column("aecn_dre", U8, "", "AECN discounting rate estimator as on the wire."),
    Column("aecn_queue_utilization", U8, "", "AECN queue utilisation as on the wire."),
    Column("aecn_queue_delay", U8, "", "AECN queue delay, summed over the path, as on the wire."),
    Column("aecn_congested_hops", U8, "", "AECN number of congested hops."),
    Column("aecn_available_bandwidth", U8, "", "AECN available bandwidth as on the wire."),
    Column("aecn_u", F64, "ratio", "AECN inflight ratio as u'."),
    Column("aecn_dre_ratio", F64, "ratio", "AECN discounting rate estimator.", stored=False),
    Column("aecn_queue_ratio", F64, "ratio", "AECN queue over its buffer.", stored=False),
    Column("aecn_queue_delay_ns", F64, "ns", "AECN queue delay of the path.", stored=False),
    Column("aecn_abw_bps", F64, "bit/s", "AECN available bandwidth.", stored=False),
    Column("aecn_saturated", U8, "bits", "Infos at their highest value, bit 0 first."),
    Column("aecn_rest", U64, "", "First octets of data that cannot be read.", stored=False),
    Column("aecn_rest_bytes", U8, "bytes", "Octets of data that cannot be read.", stored=False),
)
INBAND = (
    Column("int_version", U8, "", "INT version."),
    Column("int_flags", U8, "bits", "INT flags D 4, E 2, M 1."),
    Column("int_remaining_hops", U8, "", "INT remaining hop count."),
    Column("int_domain", U16, "", "INT domain-specific id."),
    Column("int_reflected", FLAG, "", "The stack is the data's path, reflected on an ACK."),
    Column("int_type", U8, "", "INT header type: 1 MD, 3 MX.", stored=False),
    Column("int_replication", U8, "", "INT 1.0 replication: 0 none to 3 both.", stored=False),
    Column("int_profile", U8, "", "Width profile of INT 1.0: 0 specification.", stored=False),
    Column("int_length_rule", U8, "", "Shim length: 0 without the shim, 1 with it.", stored=False),
    Column(
        "int_hop_words",
        U8,
        "words",
        "HopML where bitmap and declared metadata come to another sum; null or 0: they agree.",
        stored=False,
    ),
    Column("int_source_data", U64, "", "First field of source-only metadata.", stored=False),
)
REPORT = (
    Column("report_version", U8, "", "Telemetry report version.", stored=False),
    Column("report_node", U32, "", "Node that sent the report.", stored=False),
    Column("report_hardware", U8, "", "Hardware id of the report's sender.", stored=False),
    Column("report_sequence", U32, "", "Sequence number of the report.", stored=False),
    Column("report_flags", U8, "bits", "Report flags D 8, Q 4, F 2, I 1.", stored=False),
    Column("report_drop_reason", U8, "", "Why the packet was dropped.", stored=False),
)
TRACE = (
    Column("ioam_type", U8, "", "IOAM trace: 0 pre-allocated, 1 incremental.", stored=False),
    Column("ioam_namespace", U16, "", "IOAM namespace id.", stored=False),
    Column("ioam_flags", U8, "bits", "IOAM flags: overflow 8, loopback 4, active 2.", stored=False),
    Column("ioam_trace_type", U32, "bits", "IOAM trace type, bit 0 highest.", stored=False),
    Column("ioam_remaining", U8, "words", "IOAM free space.", stored=False),
    Column("ifa_version", U8, "", "IFA version.", stored=False),
    Column("ifa_namespace", U8, "", "IFA global name space; 15: each hop's own.", stored=False),
    Column("ifa_flags", U8, "bits", "IFA flags MF 16, TS 8, I 4, TA 2, C 1.", stored=False),
    Column("ifa_hop_limit", U8, "", "IFA hop limit.", stored=False),
    Column(
        "tcp_int_value", U8, "", "TCP-INT value of the worst hop, as on the wire.", stored=False
    ),
    Column("tcp_int_utilization", F64, "ratio", "TCP-INT utilisation.", stored=False),
    Column("tcp_int_qlen_bytes", U32, "bytes", "TCP-INT queue depth.", stored=False),
    Column("tcp_int_b_bps", U64, "bit/s", "TCP-INT link speed.", stored=False),
    Column("tcp_int_hop", U8, "", "TCP-INT number of the worst hop, from 1.", stored=False),
    Column("tcp_int_latency_ns", U64, "ns", "TCP-INT latency of the worst hop.", stored=False),
    Column("tcp_int_echo_value", U8, "", "TCP-INT value, echoed.", stored=False),
    Column("tcp_int_echo_b_bps", U64, "bit/s", "TCP-INT link speed, echoed.", stored=False),
    Column("tcp_int_echo_hop", U8, "", "TCP-INT worst hop, echoed.", stored=False),
    Column("tcp_int_echo_latency_ns", U64, "ns", "TCP-INT latency, echoed.", stored=False),
    Column("hpcc_kind", U8, "", "HPCC simulator: 0 data, 1 ACK, 2 NACK."),
    Column("hpcc_group", U16, "", "Priority group of the HPCC simulator.", stored=False),
)
MIRROR = (
    Column(
        "mirror_session", U32, "", "Session, VNI or key of the mirror's envelope.", stored=False
    ),
    Column("mirror_port", U32, "", "Port index of the mirror's envelope.", stored=False),
    Column("mirror_direction", U8, "", "Copied at 0 ingress, 1 egress.", stored=False),
    Column("mirror_agent_hi", U64, "", "Agent that sampled, high half.", stored=False),
    Column("mirror_agent_lo", U64, "", "Agent that sampled, low half.", stored=False),
    Column("mirror_length", U32, "bytes", "Octets of the sampled frame.", stored=False),
    Column("mirror_time_ns", I64, "ns", "Timestamp of the mirror's envelope.", stored=False),
    Column("sampling_rate", U32, "frames", "One frame in so many was sampled.", stored=False),
    Column(
        "shed_from",
        U32,
        "conversations",
        "Of so many conversations the collector passed one on; null: all.",
        stored=False,
    ),
)
