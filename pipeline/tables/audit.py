"""Who changed what through the API."""

from pipeline.tables.column import Column, Table
from pipeline.tables.types import TEXT, TIME, U16, WORD

AUDIT = Table(
    name="audit",
    doc="One request that would change something, whether it was allowed or not.",
    engine="MergeTree",
    order=("time_ns", "who"),
    time="time_ns",
    retention_days=365,
    columns=(
        Column("time_ns", TIME, "ns", "When the answer was given, since 1970."),
        Column("who", WORD, "", "Name of the token or login; empty: it was not known."),
        Column("address", WORD, "", "Address that the request came from."),
        Column("method", WORD, "", "POST, PUT, PATCH or DELETE."),
        Column("path", TEXT, "", "What was asked for, without its parameters."),
        Column("body", TEXT, "JSON", "What was sent, up to 4096 characters, secrets left out."),
        Column("status", U16, "", "Status of the answer."),
    ),
)
