"""Congestion-control recurrences, one document a file."""

from pipeline.cc import dctcp, hpcc

__all__ = ["dctcp", "hpcc"]
