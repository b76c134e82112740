"""Observations in; flow state, hop load and verdicts in a store out."""

from typing import TYPE_CHECKING

from pipeline.on_demand import on_demand

if TYPE_CHECKING:
    from pipeline.alternatives import MOST_WAYS, Fabric, by_class, loads_of, ranked, taken
    from pipeline.asked import Asked
    from pipeline.backup_manifest import Piece
    from pipeline.capture_gaps import MOST_GAPS, Heard, begun, captured, gaps_of, never, stored_last
    from pipeline.cc import (
        csig_load,
        dctcp,
        dctcp_receiver,
        dre,
        flow_count,
        hop_load,
        hop_record,
        hpcc,
        hpcc_probe,
        hpcc_receiver,
        poseidon,
        qos,
        swift,
    )
    from pipeline.cc.parameter import Parameter, Value, parse
    from pipeline.companion_names import COMPANIONS
    from pipeline.companions import companion_fields
    from pipeline.completeness import completeness_of_all
    from pipeline.crew import Crew
    from pipeline.decider import Decider
    from pipeline.doubt import IN_PART
    from pipeline.endpoint import NETWORK, host_rows
    from pipeline.erasure import erase, files_of_before
    from pipeline.faults import FAULTS, fault_names
    from pipeline.feedback_integrity import integrity
    from pipeline.filter import FIELDS, MOST_CHARACTERS, SUBJECTS, FilterError, condition
    from pipeline.flow_finding import found_flows, key_of, same_ends
    from pipeline.health import FINDINGS, findings_of, widened, worth_a_look
    from pipeline.importers import Draft, containerlab, netbox, sonic
    from pipeline.insert_body import to_arrow
    from pipeline.intake import READERS, take_in
    from pipeline.interface import Device, Host, Interface, Point, Tenant
    from pipeline.kind import CALM, KINDS
    from pipeline.lengths import fitting, length_bounds
    from pipeline.meeting import Meeting
    from pipeline.owner import Owner, StoreOwned, read_owner
    from pipeline.protocol_names import PROTOCOLS, protocol_name
    from pipeline.question import Question, address_words, duration_text, end_text
    from pipeline.remote import OwnerClient, left_at, may_be, open_or_ask
    from pipeline.rerun import Reran, Rerun
    from pipeline.retained_rows import held
    from pipeline.rolled import Rolled
    from pipeline.scale_in_force import CSIG_VALUES
    from pipeline.settings import Dialect, PipelineSettings
    from pipeline.several_names import some_of
    from pipeline.sharing import LEAST_SHARE, LITTLE
    from pipeline.sink import Sink, drain
    from pipeline.snapshot_error import SnapshotError
    from pipeline.sooner import parted
    from pipeline.store import Store
    from pipeline.store_address import parse_address
    from pipeline.store_backup import backup, read_manifest, restore
    from pipeline.store_error import StoreAway, StoreBusy, StoreError, StoreLimit
    from pipeline.store_limits import StoreLimits
    from pipeline.storing import Storing
    from pipeline.summary import Summary, address_text
    from pipeline.tables import NO_CLASS, ROLLED_NS, TABLES, WAITED_FOR
    from pipeline.tenant_store import NotTheirs, TenantStore
    from pipeline.told_parameters import SHOWN, parameter_table
    from pipeline.topology import Csig, Topology, TopologyError, in_force
    from pipeline.topology_check import Finding, findings
    from pipeline.track import DECISIONS, Tracked, Tracker
    from pipeline.unknown_ids import UnknownIds
    from pipeline.verdict import verdicts
    from pipeline.versions import Versions
    from pipeline.warming import is_warm, two_flows, warm_companions
    from pipeline.ways import between
    from pipeline.where import answer
    from pipeline.windows import MOST_SCALE
    from pipeline.worker import Output, Worker

__all__ = [
    "CALM",
    "COMPANIONS",
    "CSIG_VALUES",
    "DECISIONS",
    "FAULTS",
    "FIELDS",
    "FINDINGS",
    "IN_PART",
    "KINDS",
    "LEAST_SHARE",
    "LITTLE",
    "MOST_CHARACTERS",
    "MOST_GAPS",
    "MOST_SCALE",
    "MOST_WAYS",
    "NETWORK",
    "NO_CLASS",
    "PROTOCOLS",
    "READERS",
    "ROLLED_NS",
    "SHOWN",
    "SUBJECTS",
    "TABLES",
    "WAITED_FOR",
    "Asked",
    "Crew",
    "Csig",
    "Decider",
    "Device",
    "Dialect",
    "Draft",
    "Fabric",
    "FilterError",
    "Finding",
    "Heard",
    "Host",
    "Interface",
    "Meeting",
    "NotTheirs",
    "Output",
    "Owner",
    "OwnerClient",
    "Parameter",
    "Piece",
    "PipelineSettings",
    "Point",
    "Question",
    "Reran",
    "Rerun",
    "Rolled",
    "Sink",
    "SnapshotError",
    "Store",
    "StoreAway",
    "StoreBusy",
    "StoreError",
    "StoreLimit",
    "StoreLimits",
    "StoreOwned",
    "Storing",
    "Summary",
    "Tenant",
    "TenantStore",
    "Topology",
    "TopologyError",
    "Tracked",
    "Tracker",
    "UnknownIds",
    "Value",
    "Versions",
    "Worker",
    "address_text",
    "address_words",
    "answer",
    "backup",
    "begun",
    "between",
    "by_class",
    "captured",
    "companion_fields",
    "completeness_of_all",
    "condition",
    "containerlab",
    "csig_load",
    "dctcp",
    "dctcp_receiver",
    "drain",
    "dre",
    "duration_text",
    "end_text",
    "erase",
    "fault_names",
    "files_of_before",
    "findings",
    "findings_of",
    "fitting",
    "flow_count",
    "found_flows",
    "gaps_of",
    "held",
    "hop_load",
    "hop_record",
    "host_rows",
    "hpcc",
    "hpcc_probe",
    "hpcc_receiver",
    "in_force",
    "integrity",
    "is_warm",
    "key_of",
    "left_at",
    "length_bounds",
    "loads_of",
    "may_be",
    "netbox",
    "never",
    "open_or_ask",
    "parameter_table",
    "parse",
    "parse_address",
    "parted",
    "poseidon",
    "protocol_name",
    "qos",
    "ranked",
    "read_manifest",
    "read_owner",
    "restore",
    "same_ends",
    "some_of",
    "sonic",
    "stored_last",
    "swift",
    "take_in",
    "taken",
    "to_arrow",
    "two_flows",
    "verdicts",
    "warm_companions",
    "widened",
    "worth_a_look",
]

HOMES = {
    "asked": "Asked",
    "backup_manifest": "Piece",
    "alternatives": "MOST_WAYS Fabric by_class loads_of ranked taken",
    "cc": (
        "csig_load dctcp dctcp_receiver dre flow_count hop_load hop_record hpcc hpcc_probe "
        "hpcc_receiver poseidon qos swift"
    ),
    "cc.parameter": "Parameter Value parse",
    "companion_names": "COMPANIONS",
    "capture_gaps": "MOST_GAPS Heard begun captured gaps_of never stored_last",
    "companions": "companion_fields",
    "completeness": "completeness_of_all",
    "crew": "Crew",
    "decider": "Decider",
    "doubt": "IN_PART",
    "endpoint": "NETWORK host_rows",
    "erasure": "erase files_of_before",
    "faults": "FAULTS fault_names",
    "filter": "FIELDS FilterError MOST_CHARACTERS SUBJECTS condition",
    "protocol_names": "PROTOCOLS protocol_name",
    "importers": "Draft containerlab netbox sonic",
    "feedback_integrity": "integrity",
    "flow_finding": "found_flows key_of same_ends",
    "health": "FINDINGS findings_of widened worth_a_look",
    "insert_body": "to_arrow",
    "intake": "READERS take_in",
    "interface": "Device Host Interface Point Tenant",
    "kind": "CALM KINDS",
    "lengths": "fitting length_bounds",
    "meeting": "Meeting",
    "owner": "Owner StoreOwned read_owner",
    "question": "Question address_words duration_text end_text",
    "remote": "OwnerClient left_at may_be open_or_ask",
    "rerun": "Reran Rerun",
    "retained_rows": "held",
    "rolled": "Rolled",
    "scale_in_force": "CSIG_VALUES",
    "settings": "Dialect PipelineSettings",
    "several_names": "some_of",
    "sharing": "LEAST_SHARE LITTLE",
    "sink": "Sink drain",
    "snapshot_error": "SnapshotError",
    "sooner": "parted",
    "store": "Store",
    "store_address": "parse_address",
    "store_backup": "backup read_manifest restore",
    "store_error": "StoreAway StoreBusy StoreError StoreLimit",
    "store_limits": "StoreLimits",
    "storing": "Storing",
    "summary": "Summary address_text",
    "tables": "NO_CLASS ROLLED_NS TABLES WAITED_FOR",
    "tenant_store": "NotTheirs TenantStore",
    "told_parameters": "SHOWN parameter_table",
    "topology": "Csig Topology TopologyError in_force",
    "topology_check": "Finding findings",
    "track": "DECISIONS Tracked Tracker",
    "verdict": "verdicts",
    "unknown_ids": "UnknownIds",
    "versions": "Versions",
    "warming": "is_warm two_flows warm_companions",
    "ways": "between",
    "where": "answer",
    "windows": "MOST_SCALE",
    "worker": "Output Worker",
}
"""Modules of this room with the names that each of them gives: those of `__all__`. One is loaded
when a name of it is first asked for: a command pays only for what it uses."""


if not TYPE_CHECKING:
    # Kept from the type checker, who would take any name for one that exists.
    __getattr__ = on_demand(HOMES, globals())
