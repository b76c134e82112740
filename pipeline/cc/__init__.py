"""Congestion-control recurrences, one document a file."""

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

__all__ = [
    "csig_load",
    "dctcp",
    "dctcp_receiver",
    "dre",
    "flow_count",
    "hop_load",
    "hop_record",
    "hpcc",
    "hpcc_probe",
    "hpcc_receiver",
    "poseidon",
    "qos",
    "swift",
]
