"""Congestion-control recurrences, one document a file."""

from pipeline.cc import dctcp, hop_record, hpcc

__all__ = ["dctcp", "hop_record", "hpcc"]
