"""Congestion-control recurrences, one document a file."""

from pipeline.cc import (
    csig_load,
    dctcp,
    flow_count,
    hop_load,
    hop_record,
    hpcc,
    hpcc_probe,
    hpcc_receiver,
)

__all__ = [
    "csig_load",
    "dctcp",
    "flow_count",
    "hop_load",
    "hop_record",
    "hpcc",
    "hpcc_probe",
    "hpcc_receiver",
]
