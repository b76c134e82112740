"""Observations in; flow state, hop load and verdicts in a store out."""

from pipeline.answer import compose_answer
from pipeline.cc import dctcp, hpcc
from pipeline.cc.parameter import Parameter, Record, Value, parse
from pipeline.drain import Sink, drain
from pipeline.kind import KINDS
from pipeline.owner import StoreOwned
from pipeline.question import Question, address_words
from pipeline.remote import OwnerClient, open_or_ask
from pipeline.settings import PipelineSettings
from pipeline.store import Store, to_arrow
from pipeline.store_error import StoreBusy, StoreError, StoreLimit
from pipeline.store_limits import StoreLimits
from pipeline.summary import Summary, address_text
from pipeline.tables import TABLES
from pipeline.topology import Host, Interface, Topology, TopologyError, in_force
from pipeline.track import DECISIONS, Tracked, Tracker
from pipeline.verdict import verdicts
from pipeline.where import answer
from pipeline.worker import Output, Worker

__all__ = [
    "DECISIONS",
    "KINDS",
    "TABLES",
    "Host",
    "Interface",
    "Output",
    "OwnerClient",
    "Parameter",
    "PipelineSettings",
    "Question",
    "Record",
    "Sink",
    "Store",
    "StoreBusy",
    "StoreError",
    "StoreLimit",
    "StoreLimits",
    "StoreOwned",
    "Summary",
    "Topology",
    "TopologyError",
    "Tracked",
    "Tracker",
    "Value",
    "Worker",
    "address_text",
    "address_words",
    "answer",
    "compose_answer",
    "dctcp",
    "drain",
    "hpcc",
    "in_force",
    "open_or_ask",
    "parse",
    "to_arrow",
    "verdicts",
]
