"""Alerts: what their states were, who was told of them, and who asked for silence."""

from pipeline.tables.column import Column, Table
from pipeline.tables.types import I64, MAYBE_F64, TEXT, TIME, U32, WORD

ALERTS = Table(
    name="alerts",
    doc="One change of the state of one alert, or of one that flaps the begin or the end of a pause"
    " of its condition (firing, without a value).",
    engine="ReplacingMergeTree",
    order=("time_ns", "rule", "labels", "state"),
    time="time_ns",
    retention_days=365,
    columns=(
        Column("time_ns", TIME, "ns", "When it changed, in the time of the data, since 1970."),
        Column("rule", WORD, "", "Name of the rule."),
        Column("labels", TEXT, "JSON", "What the alert is about: group and severity, sorted."),
        Column("state", WORD, "", "pending, firing or resolved."),
        Column("since_ns", I64, "ns", "Since when the condition held."),
        Column("value", MAYBE_F64, "", "Value that the rule compared; null: none any more."),
        Column(
            "changes", U32, "", "Changes of state in the rule's time of damping, this included."
        ),
    ),
)
ALERTS_TOLD = Table(
    name="alerts_told",
    doc="One thing that a receiver was told: that an alert began to fire, or that it is over.",
    engine="ReplacingMergeTree",
    order=("told_ns", "receiver", "rule", "labels", "state"),
    time="told_ns",
    retention_days=365,
    columns=(
        Column("told_ns", TIME, "ns", "When it was told, by the clock, since 1970."),
        Column("receiver", WORD, "", "Name of the receiver."),
        Column("rule", WORD, "", "Name of the rule."),
        Column("labels", TEXT, "JSON", "What the alert is about, as in `alerts`."),
        Column("state", WORD, "", "asked before it is told, then firing, or resolved."),
        Column("since_ns", I64, "ns", "Since when the condition held."),
        Column("value", MAYBE_F64, "", "Value that was told."),
    ),
)
SILENCES = Table(
    name="silences",
    doc="One silence or maintenance window: alerts that it fits are not delivered.",
    engine="ReplacingMergeTree(written_ns)",
    order=("id",),
    time="",
    retention_days=0,
    columns=(
        Column("id", TEXT, "", "Name of the silence."),
        Column("written_ns", I64, "ns", "When this was written; the last one holds."),
        Column("from_ns", I64, "ns", "From when on, by the clock, since 1970."),
        Column("to_ns", I64, "ns", "Until when."),
        Column("matchers", TEXT, "JSON", "Labels that an alert must have; * stands for any text."),
        Column("kind", WORD, "", "silence or maintenance."),
        Column("author", WORD, "", "Who asked for it."),
        Column("comment", TEXT, "", "Why."),
    ),
)
