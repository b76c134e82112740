"""What each flow did in each interval, and the state that its congestion control was in."""

from pipeline.tables.column import SLICE, Column, Table
from pipeline.tables.types import (
    COUNT,
    I64,
    MAYBE_F64,
    MAYBE_I64,
    MAYBE_U8,
    MAYBE_U64,
    TIME,
    TOTAL,
    U8,
    U32,
    U64,
    WORD,
)

FLOW_INTERVALS = Table(
    name="flow_intervals",
    doc="One flow in one interval at one observation point: counts, and state at its end. A packet"
    " that several points saw is of the interval in which the first of them did.",
    engine="AggregatingMergeTree",
    order=(SLICE.expression, "flow", "time_ns", "interval_ns", "point"),
    time="time_ns",
    retention_days=15,
    one_file=True,
    columns=(
        Column("time_ns", TIME, "ns", "Start of the interval, since 1970."),
        Column("interval_ns", I64, "ns", "Length of the interval."),
        Column("flow", U64, "", "The flow."),
        Column("point", WORD, "", "Observation point, or unknown."),
        Column("frames", COUNT, "", "Frames.", "sum"),
        Column("bytes", TOTAL, "bytes", "Bytes on the wire.", "sum"),
        Column("data_bytes", TOTAL, "bytes", "Payload bytes.", "sum"),
        Column("data_frames", COUNT, "", "Frames with payload.", "sum"),
        Column("acks", COUNT, "", "Acknowledgments of this flow's data.", "sum"),
        Column("acked_bytes", TOTAL, "bytes", "Bytes newly acknowledged.", "sum"),
        Column(
            "marked_bytes",
            U64,
            "bytes",
            "Bytes newly acknowledged with ECE set, or marked by Accurate ECN's counters.",
            "sum",
        ),
        Column(
            "ecn_echo",
            U8,
            "bits",
            "How marked bytes were told: 1 by Accurate ECN's count of"
            " bytes, 2 estimated from its count of packets, 4 by ECE that may be the latter, of"
            " a connection whose beginning was not seen.",
            "groupBitOr",
        ),
        Column("ce_frames", COUNT, "", "Data frames that carry CE.", "sum"),
        Column("decisions", COUNT, "", "Decisions of congestion control.", "sum"),
        Column("U", MAYBE_F64, "", "HPCC++ U after the last ACK.", "anyLast"),
        Column("W", MAYBE_F64, "bytes", "HPCC++ window W.", "anyLast"),
        Column("Wc", MAYBE_F64, "bytes", "HPCC++ reference window.", "anyLast"),
        Column("R", MAYBE_F64, "bit/s", "HPCC++ pacing rate.", "anyLast"),
        Column("alpha", MAYBE_F64, "", "DCTCP alpha.", "anyLast"),
        Column("inflight_bytes", MAYBE_I64, "bytes", "Bytes in flight at the end.", "anyLast"),
        Column("aecn_samples", COUNT, "", "AECN options seen.", "sum"),
        Column("aecn_u_sum_n", MAYBE_I64, "1e-9", "Sum of AECN inflight ratios.", "sum"),
        Column("aecn_u_max_n", MAYBE_I64, "1e-9", "Largest inflight ratio.", "max"),
        Column(
            "aecn_queue_delay_sum", MAYBE_U64, "option units", "Sum of AECN queue delays.", "sum"
        ),
        Column("feedback", COUNT, "", "Reflections of telemetry on this flow's data.", "sum"),
        Column("feedback_told_apart", COUNT, "", "Those that can be told from a repeat.", "sum"),
        Column("feedback_valid", COUNT, "", "Those whose checksums are right.", "sum"),
        Column("feedback_invalid", COUNT, "", "Those whose checksums are wrong.", "sum"),
        Column("feedback_replayed", COUNT, "", "Those that were seen before.", "sum"),
        Column(
            "feedback_backwards", COUNT, "", "Stacks in which a hop's counter ran backwards.", "sum"
        ),
        Column("aecn_congested_hops_max", MAYBE_U8, "", "Most congested hops reported.", "max"),
        Column("rwnd_acks", COUNT, "", "Acknowledgments whose advertised window is known.", "sum"),
        Column(
            "rwnd_full",
            COUNT,
            "",
            "Those that came when all that the window before the last let in was"
            " in flight, but for less than a segment.",
            "sum",
        ),
        Column("rwnd_zero", COUNT, "", "Acknowledgments with a window of 0.", "sum"),
        Column(
            "rwnd_unscaled", COUNT, "", "Acknowledgments whose window's scale is not known.", "sum"
        ),
        Column("rwnd_sum_bytes", U64, "bytes", "Sum of the known windows.", "sum"),
        Column("aecn_saturated", COUNT, "", "AECN options at their highest ratio.", "sum"),
        Column("sampled_from", MAYBE_U64, "", "Frames that the seen ones are a sample of.", "sum"),
        Column(
            "unseen_bytes",
            MAYBE_I64,
            "bytes",
            "What sequence numbers cover beyond the payload that was seen; below 0: sent again.",
            "sum",
        ),
        Column(
            "shed_frames",
            MAYBE_U64,
            "",
            "Frames of other flows that the collector shed for those of this one; null: none.",
            "sum",
        ),
        Column(
            "tagged_frames",
            MAYBE_U64,
            "",
            "Frames whose CSIG tags tell a load of before they were seen; null: none does.",
            "sum",
        ),
        Column(
            "slices", U32, "bits", "32nds of the interval with data, lowest first.", "groupBitOr"
        ),
    ),
    aliases=(SLICE,),
)
