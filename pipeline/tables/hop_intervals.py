"""How loaded each hop was in each interval, as each flow's telemetry reported it."""

from pipeline.tables.column import Column, Table
from pipeline.tables.types import I64, MAYBE_I64, TIME, U8, U32, U64, WORD

HOP_INTERVALS = Table(
    name="hop_intervals",
    doc="One hop in one interval as one flow's telemetry at one observation point reported it.",
    # Integers, so that partial rows of late batches add up to the same in any order.
    engine="AggregatingMergeTree",
    order=("time_ns", "node", "port", "flow", "point", "source", "hop_index", "interval_ns"),
    time="time_ns",
    retention_days=15,
    columns=(
        Column("time_ns", TIME, "ns", "Start of the interval, since 1970."),
        Column("interval_ns", I64, "ns", "Length of the interval."),
        Column("flow", U64, "", "Flow whose telemetry this is."),
        Column("point", WORD, "", "Observation point, or unknown."),
        Column("node", U32, "", "Device of the hop by its telemetry id."),
        Column("port", U32, "", "Egress port of the hop by its telemetry id."),
        Column("hop_index", U8, "", "Place on the path; 0 is nearest the sender."),
        Column("source", WORD, "", "Telemetry: int, int_bound (a part of a load), csig or aecn."),
        Column("samples", U64, "", "Samples of hop load.", "sum"),
        Column("u_sum_n", I64, "1e-9", "Sum of hop load u' over the samples.", "sum"),
        Column("u_max_n", I64, "1e-9", "Largest hop load u'.", "max"),
        Column("queue_sum_bytes", MAYBE_I64, "bytes", "Sum of queue lengths over samples.", "sum"),
        Column("queue_max_bytes", MAYBE_I64, "bytes", "Longest queue.", "max"),
        Column("standing", U64, "", "Samples with a standing queue.", "sum"),
        Column("waiting", U64, "", "Samples that left others waiting.", "sum"),
        Column("queue_u_sum_n", MAYBE_I64, "1e-9", "Queue's part of hop loads, summed.", "sum"),
        Column("seen_first_ns", MAYBE_I64, "ns", "First sample with counters, since 1970.", "min"),
        Column("seen_last_ns", MAYBE_I64, "ns", "Last sample with counters.", "max"),
        Column("ts_first_ns", MAYBE_I64, "ns", "The hop's clock at its least.", "min"),
        Column("ts_last_ns", MAYBE_I64, "ns", "The hop's clock at its most.", "max"),
        Column("sent_first_ns", MAYBE_I64, "ns", "What was sent, at line rate: least.", "min"),
        Column("sent_last_ns", MAYBE_I64, "ns", "What was sent, at line rate: most.", "max"),
        Column("stood_sum_n", MAYBE_I64, "1e-9", "How likely queues stood; null: counted.", "sum"),
    ),
)
