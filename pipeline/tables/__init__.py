"""The tables of the store: DDL, Polars schemas and the reference page derive from them."""

from pipeline.tables.alerts import ALERTS, ALERTS_TOLD, SILENCES
from pipeline.tables.audit import AUDIT
from pipeline.tables.bus_messages import BUS_MESSAGES
from pipeline.tables.capture_gaps import CAPTURE_GAPS, CAPTURES
from pipeline.tables.column import Alias, Column, Table
from pipeline.tables.flow_by_ends import FLOW_BY_ENDS
from pipeline.tables.flow_intervals import FLOW_INTERVALS
from pipeline.tables.flow_rollups import FLOW_ROLLUPS
from pipeline.tables.flow_told import FLOW_TOLD
from pipeline.tables.flows import FLOWS
from pipeline.tables.group import GROUP_LOG, GROUP_SNAPSHOTS
from pipeline.tables.hop_intervals import HOP_INTERVALS
from pipeline.tables.hops import HOPS
from pipeline.tables.hosts import HOSTS
from pipeline.tables.links import LINK_ROLLUPS
from pipeline.tables.observations import OBSERVATIONS
from pipeline.tables.paths import PATH_ROLLUPS
from pipeline.tables.readings import READINGS
from pipeline.tables.rollup import NO_CLASS, ROLLED_NS
from pipeline.tables.telemetry_health import TELEMETRY_HEALTH
from pipeline.tables.verdicts import VERDICT_REVISIONS, VERDICTS

TABLES = {
    table.name: table
    for table in (
        FLOWS,
        HOPS,
        HOP_INTERVALS,
        FLOW_INTERVALS,
        VERDICTS,
        VERDICT_REVISIONS,
        FLOW_TOLD,
        FLOW_BY_ENDS,
        TELEMETRY_HEALTH,
        OBSERVATIONS,
        HOSTS,
        *FLOW_ROLLUPS,
        *LINK_ROLLUPS,
        *PATH_ROLLUPS,
        GROUP_LOG,
        GROUP_SNAPSHOTS,
        BUS_MESSAGES,
        CAPTURES,
        CAPTURE_GAPS,
        READINGS,
        AUDIT,
        ALERTS,
        ALERTS_TOLD,
        SILENCES,
    )
}
"""Every table of the store by name."""

WAITED_FOR = (FLOWS.name, VERDICTS.name)
"""Tables whose rows people wait for, and with them how they are found: they are stored first."""

SCHEMA_VERSION = 4
"""Grows when a change to a table cannot be made by adding columns alone."""

__all__ = [
    "NO_CLASS",
    "ROLLED_NS",
    "SCHEMA_VERSION",
    "TABLES",
    "WAITED_FOR",
    "Alias",
    "Column",
    "Table",
]
