"""Where each flow was bottlenecked in each interval, with the evidence."""

from pipeline.tables.column import SLICE, Column, Table
from pipeline.tables.flow_key import ADDRESSES, FLOW_KEY
from pipeline.tables.types import (
    I64,
    MAYBE_F64,
    MAYBE_I64,
    MAYBE_U32,
    TEXT,
    TIME,
    U32,
    U64,
    WORD,
    WORDS,
)

REVISED = frozenset({"time_ns", "interval_ns", "flow", "kind", "node", "port", "device",
                     "interface", "u_mean", "samples", "confidence", "completeness", "revision",
                     "revised_ns"})  # fmt: skip
"""Columns that are kept of every revision of a verdict."""

COLUMNS = (
    Column("time_ns", TIME, "ns", "Start of the interval, since 1970."),
    Column("interval_ns", I64, "ns", "Length of the interval."),
    Column("flow", U64, "", "The flow."),
    *FLOW_KEY,
    Column("kind", WORD, "", "Kind of bottleneck, or why none."),
    Column("node", MAYBE_U32, "", "Device of the hop; null: no hop named."),
    Column("port", MAYBE_U32, "", "Egress port of the hop."),
    Column("device", WORD, "", "Device by its topology name."),
    Column("interface", WORD, "", "Interface by its topology name."),
    Column("stage", WORD, "", "Stage of the device: tor, spine, …"),
    Column("orientation", WORD, "", "The port faces up, down or a host."),
    Column("capacity_bps", MAYBE_I64, "bit/s", "Capacity of the port."),
    Column("u_mean", MAYBE_F64, "", "Mean hop load u' at the hop."),
    Column("u_max", MAYBE_F64, "", "Largest hop load u' at the hop."),
    Column("queue_mean_bytes", MAYBE_F64, "bytes", "Mean queue at the hop."),
    Column("samples", U64, "", "Samples behind the verdict."),
    Column("confidence", MAYBE_F64, "", "Probability that the hop is right."),
    Column("completeness", MAYBE_F64, "", "Share of what happened that telemetry speaks of."),
    Column("telemetry", MAYBE_F64, "", "Share of the data frames that brought telemetry."),
    Column("sampling", MAYBE_F64, "", "Share of the frames that sources passed on, if told."),
    Column("gaps", MAYBE_F64, "", "Share of the data that was sent and not captured, if told."),
    Column("shed", MAYBE_F64, "", "Share of all frames that the collector shed, if any."),
    Column("plausibility", WORDS, "", "What cannot be true of the telemetry, by name."),
    Column("reroute_helps", WORD, "", "yes, no or unknown."),
    Column("contributors", U32, "", "Flows that share the hop in the interval."),
    Column("victims", U32, "", "Flows held back there that contribute little."),
    Column("agreement", MAYBE_F64, "", "How far kinds of telemetry agree on the hop; 1: wholly."),
    Column("disagreement", TEXT, "", "What they say where they differ."),
    Column("duty", MAYBE_F64, "", "Share of the interval in which the hop's flows sent."),
    Column("hops", MAYBE_U32, "", "Hops of the flow's path, by the topology."),
    Column("hops_seen", MAYBE_U32, "", "Hops of it that telemetry spoke of."),
    Column("candidates", TEXT, "JSON", "Other hops, ranked, with their loads."),
    Column("evidence", TEXT, "JSON", "Per signal: value, unit, samples, share."),
    Column("topology", WORD, "", "Version of the topology in force."),
    Column("revision", U64, "", "Grows when late input changes a verdict."),
    Column(
        "revised_ns",
        MAYBE_I64,
        "ns",
        "How far time had come when late input changed it; null: as it was first.",
    ),
)
UNTOLD = frozenset({"time_ns", "interval_ns", "flow", "candidates", "evidence",
                    *(column.name for column in FLOW_KEY)})  # fmt: skip
TOLD = tuple(column for column in COLUMNS if column.name not in UNTOLD)
"""What an answer tells of a verdict, beside its interval and what is JSON already (`flow_told`).

One that is added comes last: rows from before have fewer.
"""

VERDICTS = Table(
    name="verdicts",
    doc="The verdict on one flow in one interval; of several revisions the newest holds.",
    engine="ReplacingMergeTree(revision)",
    order=(SLICE.expression, "flow", "time_ns", "interval_ns"),
    time="time_ns",
    retention_days=90,
    granule=512,
    columns=COLUMNS,
    aliases=(SLICE, *ADDRESSES),
    gone=("told",),
)
VERDICT_REVISIONS = Table(
    name="verdict_revisions",
    doc="What a verdict that late input changed said at first and after each change.",
    engine="ReplacingMergeTree",
    order=(SLICE.expression, "flow", "time_ns", "interval_ns", "revision"),
    time="time_ns",
    retention_days=90,
    columns=tuple(column for column in VERDICTS.columns if column.name in REVISED),
    aliases=(SLICE,),
)
