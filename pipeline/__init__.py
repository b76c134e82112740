"""Observations in; flow state, hop load and verdicts in a store out."""

from pipeline.cc import dctcp, hpcc
from pipeline.cc.parameter import Parameter, Record, Value, parse
from pipeline.drain import Sink, drain
from pipeline.kind import KINDS
from pipeline.settings import PipelineSettings
from pipeline.summary import Summary
from pipeline.tables import TABLES
from pipeline.topology import Host, Interface, Topology, TopologyError, in_force
from pipeline.track import DECISIONS, Tracked, Tracker
from pipeline.verdict import verdicts
from pipeline.worker import Output, Worker

__all__ = [
    "DECISIONS",
    "KINDS",
    "TABLES",
    "Host",
    "Interface",
    "Output",
    "Parameter",
    "PipelineSettings",
    "Record",
    "Sink",
    "Summary",
    "Topology",
    "TopologyError",
    "Tracked",
    "Tracker",
    "Value",
    "Worker",
    "dctcp",
    "drain",
    "hpcc",
    "in_force",
    "parse",
    "verdicts",
]
