"""Congestion-control recurrences, one document a file."""
