"""Frames in, observations on a bus out. The room furthest upstream: it imports no other room."""

from collector.decoder import Accounting, Decoder
from collector.frame import Frames
from collector.kernel import kernel
from collector.observation import HOPS, OBSERVATION, SCHEMA, SCHEMA_VERSION, Column, complete
from collector.settings import CollectorSettings
from collector.status import STATUS

__all__ = [
    "HOPS",
    "OBSERVATION",
    "SCHEMA",
    "SCHEMA_VERSION",
    "STATUS",
    "Accounting",
    "CollectorSettings",
    "Column",
    "Decoder",
    "Frames",
    "complete",
    "kernel",
]
